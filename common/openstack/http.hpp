// SPDX-License-Identifier: GPL-2.0-or-later
//
// One HTTP exchange. The only place that knows libcurl is http.cpp.
//
// Transport is the seam: tests put a fake there. A transport serves all threads. No redirect is
// followed (a token must not travel to another host), HTTP/1.1 only, no body over 64 MiB.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/result.hpp"

namespace cohort::openstack {

using Deadline = std::chrono::steady_clock::time_point;

struct HttpRequest {
    std::string method = "GET";
    std::string url;
    std::map<std::string, std::string> headers;
    std::string body;
    // Never sent twice, not even by the library on a connection that the other end had closed.
    bool once = false;
};

struct HttpAnswer {
    int status = 0;                              // 0: none came
    std::map<std::string, std::string> headers;  // lower-case names
    std::string body;
    bool complete = false;  // false: see failure
    std::string failure;    // one sentence, without the URL
    bool sent = false;      // some of the request left this machine
    std::string header(const std::string& name) const {
        const auto it = headers.find(name);
        return it == headers.end() ? std::string() : it->second;
    }
};

class Transport {
  public:
    virtual ~Transport() = default;
    virtual HttpAnswer send(const HttpRequest& request, Deadline deadline) = 0;
};

struct HttpOptions {
    std::chrono::milliseconds connect_timeout{5000};
    std::chrono::milliseconds total_timeout{30000};
    std::string user_agent;
    bool verify = true;
    std::string cacert, cert, key;
};

// Errc::invalid when a certificate file cannot be read.
Result<std::unique_ptr<Transport>> make_transport(HttpOptions options);

}  // namespace cohort::openstack
