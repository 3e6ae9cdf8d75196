// SPDX-License-Identifier: GPL-2.0-or-later
// Calls against a scripted transport: tokens, retries, microversions, endpoints.
#include "common/openstack/session.hpp"

#include <atomic>
#include <memory>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "common/openstack/token_cache.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace cohort::openstack;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr const char* token_body = R"({"token":{"expires_at":"2999-01-01T00:00:00.0Z","catalog":[
    {"type":"compute","endpoints":[{"interface":"public","region_id":"R1","url":"http://nova/v2.1"}]},
    {"type":"image","endpoints":[{"interface":"public","region_id":"R1","url":"http://glance"}]}]}})";

constexpr const char* hangs = "until the deadline";

struct Step {
    int status = 200;
    std::string body = "{}";
    std::map<std::string, std::string> headers;
    bool sent = true;  // with status 0: no answer

    Step(int code = 200, std::string text = "{}", std::map<std::string, std::string> fields = {},
         bool went_out = true)
        : status(code), body(std::move(text)), headers(std::move(fields)), sent(went_out) {}
};

// Answers sign-ins by itself (token-1, token-2, ...), all else by the script.
class Script final : public Transport {
  public:
    std::vector<Step> steps;
    std::vector<HttpRequest> seen;
    int logins = 0;
    int login_status = 201;
    milliseconds login_takes{0};
    Deadline::duration given{0};  // time for the last request

    HttpAnswer send(const HttpRequest& request, Deadline deadline) override {
        HttpAnswer a;
        given = deadline - std::chrono::steady_clock::now();
        a.complete = a.sent = true;
        if (request.url.ends_with("/auth/tokens")) {
            std::this_thread::sleep_for(login_takes);
            a.status = login_status;
            a.body = token_body;
            a.headers["x-subject-token"] = fmt::format("token-{}", ++logins);
            return a;
        }
        seen.push_back(request);
        if (seen.size() > steps.size()) return steps_over();
        const Step& step = steps[seen.size() - 1];
        a.status = step.status;
        a.body = step.body;
        a.headers = step.headers;
        a.complete = step.status != 0;
        a.sent = step.sent;
        if (!a.complete) a.failure = "no answer";
        if (step.body == hangs) std::this_thread::sleep_until(deadline);
        return a;
    }
    static HttpAnswer steps_over() {
        HttpAnswer a;
        a.status = 299;
        a.complete = a.sent = true;
        return a;
    }
};

CloudConfig config() {
    CloudConfig c;
    c.name = "lab";
    c.file = "clouds.yaml";
    c.auth_url = "http://keystone";
    c.auth_type = AuthType::application_credential;
    c.application_credential_id = "id";
    c.application_credential_secret = "hush";
    return c;
}

struct Bench {
    Script* script;
    std::vector<milliseconds> pauses;
    int faults = 0;
    Session session;

    explicit Bench(std::vector<Step> steps, Options options = {}, CloudConfig c = config())
        : script(new Script),
          session(std::move(c), with_fault(std::move(options)), std::unique_ptr<Transport>(script),
                  [this](milliseconds p) { pauses.push_back(p); }) {
        script->steps = std::move(steps);
    }
    Options with_fault(Options o) {
        o.on_fault = [this](const Error&) { ++faults; };
        return o;
    }
};

const Call get{"server 1", "compute", "servers/1", {}, {}, {}};
const Call post{"rebuild of server 1", "compute", "servers/1/action", "{}", {}, {}};

std::string error_of(const Result<HttpAnswer>& r, Errc code) {
    unit::expect(!r, "is an error");
    unit::expect(r.error().code == code, r.error().message);
    return r.error().message;
}

