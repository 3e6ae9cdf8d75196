// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls to a service of the cloud: token, endpoint, microversion, retries. Serves all threads.
//
// One token is shared; the thread that finds it missing or refused signs in while the others
// wait. A refused token is renewed once per call, then the call ends. Retries go on until
// Options::retry_limit or the deadline, whichever is first.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/file.hpp"
#include "common/openstack/cloud.hpp"
#include "common/openstack/http.hpp"
#include "common/openstack/keystone.hpp"
#include "common/openstack/verdict.hpp"

namespace cohort::openstack {

struct Call {
    std::string what;     // for messages: "server 1234"
    std::string service;  // "compute" or "image"
    std::string path;     // below the service's version, or a whole URL (a page's link)
    std::string body;     // not empty: a POST that changes something
    // Microversions from the best to the least that will do; "" = none. Empty list: none.
    std::vector<std::string> versions;
    // Asked before a POST is repeated after Next::look_first: has nothing happened?
    std::function<bool()> untouched;
    bool remove = false;  // a DELETE: may be sent again, as often as needed
};

class Session {
  public:
    using Pause = std::function<void(std::chrono::milliseconds)>;

    Session(CloudConfig config, Options options, std::unique_ptr<Transport> transport, Pause pause);

    // An answer of 2xx, or a 4xx that speaks about the request; see refused().
    Result<HttpAnswer> call(const Call& call);
    // The 4xx as an error in words.
    Error refused(const Call& call, const HttpAnswer& answer) const;
    // "https://nova:8774/v2.1": where the service's paths begin.
    Result<std::string> service_root(const std::string& service);

    // The cloud's clock, as far as its Date headers told; never later than it is, at most 1 s
    // earlier.
    std::chrono::system_clock::time_point cloud_time(
        std::chrono::system_clock::time_point ours) const;
    // Nothing before the first answer.
    std::optional<std::chrono::milliseconds> clock_ahead() const;
    // The credential's roles; signs in when there is no token. Empty for a cached token.
    Result<std::vector<std::string>> roles();
    Counters counters() const;

  private:
    using TokenPtr = std::shared_ptr<const Token>;

    Deadline call_deadline() const;
    Result<TokenPtr> token(const TokenPtr& refused_one, Deadline deadline);
    bool usable(const TokenPtr& token, const TokenPtr& refused_one) const;
    UniqueFd wait_for_turn(const TokenPtr& refused_one, Deadline deadline) const;
    Result<TokenPtr> sign_in(Deadline deadline);
    Error sign_in_refused(const HttpAnswer& answer) const;
    HttpAnswer send(const HttpRequest& request, Deadline deadline);
    void note_clock(const HttpAnswer& answer);
    HttpRequest request_for(const Call& call, const std::string& url, const Token& token,
                            const std::string& version) const;
    // Waits as VERDICT wants; false, with the reason in ERROR, when there is no time for it.
    bool wait(const Verdict& verdict, unsigned attempt, Deadline deadline, const std::string& what,
              Error& error);
    Result<std::string> choose_version(const Call& call);
    Status learn_versions(const Call& call);
    Error fault(const std::string& what, const std::string& why) const;

    const CloudConfig config_;
    const Options options_;
    const std::unique_ptr<Transport> transport_;
    const Pause pause_;

    std::mutex token_mutex_;
    TokenPtr token_;
    Error last_failure_;
    std::chrono::steady_clock::time_point failed_at_{};

    mutable std::mutex version_mutex_;
    bool max_known_ = false;
    std::string max_version_, min_version_;  // of compute; empty: none

    static constexpr std::int64_t unknown_offset = INT64_MIN;
    std::mutex clock_mutex_;
    std::atomic<std::int64_t> clock_offset_{unknown_offset};  // milliseconds, cloud's minus ours
    std::atomic<std::uint64_t> requests_{0}, logins_{0}, retries_{0};
};

}  // namespace cohort::openstack
