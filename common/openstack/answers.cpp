// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/answers.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/openstack/retry.hpp"
#include "common/text.hpp"

namespace cohort::openstack {
namespace {

constexpr std::size_t sentence_bytes = 300;

tl::unexpected<Error> unusable(std::string_view what) {
    return fail(Errc::unreachable,
                fmt::format("the answer holds no {}: is the endpoint right?", what));
}

Result<Json> parsed(std::string_view body) {
    auto json = json::parse(body, "the answer");
    if (!json) return fail(Errc::unreachable, json.error().message);
    return json;
}

Server server_of(const json_t* j) {
    Server s;
    s.id = json::string(j, "id");
    s.name = json::string(j, "name");
    s.status = json::string(j, "status");
    s.task_state = json::string(j, "OS-EXT-STS:task_state");
    // "" (not an object) is a volume-backed server's image; absent: nova could not tell (a cell is
    // down), which is no statement about the server at all.
    const json_t* image = json::get(j, "image");
    s.image_id = json::string(image, "id");
    s.volume_backed = json_is_string(image);
    s.locked = json::boolean(j, "locked", false);
    s.locked_reason = text::one_line(json::string(j, "locked_reason"), sentence_bytes);
    s.fault = text::one_line(json::string(json::get(j, "fault"), "message"), sentence_bytes);
    const json_t* flavor = json::get(j, "flavor");  // in full from 2.47 on
    s.disk_gb = json::integer(flavor, "disk").value_or(0);
    s.ram_mb = json::integer(flavor, "ram").value_or(0);
    const char* key = nullptr;
    json_t* value = nullptr;
    json_object_foreach(const_cast<json_t*>(json::get(j, "metadata")), key, value) s.metadata[key] =
        json::string(json::get(j, "metadata"), key);
    return s;
}

Image image_of(const json_t* j) {
    Image image;
    image.id = json::string(j, "id");
    image.name = json::string(j, "name");
    image.status = json::string(j, "status");
    image.hidden = json::boolean(j, "os_hidden", false);
    image.min_disk_gb = json::integer(j, "min_disk").value_or(0);
    image.min_ram_mb = json::integer(j, "min_ram").value_or(0);
    image.bytes = std::max(json::integer(j, "size").value_or(0),
                           json::integer(j, "virtual_size").value_or(0));
    const char* key = nullptr;
    json_t* value = nullptr;
    json_object_foreach(const_cast<json_t*>(j), key, value) if (json_is_string(value))
        image.properties[key] = json::string(j, key);
    return image;
}

Action action_of(const json_t* j) {
    Action a;
    a.request_id = json::string(j, "request_id");
    a.name = json::string(j, "action");
    a.found = !a.request_id.empty();
    a.started_ms = parse_iso_millis(json::string(j, "start_time")).value_or(0);
    a.started = a.started_ms / 1000;
    return a;
}

// nova has no "the action ended": its events tell. The conductor's event ends before the compute
// host's begins, so a finished one alone proves nothing; an error in any of them ends the action,
// and so does the compute host's.
void judge_events(Action& a, const json_t* events, bool error) {
    bool running = false, done = false;
    std::size_t i = 0;
    json_t* e = nullptr;
    json_array_foreach(events, i, e) {
        const auto ended = parse_iso_time(json::string(e, "finish_time"));
        const std::string result = json::string(e, "result");
        const std::string event = json::string(e, "event");
        if (!ended) {
            running = true;
            continue;
        }
        a.ended = std::max(a.ended, *ended);
        if (text::iequals(result, "error")) {
            error = true;
            if (a.message.empty())
                a.message = text::one_line(json::string(e, "details"), sentence_bytes);
            if (a.message.empty()) a.message = fmt::format("nova's step {} failed", event);
        } else if (event.starts_with("compute_")) {
            done = true;
        }
    }
    a.finished = !running && (done || error);
    a.succeeded = a.finished && !error;
    if (a.succeeded) a.message.clear();
    if (a.finished && error && a.message.empty()) a.message = "nova says: Error";
}

template <class T, class Parse>
Result<Page<T>> page_of(std::string_view body, const char* key, Parse parse) {
    auto root = parsed(body);
    if (!root) return tl::unexpected(root.error());
    const json_t* list = json::get(root->get(), key);
    if (!json_is_array(list)) return unusable(key);
    Page<T> page;
    std::size_t i = 0;
    json_t* item = nullptr;
    json_array_foreach(list, i, item) page.items.push_back(parse(item));
    json_array_foreach(json::get(root->get(), "servers_links"), i,
                       item) if (json::string(item, "rel") == "next") page.next =
        json::string(item, "href");
    if (page.next.empty()) page.next = json::string(root->get(), "next");
    return page;
}

// The text of an HTML page without its tags.
std::string without_tags(std::string_view html) {
    std::string out;
    bool inside = false;
    for (const char c : html.substr(0, 4096)) {
        if (c == '<') inside = true;
        if (!inside) out += c;
        if (c == '>') {
            inside = false;
            out += ' ';
        }
    }
    return text::join(text::words(out), " ");
}

}  // namespace

Result<Server> parse_server(std::string_view body) {
    auto root = parsed(body);
    if (!root) return tl::unexpected(root.error());
    const json_t* server = json::get(root->get(), "server");
    if (json::string(server, "id").empty()) return unusable("server");
    return server_of(server);
}

Result<Page<Server>> parse_servers(std::string_view body) {
    return page_of<Server>(body, "servers", server_of);
}

Result<std::string> parse_created(std::string_view body) {
    auto root = parsed(body);
    if (!root) return tl::unexpected(root.error());
    const std::string id = json::string(json::get(root->get(), "server"), "id");
    if (id.empty()) return unusable("server");
    return id;
}

Result<Image> parse_image(std::string_view body) {
    auto root = parsed(body);
    if (!root) return tl::unexpected(root.error());
    if (json::string(root->get(), "id").empty()) return unusable("image");
    return image_of(root->get());
}

Result<Page<Image>> parse_images(std::string_view body) {
    return page_of<Image>(body, "images", image_of);
}

Result<Action> parse_action(std::string_view body) {
    auto root = parsed(body);
    if (!root) return tl::unexpected(root.error());
    const json_t* j = json::get(root->get(), "instanceAction");
    Action a = action_of(j);
    if (!a.found) return unusable("instanceAction");
    a.events_shown = json_is_array(json::get(j, "events"));
    judge_events(a, json::get(j, "events"), text::iequals(json::string(j, "message"), "error"));
    return a;
}

Result<std::vector<Action>> parse_actions(std::string_view body) {
    auto page = page_of<Action>(body, "instanceActions", action_of);
    if (!page) return tl::unexpected(page.error());
    return std::move(page->items);
}

std::string error_sentence(std::string_view body) {
    // No name: the error of parsing is not shown.
    auto root = json::parse(body, "");
    if (!root) return text::one_line(without_tags(body), sentence_bytes);
    std::string sentence = json::string(root->get(), "message");
    const char* key = nullptr;
    json_t* value = nullptr;
    if (sentence.empty() && json_is_object(root->get()))
        json_object_foreach(root->get(), key, value) if (sentence.empty()) sentence =
            json::string(value, "message");
    // Microversion errors have a list of their own.
    const json_t* errors = json::get(root->get(), "errors");
    if (sentence.empty()) sentence = json::string(json_array_get(errors, 0), "detail");
    // glance's messages hold HTML too. The sentence goes into one of ours: no full stop.
    sentence = without_tags(sentence);
    if (sentence.ends_with('.')) sentence.pop_back();
    return text::one_line(sentence, sentence_bytes);
}

Result<std::vector<Versions>> parse_versions(std::string_view body) {
    auto root = parsed(body);
    if (!root) return tl::unexpected(root.error());
    std::vector<Versions> found;
    const auto add = [&found](const json_t* v) {
        Versions one;
        one.id = json::string(v, "id");
        one.max = json::string(v, "version");
        if (one.max.empty()) one.max = json::string(v, "max_version");
        one.min = json::string(v, "min_version");
        if (!one.id.empty()) found.push_back(std::move(one));
    };
    add(json::get(root->get(), "version"));
    const json_t* list = json::get(root->get(), "versions");
    if (json_is_object(list)) list = json::get(list, "values");  // keystone's form
    std::size_t i = 0;
    json_t* item = nullptr;
    json_array_foreach(list, i, item) add(item);
    if (found.empty()) return unusable("version");
    return found;
}

int compare_versions(std::string_view a, std::string_view b) {
    const auto left = text::split(a, '.'), right = text::split(b, '.');
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        const auto l = i < left.size() ? text::to_number(left[i]).value_or(0) : 0;
        const auto r = i < right.size() ? text::to_number(right[i]).value_or(0) : 0;
        if (l != r) return l < r ? -1 : 1;
    }
    return 0;
}

bool is_uuid(std::string_view s) {
    if (s.size() != 36) return false;
    for (std::size_t i = 0; i < s.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        const bool hex = (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f') ||
                         (s[i] >= 'A' && s[i] <= 'F');
        if (dash ? s[i] != '-' : !hex) return false;
    }
    return true;
}

}  // namespace cohort::openstack