std::vector<unit::Rule> token_rules() {
    return {
        {"the first call signs in, the second uses the same token",
         [] {
             Bench b(std::vector<Step>{{}, {}});
             unit::expect(b.session.call(get) && b.session.call(get), "both work");
             unit::expect_equal(b.script->logins, 1);
             unit::expect_equal(b.script->seen[1].headers["X-Auth-Token"], "token-1");
             unit::expect_equal(b.script->seen[0].url, "http://nova/v2.1/servers/1");
         }},
        {"401 once: signs in again and goes on, also with a POST",
         [] {
             for (const Call& call : {get, post}) {
                 Bench b(std::vector<Step>{{401}, {202}});
                 unit::expect(b.session.call(call).has_value(), "works");
                 unit::expect_equal(b.script->logins, 2);
                 unit::expect_equal(b.script->seen[1].headers["X-Auth-Token"], "token-2");
             }
         }},
        {"401 for ever: one more sign-in, then it ends",
         [] {
             Bench b(std::vector<Step>{{401}, {401}, {401}});
             const auto answer = b.session.call(get);
             unit::expect_equal(answer->status, 401);
             unit::expect_equal(b.script->seen.size(), 2U);
             unit::expect_equal(b.script->logins, 2);
             unit::expect_contains(b.session.refused(get, *answer).message, "revoked");
         }},
        {"a refused sign-in is not repeated, and says what to check",
         [] {
             Bench b(std::vector<Step>{});
             b.script->login_status = 401;
             const auto message = error_of(b.session.call(get), Errc::unreachable);
             unit::expect_contains(message, "secret is wrong");
             unit::expect(message.find("hush") == std::string::npos, "no secret");
             unit::expect_equal(b.script->logins, 1);
             unit::expect_equal(b.faults, 1);
         }},
        {"an unknown application credential (404) is a refused sign-in too",
         [] {
             Bench b(std::vector<Step>{});
             b.script->login_status = 404;
             unit::expect_contains(error_of(b.session.call(get), Errc::unreachable),
                                   "does not exist");
         }},
        {"a shared token file: the next run does not sign in, another credential does",
         [] {
             const std::string path = fmt::format("/tmp/cohort-token.{}", ::getpid());
             Options options;
             options.token_cache = path;
             Bench first({{}}, options), second({{}}, options);
             unit::expect(first.session.call(get) && second.session.call(get), "both work");
             unit::expect_equal(second.script->logins, 0);
             struct stat st {};
             ::stat(path.c_str(), &st);
             unit::expect_equal(st.st_mode & 0777U, 0600U);
             auto other = config();
             other.application_credential_secret = "another";
             Bench third({{}}, options, other);
             unit::expect(third.session.call(get).has_value(), "works");
             unit::expect_equal(third.script->logins, 1);
             ::chmod(path.c_str(), 0644);
             unit::expect(read_token_cache(path, other) == nullptr, "an open file is not used");
             ::unlink(path.c_str());
             ::unlink((path + ".lock").c_str());
         }},
        {"a shared token that ended meanwhile is renewed once",
         [] {
             const std::string path = fmt::format("/tmp/cohort-token2.{}", ::getpid());
             Options options;
             options.token_cache = path;
             Bench first({{}}, options), second({{401}, {}}, options);
             unit::expect(first.session.call(get) && second.session.call(get), "both work");
             unit::expect_equal(second.script->logins, 1);
             ::unlink(path.c_str());
             ::unlink((path + ".lock").c_str());
         }},
        {"runs that begin at the same moment and share the token: one signs in",
         [] {
             const std::string path = fmt::format("/tmp/cohort-token3.{}", ::getpid());
             Options options;
             options.token_cache = path;
             std::vector<std::unique_ptr<Bench>> runs;
             std::vector<std::thread> threads;
             std::atomic<int> good{0};
             for (int i = 0; i < 8; ++i) {
                 runs.push_back(std::make_unique<Bench>(std::vector<Step>{{}}, options));
                 runs.back()->script->login_takes = milliseconds(200);
             }
             for (auto& run : runs)
                 threads.emplace_back([&] { good += run->session.call(get).has_value(); });
             for (auto& thread : threads) thread.join();
             int logins = 0;
             for (auto& run : runs) logins += run->script->logins;
             unit::expect_equal(good.load(), 8);
             unit::expect_equal(logins, 1);
             ::unlink(path.c_str());
             ::unlink((path + ".lock").c_str());
         }},
    };
}

