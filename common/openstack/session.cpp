// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/session.hpp"

#include <algorithm>
#include <random>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/openstack/answers.hpp"
#include "common/openstack/retry.hpp"
#include "common/openstack/token_cache.hpp"
#include "common/openstack/url.hpp"
#include "common/text.hpp"

namespace cohort::openstack {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// A token this near its end is not used any more.
constexpr std::int64_t token_margin_seconds = 60;
// How long one process waits while another signs in for all.
constexpr std::int64_t longest_turn_seconds = 20;
constexpr std::int64_t max_offset_spread_ms = 30000;  // what slow answers may cause
constexpr milliseconds shortest_attempt{200};

double random_fraction() {
    thread_local std::minstd_rand generator{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(generator);
}

std::int64_t seconds_of(system_clock::time_point t) {
    return std::chrono::duration_cast<seconds>(t.time_since_epoch()).count();
}

std::string service_name(const std::string& service) {
    return service == "compute" ? "nova" : service == "image" ? "glance" : service;
}

}  // namespace

Session::Session(CloudConfig config, Options options, std::unique_ptr<Transport> transport,
                 Pause pause)
    : config_(std::move(config)),
      options_(std::move(options)),
      transport_(std::move(transport)),
      pause_(std::move(pause)) {}

Deadline Session::call_deadline() const {
    return std::min(options_.deadline, steady_clock::now() + options_.retry_limit);
}

system_clock::time_point Session::cloud_time(system_clock::time_point ours) const {
    const std::int64_t offset = clock_offset_;
    return offset == unknown_offset ? ours : ours + milliseconds(offset);
}

std::optional<std::chrono::milliseconds> Session::clock_ahead() const {
    const std::int64_t offset = clock_offset_;
    if (offset == unknown_offset) return {};
    return std::chrono::milliseconds(offset);
}

Result<std::vector<std::string>> Session::roles() {
    const auto held = token({}, call_deadline());
    if (!held) return tl::unexpected(held.error());
    return (*held)->roles;
}

Counters Session::counters() const {
    return {requests_.load(), logins_.load(), retries_.load()};
}

Error Session::fault(const std::string& what, const std::string& why) const {
    return {Errc::unreachable, fmt::format("cloud {}: {}: {}", config_.name, what, why)};
}

HttpAnswer Session::send(const HttpRequest& request, Deadline deadline) {
    ++requests_;
    HttpAnswer answer = transport_->send(request, deadline);
    note_clock(answer);
    return answer;
}

// A Date header has whole seconds and was written before it came here, so each difference is at
// most the true one: the largest is the best, and never too large. A much smaller one means
// that a clock was set.
void Session::note_clock(const HttpAnswer& answer) {
    const auto date = parse_http_date(answer.header("date"));
    if (!date) return;
    const std::int64_t now =
        std::chrono::duration_cast<milliseconds>(*date - system_clock::now()).count();
    const std::lock_guard lock(clock_mutex_);
    const std::int64_t best = clock_offset_;
    if (best == unknown_offset || now > best || now < best - max_offset_spread_ms)
        clock_offset_ = now;
}

bool Session::wait(const Verdict& verdict, unsigned attempt, Deadline deadline,
                   const std::string& what, Error& error) {
    // The time for the last attempt was short: that it got no answer says less than the one before.
    if (error.message.empty() || steady_clock::now() < deadline) error = fault(what, verdict.why);
    if (options_.on_fault) options_.on_fault(error);
    const milliseconds pause =
        verdict.wait ? milliseconds(*verdict.wait) : backoff(attempt, random_fraction());
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    // An attempt that can only run out of time would hide the fault that is known.
    if (pause + shortest_attempt >= left) {
        error.message += verdict.wait ? fmt::format("; it asks to wait {} s, and {} s are left",
                                                    verdict.wait->count(),
                                                    std::max<std::int64_t>(0, left.count() / 1000))
                                      : fmt::format("; gave up after {} attempts", attempt);
        return false;
    }
    ++retries_;
    log::debug("{}; again in {} ms", error.message, pause.count());
    pause_(pause);
    return true;
}

Error Session::sign_in_refused(const HttpAnswer& answer) const {
    const std::string sentence = error_sentence(answer.body);
    const bool application = config_.auth_type == AuthType::application_credential;
    std::string advice = "check the secret in the clouds file";
    if (answer.status == 404 && application)
        advice =
            "the application credential does not exist (any more): create one and correct its id";
    else if (answer.status == 404)
        advice = "is auth_url right?";
    else if (answer.status == 401 && application)
        advice = "the secret is wrong, or the credential or its user was disabled";
    return {Errc::unreachable,
            fmt::format("cloud {}: keystone refused to sign us in ({}{}{}): {}", config_.name,
                        answer.status, sentence.empty() ? "" : " ", sentence, advice)};
}

Result<Session::TokenPtr> Session::sign_in(Deadline deadline) {
    const auto url = tokens_url(config_.auth_url);
    const auto body = sign_in_body(config_);
    if (!url) return tl::unexpected(url.error());
    if (!body) return tl::unexpected(body.error());
    HttpRequest request;
    request.method = "POST";
    request.url = *url;
    request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
    request.body = *body;
    Error error;
    for (unsigned attempt = 1;; ++attempt) {
        ++logins_;
        const HttpAnswer answer = send(request, deadline);
        const Verdict verdict = judge_answer(answer, true, cloud_time(system_clock::now()));
        if (verdict.next == Next::again) {
            if (!wait(verdict, attempt, deadline, "signing in at keystone", error))
                return tl::unexpected(error);
            continue;
        }
        if (verdict.next == Next::give_up)
            return tl::unexpected(fault("signing in at keystone", verdict.why));
        if (answer.status >= 300) return tl::unexpected(sign_in_refused(answer));
        auto token = parse_token(answer.body, answer.header("x-subject-token"));
        if (!token) return tl::unexpected(fault("signing in at keystone", token.error().message));
        return std::make_shared<const Token>(std::move(*token));
    }
}

// The lock on the shared token; without it (a folder that cannot be written) everyone signs in.
UniqueFd Session::wait_for_turn(const TokenPtr& refused_one, Deadline deadline) const {
    if (options_.token_cache.empty()) return {};
    if (usable(read_token_cache(options_.token_cache, config_), refused_one)) return {};
    const auto left = std::chrono::duration_cast<seconds>(deadline - steady_clock::now());
    const auto patience = std::clamp<std::int64_t>(left.count(), 0, longest_turn_seconds);
    auto lock = lock_file(options_.token_cache + ".lock", static_cast<int>(patience));
    return lock ? std::move(*lock) : UniqueFd();
}

bool Session::usable(const TokenPtr& token, const TokenPtr& refused_one) const {
    const auto now = seconds_of(cloud_time(system_clock::now()));
    return token && !(refused_one && token->id == refused_one->id) &&
           (token->expires == 0 || token->expires - token_margin_seconds > now);
}

Result<Session::TokenPtr> Session::token(const TokenPtr& refused_one, Deadline deadline) {
    const auto asked = steady_clock::now();
    const std::lock_guard lock(token_mutex_);
    if (usable(token_, refused_one)) return token_;
    // Of many processes that begin at the same moment one signs in, and the others use its token.
    const auto turn = wait_for_turn(refused_one, deadline);
    if (!options_.token_cache.empty()) {
        token_ = read_token_cache(options_.token_cache, config_);
        if (usable(token_, refused_one)) return token_;
    }
    // While we waited for the lock another thread tried, in vain: one attempt serves both.
    if (failed_at_ > asked) return tl::unexpected(last_failure_);
    auto fresh = sign_in(deadline);
    if (!fresh) {
        last_failure_ = fresh.error();
        failed_at_ = steady_clock::now();
        if (options_.on_fault && last_failure_.code == Errc::unreachable)
            options_.on_fault(last_failure_);
        return fresh;
    }
    token_ = *fresh;
    if (!options_.token_cache.empty())
        if (const auto kept = write_token_cache(options_.token_cache, config_, *token_); !kept)
            log::warning("the token is not shared between runs: {}", kept.error().message);
    return token_;
}

Result<std::string> Session::service_root(const std::string& service) {
    const auto held = token({}, call_deadline());
    if (!held) return tl::unexpected(held.error());
    const auto url = choose_endpoint(config_, (*held)->catalog, service);
    if (!url) return tl::unexpected(fault(service_name(service), url.error().message));
    const std::string version = version_in(*url);
    // The catalog may name the service without a version, or nova's long-gone v2.
    if (service == "image") return join_url(unversioned(*url), "v2");
    if (version.empty() || version == "v2" || version == "v2.0")
        return join_url(unversioned(*url), "v2.1");
    return *url;
}

HttpRequest Session::request_for(const Call& call, const std::string& url, const Token& token,
                                 const std::string& version) const {
    HttpRequest request;
    request.url = url;
    request.headers = {{"X-Auth-Token", token.id}, {"Accept", "application/json"}};
    if (!version.empty()) request.headers["OpenStack-API-Version"] = "compute " + version;
    if (call.remove) request.method = "DELETE";
    if (!call.body.empty()) {
        request.method = "POST";
        request.body = call.body;
        request.once = true;
        request.headers["Content-Type"] = "application/json";
    }
    return request;
}

Result<std::string> Session::choose_version(const Call& call) {
    const std::lock_guard lock(version_mutex_);
    if (call.versions.empty()) return std::string();
    if (!max_known_) return call.versions.front();
    const auto is_below = [this](const std::string& version) {
        return !min_version_.empty() && compare_versions(version, min_version_) < 0;
    };
    for (const auto& version : call.versions)
        if (version.empty() || (!max_version_.empty() && !is_below(version) &&
                                compare_versions(version, max_version_) <= 0))
            return version;
    return fail(Errc::invalid,
                fmt::format("{} needs microversion {} of nova, and cloud {} has {}: it cannot be "
                            "done on this cloud",
                            call.what, call.versions.back(), config_.name,
                            max_version_.empty()             ? "none"
                            : is_below(call.versions.back()) ? "at least " + min_version_
                                                             : "at most " + max_version_));
}

// After a 406: nova's version document, which needs no microversion, tells the newest and the
// oldest.
Status Session::learn_versions(const Call& call) {
    Call ask{"nova's versions", call.service, "", {}, {}, {}};
    const auto answer = this->call(ask);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status >= 300) return tl::unexpected(refused(ask, *answer));
    const auto versions = parse_versions(answer->body);
    if (!versions) return tl::unexpected(fault("nova's versions", versions.error().message));
    const std::lock_guard lock(version_mutex_);
    max_known_ = true;
    max_version_.clear();
    min_version_.clear();
    for (const auto& v : *versions)
        if (compare_versions(v.max, max_version_) > 0) {
            max_version_ = v.max;
            min_version_ = v.min;
        }
    log::debug("cloud {}: newest microversion of nova is {}", config_.name,
               max_version_.empty() ? "none" : max_version_);
    return {};
}

