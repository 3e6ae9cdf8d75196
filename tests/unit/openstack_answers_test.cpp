// SPDX-License-Identifier: GPL-2.0-or-later
// What nova and glance answer, as values.
#include "common/openstack/answers.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace cohort::openstack;

namespace {

constexpr const char* id = "0e12087a-7c87-476a-8f84-7398e991cecc";
constexpr const char* image_id = "70a599e0-31e7-49b7-b260-868f441e862b";

std::string server_text(const std::string& more) {
    return fmt::format(R"({{"server":{{"id":"{}","name":"n1","status":"ACTIVE"{}}}}})", id, more);
}

Server server_with(const std::string& more) {
    const auto server = parse_server(server_text(more));
    unit::expect(server.has_value(), server ? "" : server.error().message);
    return *server;
}

std::string action_text(const std::string& message, const std::string& events) {
    return fmt::format(
        R"({{"instanceAction":{{"action":"rebuild","request_id":"req-1","message":{},
             "start_time":"2018-04-25T01:26:29.073738"{}}}}})",
        message, events.empty() ? "" : ",\"events\":[" + events + "]");
}

std::string event(const std::string& name, const std::string& result) {
    return fmt::format(
        R"({{"event":"{}","start_time":"2018-04-25T01:26:29.2","finish_time":{},"result":{}}})",
        name, result.empty() ? "null" : "\"2018-04-25T01:26:30.5\"",
        result.empty() ? "null" : "\"" + result + "\"");
}

Action action_with(const std::string& events, const std::string& message = "null") {
    const auto action = parse_action(action_text(message, events));
    unit::expect(action.has_value(), action ? "" : action.error().message);
    return *action;
}

std::vector<unit::Rule> server_rules() {
    return {
        {"a server's id, name, status, task and image are read",
         [] {
             const auto s = server_with(fmt::format(
                 R"(,"image":{{"id":"{}","links":[]}},"OS-EXT-STS:task_state":"rebuilding")",
                 image_id));
             unit::expect_equal(s.image_id, image_id);
             unit::expect_equal(s.task_state, "rebuilding");
             unit::expect(!s.volume_backed, "has an image");
         }},
        {"\"image\": \"\" is a volume-backed server, not a different image",
         [] {
             const auto s = server_with(R"(,"image":"")");
             unit::expect(s.volume_backed, "is volume-backed");
             unit::expect_equal(s.image_id, "");
         }},
        {"no image at all (a cell is down) is no statement",
         [] { unit::expect(!server_with("").volume_backed, "is not said"); }},
        {"on the image, but in ERROR or with a task: not settled on it",
         [] {
             Server s;
             s.image_id = image_id;
             s.status = "ERROR";
             unit::expect(!s.settled_on(image_id), "ERROR");
             s.status = "SHUTOFF";
             unit::expect(!s.settled_on(image_id), "SHUTOFF");
             s.status = "ACTIVE";
             s.task_state = "rebuild_spawning";
             unit::expect(!s.settled_on(image_id), "task");
             s.task_state.clear();
             unit::expect(s.settled_on(image_id), "settled");
         }},
        {"a lock and its reason",
         [] {
             const auto s = server_with(R"(,"locked":true,"locked_reason":"I don't want to work")");
             unit::expect(s.locked, "is locked");
             unit::expect_equal(s.locked_reason, "I don't want to work");
         }},
        {"the fault's message is one line, without its details",
         [] {
             const auto s = server_with(
                 R"(,"fault":{"code":500,"message":"No valid\nhost","details":"Traceback"})");
             unit::expect_equal(s.fault, "No valid host");
         }},
        {"values of a wrong type are absent, not a crash",
         [] {
             const auto s =
                 server_with(R"(,"image":7,"locked":"yes","fault":[],"OS-EXT-STS:task_state":{})");
             unit::expect(!s.volume_backed && !s.locked && s.fault.empty() && s.task_state.empty(),
                          "absent");
         }},
        {"no server, HTML, an array and a cut answer are refused",
         [] {
             for (const char* bad :
                  {"", "{}", "[]", "<html>", R"({"server":null})", R"({"server":{"id":"x")"})
                 unit::expect(!parse_server(bad), bad);
         }},
        {"a page of servers and the link to the next",
         [] {
             const auto page = parse_servers(R"({"servers":[{"id":"1"},{"id":"2"}],
                 "servers_links":[{"rel":"next","href":"http://n/v2.1/servers?marker=2"}]})");
             unit::expect_equal(page->items.size(), 2U);
             unit::expect_equal(page->next, "http://n/v2.1/servers?marker=2");
             unit::expect_equal(parse_servers(R"({"servers":[]})")->next, "");
             unit::expect(!parse_servers(R"({"servers":{}})"), "no list");
         }},
    };
}