std::vector<unit::Rule> retry_rules() {
    return {
        {"a GET goes on through 500, 502, 503, 504 and a broken connection",
         [] {
             Bench b(std::vector<Step>{{500}, {502}, {503}, {504}, {0}, {200}});
             unit::expect(b.session.call(get).has_value(), "works");
             unit::expect_equal(b.pauses.size(), 5U);
             unit::expect_equal(b.faults, 5);
         }},
        {"429 with Retry-After: 2, twice, then 202: one rebuild, after 4 s",
         [] {
             Bench b(std::vector<Step>{
                 {429, "", {{"retry-after", "2"}}}, {429, "", {{"retry-after", "2"}}}, {202}});
             unit::expect(b.session.call(post).has_value(), "works");
             unit::expect(b.pauses == std::vector<milliseconds>{seconds(2), seconds(2)},
                          "waited 2 s each");
         }},
        {"Retry-After: 86400 is beyond the limit: gives up at once and says so",
         [] {
             Bench b(std::vector<Step>{{429, "", {{"retry-after", "86400"}}}});
             unit::expect_contains(error_of(b.session.call(post), Errc::unreachable), "86400 s");
             unit::expect(b.pauses.empty(), "did not wait");
         }},
        {"a POST has its full time, however short the retries are; the end of all is the end",
         [] {
             Options options;
             options.retry_limit = std::chrono::seconds(3);
             options.request_timeout = std::chrono::seconds(40);
             Bench b(std::vector<Step>{{200}, {202}}, options);
             unit::expect(b.session.call(get).has_value(), "works");
             unit::expect(b.script->given <= std::chrono::seconds(3), "a GET");
             unit::expect(b.session.call(post).has_value(), "works");
             unit::expect(b.script->given > std::chrono::seconds(30), "a POST");
             options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(9);
             Bench late(std::vector<Step>{{202}}, options);
             unit::expect(late.session.call(post).has_value(), "works");
             unit::expect(late.script->given <= std::chrono::seconds(9), "no longer than that");
         }},
        {"a last attempt that had no time left does not hide the fault that is known",
         [] {
             Options options;
             options.retry_limit = std::chrono::seconds(2);
             Bench b(std::vector<Step>{{503, "<html>no keystone</html>"}, {0, hangs}}, options);
             const auto message = error_of(b.session.call(get), Errc::unreachable);
             unit::expect_contains(message, "503: no keystone; gave up after 2 attempts");
         }},
        {"a deadline that is over ends it",
         [] {
             Options options;
             options.deadline = std::chrono::steady_clock::now();
             Bench b({{503}}, options);
             unit::expect_contains(error_of(b.session.call(get), Errc::unreachable), "gave up");
         }},
        {"a POST whose answer was lost is never sent again",
         [] {
             for (const int status : {0, 500, 502, 504}) {
                 Bench b(std::vector<Step>{{status}, {202}});
                 unit::expect_contains(error_of(b.session.call(post), Errc::unsure),
                                       "may have taken it");
                 unit::expect_equal(b.script->seen.size(), 1U);
             }
         }},
        {"a POST that never went out is sent again",
         [] {
             Bench b(std::vector<Step>{{0, "", {}, false}, {202}});
             unit::expect(b.session.call(post).has_value(), "works");
         }},
        {"a POST that got a bare 503 is sent again only when nothing happened",
         [] {
             Call call = post;
             call.untouched = [] { return true; };
             Bench good({{503}, {202}});
             unit::expect(good.session.call(call).has_value(), "sent again");
             call.untouched = [] { return false; };
             Bench bad({{503}, {202}});
             error_of(bad.session.call(call), Errc::unsure);
             unit::expect_equal(bad.script->seen.size(), 1U);
         }},
        {"every POST that changes something is marked as not to be repeated by the library",
         [] {
             Bench b(std::vector<Step>{{202}});
             unit::expect(b.session.call(post).has_value(), "works");
             unit::expect(b.script->seen[0].once && b.script->seen[0].method == "POST", "once");
         }},
        {"a redirect ends it and names the way out",
         [] {
             Bench b(std::vector<Step>{{302, "", {{"location", "http://evil/"}}}});
             unit::expect_contains(error_of(b.session.call(get), Errc::unreachable),
                                   "endpoint override");
             unit::expect_equal(b.script->seen.size(), 1U);
         }},
    };
}