Result<HttpAnswer> Session::call(const Call& call) {
    const Deadline deadline = call_deadline();
    TokenPtr refused_token;
    bool negotiated = false;
    Error error;
    for (unsigned attempt = 1;; ++attempt) {
        auto held = token(refused_token, deadline);
        if (!held) return tl::unexpected(held.error());
        const auto root = service_root(call.service);
        if (!root) return tl::unexpected(root.error());
        const auto version = choose_version(call);
        if (!version) return tl::unexpected(version.error());
        const std::string url =
            call.path.find("://") == std::string::npos ? join_url(*root, call.path) : call.path;

        // A POST is not cut short: what it did would not be known.
        const Deadline patience =
            call.body.empty()
                ? deadline
                : std::max(deadline, std::min(options_.deadline,
                                              steady_clock::now() + options_.request_timeout));
        HttpAnswer answer = send(request_for(call, url, **held, *version), patience);
        Verdict verdict = judge_answer(answer, call.body.empty(), cloud_time(system_clock::now()));
        const std::string what = fmt::format("{}, {}", service_name(call.service), call.what);
        if (answer.complete && answer.status == 406 && !version->empty() && !negotiated) {
            negotiated = true;
            if (auto learnt = learn_versions(call); !learnt) return tl::unexpected(learnt.error());
            continue;
        }
        if (verdict.next == Next::look_first)
            verdict.next = call.untouched && call.untouched() ? Next::again : Next::unsure;
        switch (verdict.next) {
            case Next::done:
                return answer;
            case Next::sign_in:
                if (refused_token) return answer;  // once is enough: see refused()
                refused_token = *held;
                break;
            case Next::again:
            case Next::look_first:
                if (!wait(verdict, attempt, deadline, what, error)) return tl::unexpected(error);
                break;
            case Next::unsure:
                return fail(Errc::unsure, fmt::format("cloud {}: {}: {}; nova may have taken it",
                                                      config_.name, what, verdict.why));
            case Next::give_up:
                return tl::unexpected(fault(what, verdict.why));
        }
    }
}

Error Session::refused(const Call& call, const HttpAnswer& answer) const {
    const std::string sentence = error_sentence(answer.body);
    const std::string said = fmt::format("cloud {}: {}: {} answered {}{}{}", config_.name,
                                         call.what, service_name(call.service), answer.status,
                                         sentence.empty() ? "" : ": ", sentence);
    switch (answer.status) {
        case 401:
            return {Errc::unreachable,
                    said +
                        "; also with a new token: the credential was revoked, or its access "
                        "rules do not allow this call"};
        case 403:
            if (text::lower(sentence).find("quota") != std::string::npos)
                return {Errc::denied, said};
            return {Errc::denied, said +
                                      "; the credential needs the roles member AND reader on "
                                      "the project"};
        case 404:
            return {Errc::not_found, said};
        case 409:
            if (text::lower(sentence).find("locked") != std::string::npos)
                return {Errc::denied, said + "; unlock the server (openstack server unlock)"};
            return {Errc::busy, said};
        case 406:
            return {Errc::invalid, said + "; the cloud is too old for this call"};
        case 413:
            return {Errc::denied, said + "; the request or a quota is over the cloud's limit"};
        default:
            return {Errc::invalid, said};
    }
}

}  // namespace cohort::openstack