std::vector<unit::Rule> action_rules() {
    return {
        {"no event yet: it runs", [] { unit::expect(!action_with("").finished, "runs"); }},
        {"the conductor's end is not the action's end",
         [] { unit::expect(!action_with(event("rebuild_server", "Success")).finished, "runs"); }},
        {"the compute host still works: it runs",
         [] {
             unit::expect(!action_with(event("compute_rebuild_instance", "") + "," +
                                       event("rebuild_server", "Success"))
                               .finished,
                          "runs");
         }},
        {"the compute host's success is the action's, in any order of events",
         [] {
             for (const auto& events : {event("compute_rebuild_instance", "Success") + "," +
                                            event("rebuild_server", "Success"),
                                        event("rebuild_server", "Success") + "," +
                                            event("compute_rebuild_instance", "Success")}) {
                 const auto a = action_with(events);
                 unit::expect(a.finished && a.succeeded, "succeeded");
                 unit::expect_equal(a.ended, 1524619590);
             }
         }},
        {"an error of the conductor ends it, without any event of the host",
         [] {
             const auto a = action_with(event("rebuild_server", "Error"), "\"Error\"");
             unit::expect(a.finished && !a.succeeded, "failed");
             unit::expect_contains(a.message, "rebuild_server");
         }},
        {"an error of the host",
         [] {
             const auto a = action_with(event("compute_rebuild_instance", "Error"), "\"Error\"");
             unit::expect(a.finished && !a.succeeded && !a.message.empty(), "failed");
         }},
        {"an error while another event still runs is not the end",
         [] {
             unit::expect(!action_with(event("rebuild_server", "Error") + "," +
                                       event("compute_rebuild_instance", ""))
                               .finished,
                          "runs");
         }},
        {"without events (before 2.51) nothing is concluded",
         [] {
             const auto a = parse_action(action_text("null", ""));
             unit::expect(!a->events_shown && !a->finished, "not said");
         }},
        {"a list of actions",
         [] {
             const auto all =
                 parse_actions(R"({"instanceActions":[{"action":"stop","request_id":"req-2",
                 "start_time":"2018-04-25T01:26:29.0"},{"action":"create","request_id":"req-1"}]})");
             unit::expect_equal(all->size(), 2U);
             unit::expect_equal(all->front().name, "stop");
         }},
    };
}

std::vector<unit::Rule> other_rules() {
    return {
        {"an image with its own properties, at the top level as glance writes them",
         [] {
             const auto i = parse_image(
                 R"({"id":"1","name":"v2","status":"active","min_disk":10,"os_hidden":true,
                                           "cohort_stamp":"r2","size":7,"tags":[]})");
             unit::expect_equal(i->property("cohort_stamp"), "r2");
             unit::expect_equal(i->property("nothing"), "");
             unit::expect_equal(i->min_disk_gb, 10);
             unit::expect(i->active() && i->hidden, "active and hidden");
         }},
        {"glance's relative link",
         [] {
             unit::expect_equal(parse_images(R"({"images":[],"next":"/v2/images?marker=1"})")->next,
                                "/v2/images?marker=1");
         }},
        {"nova's, keystone's and glance's errors, and HTML",
         [] {
             unit::expect_equal(
                 error_sentence(
                     R"({"conflictingRequest":{"code":409,"message":"Instance x is locked"}})"),
                 "Instance x is locked");
             unit::expect_equal(
                 error_sentence(
                     R"({"error":{"code":401,"message":"Requires authentication.","title":"Unauthorized"}})"),
                 "Requires authentication");
             unit::expect_equal(
                 error_sentence(
                     R"({"message":"No image found<br /><br />\n\n\n","code":"404 Not Found"})"),
                 "No image found");
             unit::expect_equal(
                 error_sentence(
                     "<html><title>503 x</title><body><h1>Service\nUnavailable</h1></body></html>"),
                 "503 x Service Unavailable");
             unit::expect_equal(error_sentence(R"({"errors":[{"status":406,"detail":"Too new"}]})"),
                                "Too new");
             unit::expect_equal(error_sentence(""), "");
             unit::expect_equal(error_sentence("[1]"), "");
         }},
        {"an error's sentence is short and one line",
         [] {
             const auto s =
                 error_sentence("{\"x\":{\"message\":\"" + std::string(5000, 'a') + "\"}}");
             unit::expect(s.size() <= 300, "short");
         }},
        {"version documents: one, a list, keystone's list, empty strings",
         [] {
             unit::expect_equal(
                 parse_versions(R"({"version":{"id":"v2.1","version":"2.93","min_version":"2.1"}})")
                     ->front()
                     .max,
                 "2.93");
             unit::expect_equal(
                 parse_versions(
                     R"({"versions":[{"id":"v2.0","version":""},{"id":"v2.1","version":"2.53"}]})")
                     ->back()
                     .max,
                 "2.53");
             unit::expect_equal(
                 parse_versions(R"({"versions":{"values":[{"id":"v3.14"}]}})")->front().id,
                 "v3.14");
             unit::expect(!parse_versions(R"({"versions":[]})"), "none");
         }},
        {"2.9 is older than 2.10, and nothing older than both",
         [] {
             unit::expect_equal(compare_versions("2.9", "2.10"), -1);
             unit::expect_equal(compare_versions("2.93", "2.93"), 0);
             unit::expect_equal(compare_versions("2.1", ""), 1);
         }},
        {"a UUID is one",
         [] {
             unit::expect(is_uuid(id) && is_uuid("0E12087A-7C87-476A-8F84-7398E991CECC"), "yes");
             for (const char* bad :
                  {"", "openhpc-RL9", "0e12087a7c87476a8f847398e991cecc",
                   "0e12087a-7c87-476a-8f84-7398e991cecg", "0e12087a-7c87-476a-8f84-7398e991cecc "})
                 unit::expect(!is_uuid(bad), bad);
         }},
    };
}

}  // namespace

int main() {
    auto all = server_rules();
    for (auto& rule : action_rules()) all.push_back(std::move(rule));
    for (auto& rule : other_rules()) all.push_back(std::move(rule));
    return unit::run("openstack answers", std::move(all));
}