std::vector<unit::Rule> version_rules() {
    return {
        {"no microversion unless one is needed",
         [] {
             Bench b(std::vector<Step>{{}});
             unit::expect(b.session.call(get).has_value(), "works");
             unit::expect(!b.script->seen[0].headers.contains("OpenStack-API-Version"), "none");
         }},
        {"the best is asked for; after a 406 the best that the cloud has, and so from then on",
         [] {
             Call call = get;
             call.versions = {"2.73", "2.9", ""};
             Bench b(std::vector<Step>{
                 {406}, {200, R"({"version":{"id":"v2.1","version":"2.60"}})"}, {}, {}});
             unit::expect(b.session.call(call) && b.session.call(call), "works");
             unit::expect_equal(b.script->seen[0].headers["OpenStack-API-Version"], "compute 2.73");
             unit::expect_equal(b.script->seen[1].url, "http://nova/v2.1/");
             unit::expect_equal(b.script->seen[2].headers["OpenStack-API-Version"], "compute 2.9");
             unit::expect_equal(b.script->seen[3].headers["OpenStack-API-Version"], "compute 2.9");
         }},
        {"version documents with empty strings: no microversion at all",
         [] {
             Call call = get;
             call.versions = {"2.73", ""};
             Bench b(std::vector<Step>{
                 {406}, {200, R"({"version":{"id":"v2.1","version":"","min_version":""}})"}, {}});
             unit::expect(b.session.call(call).has_value(), "works");
             unit::expect(!b.script->seen[2].headers.contains("OpenStack-API-Version"), "none");
         }},
        {"nothing below the cloud's oldest is asked for, and what needs that is refused in words",
         [] {
             const std::string document =
                 R"({"version":{"id":"v2.1","version":"2.53","min_version":"2.10"}})";
             Call call = get;
             call.versions = {"2.73", "2.9", ""};
             Bench none(std::vector<Step>{{406}, {200, document}, {}});
             unit::expect(none.session.call(call).has_value(), "works");
             unit::expect(!none.script->seen[2].headers.contains("OpenStack-API-Version"), "none");
             call.versions = {"2.73", "2.10"};
             Bench oldest(std::vector<Step>{{406}, {200, document}, {}});
             unit::expect(oldest.session.call(call).has_value(), "works");
             unit::expect_equal(oldest.script->seen[2].headers["OpenStack-API-Version"],
                                "compute 2.10");
             call.versions = {"2.9"};
             Bench refused(std::vector<Step>{{406}, {200, document}, {}});
             unit::expect_contains(error_of(refused.session.call(call), Errc::invalid),
                                   "needs microversion 2.9 of nova, and cloud lab has at least "
                                   "2.10");
             unit::expect_equal(refused.script->seen.size(), 2U);
         }},
        {"406 also for what the version document offers: it ends, with nova's words",
         [] {
             Call call = post;
             call.versions = {"2.93", "2.60"};
             Bench b(std::vector<Step>{
                 {406}, {200, R"({"version":{"id":"v2.1","version":"2.60"}})"}, {406}, {202}});
             const auto answer = b.session.call(call);
             unit::expect(answer && answer->status == 406, "is an answer");
             unit::expect_equal(b.script->seen.size(), 3U);
             unit::expect_contains(b.session.refused(call, *answer).message, "too old");
         }},
        {"what needs 2.93 is refused in words on a cloud with 2.60",
         [] {
             Call call = post;
             call.versions = {"2.93"};
             Bench b(std::vector<Step>{
                 {406}, {200, R"({"version":{"id":"v2.1","version":"2.60"}})"}, {202}});
             const auto message = error_of(b.session.call(call), Errc::invalid);
             unit::expect_contains(message, "2.93");
             unit::expect_contains(message, "at most 2.60");
         }},
    };
}

