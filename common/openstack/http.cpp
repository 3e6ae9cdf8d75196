// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/http.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/core.h>

#include <curl/curl.h>

#include "common/file.hpp"
#include "common/text.hpp"

namespace cohort::openstack {
namespace {

constexpr std::size_t max_body_bytes = std::size_t{64} << 20;
constexpr std::size_t max_file_bytes = std::size_t{4} << 20;

struct EasyDeleter {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;

struct ListDeleter {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, ListDeleter>;

// What the callbacks fill.
struct Exchange {
    HttpAnswer answer;
    bool too_large = false;
};

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
    auto* exchange = static_cast<Exchange*>(user);
    const std::size_t bytes = size * count;
    if (exchange->answer.body.size() + bytes > max_body_bytes) {
        exchange->too_large = true;
        return 0;
    }
    try {
        exchange->answer.body.append(data, bytes);
    } catch (...) {
        return 0;
    }
    return bytes;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) noexcept {
    auto* exchange = static_cast<Exchange*>(user);
    const std::size_t bytes = size * count;
    try {
        const std::string_view line = text::trim({data, bytes});
        // A status line begins a new set: "100 Continue" and a proxy's answer come before.
        if (line.starts_with("HTTP/")) {
            exchange->answer.headers.clear();
            return bytes;
        }
        const auto colon = line.find(':');
        if (colon != std::string_view::npos)
            exchange->answer.headers[text::lower(text::trim(line.substr(0, colon)))] =
                text::trim(line.substr(colon + 1));
    } catch (...) {
        return 0;
    }
    return bytes;
}

List header_list(const HttpRequest& request) {
    // curl's own "Expect: 100-continue" would make some servers wait; we send small bodies.
    List list(curl_slist_append(nullptr, "Expect:"));
    for (const auto& [name, value] : request.headers) {
        const std::string line = name + ": " + value;
        curl_slist* longer = curl_slist_append(list.get(), line.c_str());
        if (!longer) continue;
        (void)list.release();
        list.reset(longer);
    }
    return list;
}

std::string describe(CURLcode code, const Exchange& exchange, const char* detail,
                     std::chrono::milliseconds total) {
    if (exchange.too_large) return "the answer is larger than 64 MiB";
    switch (code) {
        case CURLE_OPERATION_TIMEDOUT:
            return fmt::format("no answer within {} ms", total.count());
        case CURLE_PEER_FAILED_VERIFICATION:
            return fmt::format("its certificate is not trusted ({}): name the right CA with cacert",
                               text::one_line(detail, 160));
        case CURLE_PARTIAL_FILE:
            return "the connection broke in the middle of the answer";
        case CURLE_GOT_NOTHING:
            return "the connection was closed without an answer";
        default:
            return text::one_line(*detail ? detail : curl_easy_strerror(code), 200);
    }
}

class CurlTransport final : public Transport {
  public:
    explicit CurlTransport(HttpOptions options) : options_(std::move(options)) {}
    HttpAnswer send(const HttpRequest& request, Deadline deadline) override;

  private:
    // Idle handles keep their connections open; a handle belongs to one thread at a time.
    Easy take();
    void give_back(Easy easy);
    void prepare(CURL* easy, const HttpRequest& request, std::chrono::milliseconds total) const;

    const HttpOptions options_;
    std::mutex mutex_;
    std::vector<Easy> idle_;
};

Easy CurlTransport::take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return Easy(curl_easy_init());
    Easy easy = std::move(idle_.back());
    idle_.pop_back();
    return easy;
}

void CurlTransport::give_back(Easy easy) {
    curl_easy_reset(easy.get());  // forgets headers and body, keeps connections
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(easy));
}

void CurlTransport::prepare(CURL* easy, const HttpRequest& request,
                            std::chrono::milliseconds total) const {
    const auto set = [easy](CURLoption option, auto value) {
        curl_easy_setopt(easy, option, value);
    };
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
#if LIBCURL_VERSION_NUM >= 0x075500
    set(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    set(CURLOPT_ACCEPT_ENCODING, "");
    set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(std::min(options_.connect_timeout, total).count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(total.count()));
    set(CURLOPT_SSL_VERIFYPEER, options_.verify ? 1L : 0L);
    set(CURLOPT_SSL_VERIFYHOST, options_.verify ? 2L : 0L);
    if (!options_.cacert.empty()) set(CURLOPT_CAINFO, options_.cacert.c_str());
    if (!options_.cert.empty()) set(CURLOPT_SSLCERT, options_.cert.c_str());
    if (!options_.key.empty()) set(CURLOPT_SSLKEY, options_.key.c_str());
    if (request.method == "POST") {
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        set(CURLOPT_POSTFIELDS, request.body.c_str());
    } else if (request.method != "GET") {
        set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
    // libcurl sends a request again, also a POST, when a kept connection turns out to be closed:
    // only on a new connection it never does.
    if (request.once) set(CURLOPT_FRESH_CONNECT, 1L);
}

HttpAnswer CurlTransport::send(const HttpRequest& request, Deadline deadline) {
    Exchange exchange;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
        exchange.answer.failure = "the time for it was over before it was sent";
        return exchange.answer;
    }
    const auto total = std::min(left, options_.total_timeout);
    Easy easy = take();
    if (!easy) {
        exchange.answer.failure = "libcurl could not be started";
        return exchange.answer;
    }
    char detail[CURL_ERROR_SIZE] = "";
    prepare(easy.get(), request, total);
    const List headers = header_list(request);
    curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &exchange);
    curl_easy_setopt(easy.get(), CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy.get(), CURLOPT_HEADERDATA, &exchange);
    const CURLcode code = curl_easy_perform(easy.get());

    long status = 0, request_bytes = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy.get(), CURLINFO_REQUEST_SIZE, &request_bytes);
    exchange.answer.status = static_cast<int>(status);
    exchange.answer.sent = request_bytes > 0;
    exchange.answer.complete = code == CURLE_OK;
    if (code != CURLE_OK) exchange.answer.failure = describe(code, exchange, detail, total);
    give_back(std::move(easy));
    return exchange.answer;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(HttpOptions options) {
    static std::once_flag started;
    std::call_once(started, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    const std::pair<const char*, const std::string*> files[] = {
        {"cacert", &options.cacert}, {"cert", &options.cert}, {"key", &options.key}};
    for (const auto& [key, path] : files) {
        // A CA file that is not there must never mean "no check".
        if (path->empty()) continue;
        if (auto content = read_file(*path, max_file_bytes); !content)
            return fail(
                content.error().code == Errc::denied ? Errc::denied : Errc::invalid,
                fmt::format("{} of the cloud's configuration: {}", key, content.error().message));
    }
    return std::make_unique<CurlTransport>(std::move(options));
}

}  // namespace cohort::openstack
