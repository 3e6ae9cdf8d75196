// SPDX-License-Identifier: GPL-2.0-or-later
// URLs, Retry-After, and what to do after an answer.
#include "common/openstack/retry.hpp"
#include "common/openstack/url.hpp"
#include "common/openstack/verdict.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort::openstack;
using std::chrono::seconds;

namespace {

// Sun, 06 Nov 1994 08:49:37 GMT
const auto moment = std::chrono::system_clock::from_time_t(784111777);

void expect_wait(std::string_view value, std::int64_t wanted) {
    const auto wait = parse_retry_after(value, moment);
    unit::expect(wait.has_value(), std::string(value) + " is understood");
    unit::expect_equal(wait->count(), wanted);
}

HttpAnswer answered(int status, std::map<std::string, std::string> headers = {},
                    std::string body = {}) {
    HttpAnswer a;
    a.status = status;
    a.headers = std::move(headers);
    a.body = std::move(body);
    a.complete = a.sent = true;
    return a;
}

HttpAnswer broken(bool sent, int status = 0) {
    HttpAnswer a;
    a.sent = sent;
    a.status = status;
    a.failure = "no answer within 30000 ms";
    return a;
}

void expect_next(const HttpAnswer& a, Next of_get, Next of_post) {
    const auto get = judge_answer(a, true, moment), post = judge_answer(a, false, moment);
    unit::expect(get.next == of_get, "GET: " + get.why);
    unit::expect(post.next == of_post, "POST: " + post.why);
    if (get.next != Next::done) unit::expect(!get.why.empty(), "says why");
}

std::string next(std::string_view link) {
    return next_page("https://nova.example/compute/v2.1/servers/detail?name=x", link);
}

std::vector<unit::Rule> url_rules() {
    return {
        {"a URL is taken apart and put together again",
         [] {
             const auto url = parse_url("HTTPS://Host.Example:5000/identity/v3?a=b#x");
             unit::expect(url.has_value(), "is a URL");
             unit::expect_equal(url->origin(), "https://host.example:5000");
             unit::expect_equal(url->text(), "https://host.example:5000/identity/v3?a=b");
             unit::expect_equal(parse_url("http://[::1]:5000")->authority, "[::1]:5000");
         }},
        {"no URL: other schemes, user names, control characters, relative ones",
         [] {
             for (const char* bad : {"", "host", "//host/", "ftp://host/", "file:///etc/shadow",
                                     "http://user:pw@host/", "http://", "http:///path",
                                     "http://ho st/", "http://host/\r\nX: y", "http://h\\@evil/"})
                 unit::expect(!parse_url(bad), bad);
         }},
        {"joining drops doubled slashes and keeps the path",
         [] {
             unit::expect_equal(join_url("https://k:5000//v3/", "/auth/tokens"),
                                "https://k:5000/v3/auth/tokens");
             unit::expect_equal(join_url("https://k/identity", "v3"), "https://k/identity/v3");
             unit::expect_equal(join_url("https://k", "servers?limit=1"),
                                "https://k/servers?limit=1");
         }},
        {"a version in a URL is found before a project id, and only there",
         [] {
             unit::expect_equal(version_in("http://n:8774/v2.1"), "v2.1");
             unit::expect_equal(version_in("http://n:8774/v2.1/0123abc/"), "v2.1");
             unit::expect_equal(version_in("http://n/v3/identity/deep"), "");
             unit::expect_equal(version_in("http://n/compute"), "");
             unit::expect_equal(version_in("http://n/vault"), "");
             unit::expect_equal(unversioned("http://n:8774/compute/v2.1/0123/"),
                                "http://n:8774/compute");
             unit::expect_equal(unversioned("http://n:8774"), "http://n:8774");
         }},
        {"the next page is this page with the link's query, whatever form the link has",
         [] {
             const std::string wanted =
                 "https://nova.example/compute/v2.1/servers/detail?name=x&marker=7";
             unit::expect_equal(next("?name=x&marker=7"), wanted);
             unit::expect_equal(next("/v2.1/servers/detail?name=x&marker=7"), wanted);
             unit::expect_equal(
                 next("https://nova.example/compute/v2.1/servers/detail?name=x&marker=7"), wanted);
             unit::expect_equal(next("http://nova.example/v2.1/servers/detail?name=x&marker=7"),
                                wanted);
         }},
        {"glance's link, with its own path or with a whole URL: only the query counts",
         [] {
             const std::string page = "https://img.example/image/v2/images?limit=2";
             for (const char* link : {"/v2/images?marker=7", "https://img/v2/images?marker=7",
                                      "https://img.example/image/v2/images?marker=7"})
                 unit::expect_equal(next_page(page, link),
                                    "https://img.example/image/v2/images?marker=7");
         }},
        {"a link to another host never leads there",
         [] {
             for (const char* link : {"https://evil.example/x?marker=7", "//evil.example/?marker=7",
                                      "https://nova.example@evil.example/?marker=7"})
                 unit::expect(next(link).starts_with("https://nova.example/compute/v2.1/"), link);
         }},
        {"a link without a query, or with one that is none, is refused",
         [] {
             for (const char* link : {"", "https://nova.example/", "/v2/images?", "#?x", "?a b"})
                 unit::expect_equal(next(link), "");
         }},
        {"percent-encoding leaves only what is safe",
         [] {
             unit::expect_equal(encode("^n-1.a_b~$ /&=%\xc3\xa9"),
                                "%5En-1.a_b~%24%20%2F%26%3D%25%C3%A9");
         }},
    };
}

std::vector<unit::Rule> retry_rules() {
    return {
        {"Retry-After in seconds",
         [] {
             expect_wait("120", 120);
             expect_wait(" 0 ", 0);
         }},
        {"Retry-After as a date, in all three forms of RFC 9110",
         [] {
             expect_wait("Sun, 06 Nov 1994 08:49:47 GMT", 10);
             expect_wait("Sunday, 06-Nov-94 08:49:47 GMT", 10);
             expect_wait("Sun Nov  6 08:49:47 1994", 10);
         }},
        {"a date that has passed means at once",
         [] { expect_wait("Sun, 06 Nov 1994 08:49:30 GMT", 0); }},
        {"a year-long wish does not overflow",
         [] {
             expect_wait("99999999999999", 365LL * 86400);
             expect_wait("Sun, 06 Nov 3988 08:49:37 GMT", 365LL * 86400);
             expect_wait("Sun, 06 Nov 0088 08:49:37 GMT", 0);
         }},
        {"what is neither is no wish",
         [] {
             for (const char* bad :
                  {"", "soon", "-5", "1.5", "10s", "Sun, 06 Foo 1994 08:49:37 GMT",
                   "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 99 Nov 1994 08:49:37 GMT",
                   "99999999999999999999999"})
                 unit::expect(!parse_retry_after(bad, moment), bad);
         }},
        {"OpenStack's times, with and without fractions and Z",
         [] {
             unit::expect_equal(*parse_iso_time("1994-11-06T08:49:37Z"), 784111777);
             unit::expect_equal(*parse_iso_time("1994-11-06T08:49:37.074738"), 784111777);
             for (const char* bad :
                  {"", "1994-11-06", "1994-13-06T08:49:37", "x994-11-06T08:49:37"})
                 unit::expect(!parse_iso_time(bad), bad);
         }},
        {"back-off doubles up to 8 s and loses up to a half",
         [] {
             unit::expect_equal(backoff(1, 0).count(), 250);
             unit::expect_equal(backoff(1, 1).count(), 125);
             unit::expect_equal(backoff(3, 0).count(), 1000);
             unit::expect_equal(backoff(6, 0).count(), 8000);
             unit::expect_equal(backoff(4000000000U, 0).count(), 8000);
         }},
    };
}

std::vector<unit::Rule> verdict_rules() {
    return {
        {"2xx and a plain 4xx are answers",
         [] {
             for (const int status : {200, 202, 300 - 96, 400, 403, 404, 406, 409, 422})
                 expect_next(answered(status), Next::done, Next::done);
         }},
        {"401 renews the token", [] { expect_next(answered(401), Next::sign_in, Next::sign_in); }},
        {"429 is a refusal for both, and its wish is kept",
         [] {
             expect_next(answered(429), Next::again, Next::again);
             const auto v = judge_answer(answered(429, {{"retry-after", "2"}}), false, moment);
             unit::expect_equal(v.wait->count(), 2);
         }},
        {"413 with Retry-After is a limiter, without it the request is too large",
         [] {
             expect_next(answered(413, {{"retry-after", "2"}}), Next::again, Next::again);
             expect_next(answered(413), Next::done, Next::done);
         }},
        {"503 with Retry-After is a refusal",
         [] {
             expect_next(answered(503, {{"retry-after", "1"}}), Next::again, Next::again);
         }},
        {"503 without Retry-After: a POST is looked after before it is sent again",
         [] { expect_next(answered(503), Next::again, Next::look_first); }},
        {"500, 502 and 504 may hide a taken POST",
         [] {
             for (const int status : {500, 502, 504, 599})
                 expect_next(answered(status), Next::again, Next::unsure);
         }},
        {"nothing went out: again, also a POST",
         [] { expect_next(broken(false), Next::again, Next::again); }},
        {"the request went out and no answer came: a POST is unsure",
         [] { expect_next(broken(true), Next::again, Next::unsure); }},
        {"a 202 that broke in its body is a taken POST and a useless GET",
         [] { expect_next(broken(true, 202), Next::again, Next::done); }},
        {"a 500 that broke in its body is still unsure",
         [] { expect_next(broken(true, 500), Next::again, Next::unsure); }},
        {"a redirect is not followed",
         [] {
             expect_next(answered(301, {{"location", "https://evil/"}}), Next::give_up,
                         Next::give_up);
             expect_next(answered(308), Next::give_up, Next::give_up);
         }},
        {"the reason holds the cloud's sentence",
         [] {
             const auto v = judge_answer(
                 answered(500, {}, R"({"computeFault":{"code":500,"message":"Unexpected"}})"), true,
                 moment);
             unit::expect_contains(v.why, "500: Unexpected");
         }},
    };
}

}  // namespace

int main() {
    auto all = url_rules();
    for (auto& rule : retry_rules()) all.push_back(std::move(rule));
    for (auto& rule : verdict_rules()) all.push_back(std::move(rule));
    return unit::run("openstack rules", std::move(all));
}