std::vector<unit::Rule> refusal_rules() {
    const auto refused = [](int status, const char* sentence) {
        Bench b(std::vector<Step>{});
        HttpAnswer a;
        a.status = status;
        a.body = fmt::format(R"({{"x":{{"message":"{}"}}}})", sentence);
        return b.session.refused(post, a);
    };
    return {
        {"403 names the roles that are needed",
         [=] {
             unit::expect(refused(403, "Policy").code == Errc::denied, "denied");
             unit::expect_contains(refused(403, "Policy").message, "member AND reader");
         }},
        {"403 for a quota does not",
         [=] {
             unit::expect(refused(403, "Quota exceeded for cores").message.find("reader") ==
                              std::string::npos,
                          "no roles");
         }},
        {"409 for a lock is told apart from a busy server",
         [=] {
             unit::expect(refused(409, "Instance x is locked").code == Errc::denied, "denied");
             unit::expect(
                 refused(409, "Cannot 'rebuild' while in task_state rebuilding").code == Errc::busy,
                 "busy");
         }},
        {"404 and 400",
         [=] {
             unit::expect(refused(404, "Instance x could not be found").code == Errc::not_found,
                          "not found");
             unit::expect(refused(400, "Image x is not active").code == Errc::invalid, "invalid");
             unit::expect_contains(refused(400, "Image x is not active").message,
                                   "Image x is not active");
         }},
        {"406 explains itself: the cloud is too old for it",
         [=] {
             const auto error = refused(406, "Version 2.93 is not supported by the API");
             unit::expect(error.code == Errc::invalid, "invalid");
             unit::expect_contains(error.message,
                                   "Version 2.93 is not supported by the API; the "
                                   "cloud is too old for this call");
         }},
    };
}

// Where a call of SERVICE goes whose endpoint is URL.
std::string sent_to(const std::string& service, const std::string& url) {
    auto c = config();
    c.endpoint_override[service] = url;
    Bench b(std::vector<Step>{{}}, {}, c);
    const Call call{"x", service, "x/1", {}, {}, {}};
    unit::expect(b.session.call(call).has_value(), url);
    return b.script->seen[0].url;
}

std::vector<unit::Rule> endpoint_rules() {
    return {
        {"glance's URL gets /v2 once, whether it has a version or not",
         [] {
             for (const char* url : {"http://g:9292", "http://g:9292/", "http://g:9292/v2",
                                     "http://g:9292/v2/", "http://g:9292/v1"})
                 unit::expect_equal(sent_to("image", url), "http://g:9292/v2/x/1");
             unit::expect_equal(sent_to("image", "http://k/image/v2"), "http://k/image/v2/x/1");
         }},
        {"nova's URL without a version, or with v2, which is gone, becomes v2.1",
         [] {
             for (const char* url :
                  {"http://n:8774", "http://n:8774/", "http://n:8774/v2", "http://n:8774/v2.0/",
                   "http://n:8774/v2.1", "http://n:8774/v2.1/", "http://n:8774/v2/0123abc"})
                 unit::expect_equal(sent_to("compute", url), "http://n:8774/v2.1/x/1");
             unit::expect_equal(sent_to("compute", "http://k/compute"),
                                "http://k/compute/v2.1/x/1");
         }},
        {"a project's id behind nova's v2.1 stays",
         [] {
             unit::expect_equal(sent_to("compute", "http://n:8774/v2.1/0123abc"),
                                "http://n:8774/v2.1/0123abc/x/1");
         }},
    };
}

}  // namespace

int main() {
    auto all = token_rules();
    for (auto& rule : retry_rules()) all.push_back(std::move(rule));
    for (auto& rule : version_rules()) all.push_back(std::move(rule));
    for (auto& rule : refusal_rules()) all.push_back(std::move(rule));
    for (auto& rule : endpoint_rules()) all.push_back(std::move(rule));
    return unit::run("openstack session", std::move(all));
}
