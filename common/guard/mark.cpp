// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/mark.hpp"

#include "common/json.hpp"
#include "common/text.hpp"

namespace cohort::guard {
namespace {

constexpr const char* key_ours = "cohort";
constexpr const char* key_comment = "comment";

Json parse_object(std::string_view admin_comment) {
    auto parsed = json::parse(admin_comment, "admin_comment");
    if (!parsed || !json_is_object(parsed->get())) return nullptr;
    return std::move(*parsed);
}

void put(json_t* object, const char* key, const std::string& value) {
    if (!value.empty()) json::set(object, key, value);
}

}  // namespace

std::optional<Mark> parse_guard_mark(std::string_view admin_comment) {
    // Cheap way out: this runs for every job of a cluster.
    if (admin_comment.find("\"cohort\"") == std::string_view::npos) return std::nullopt;
    const Json object = parse_object(admin_comment);
    const json_t* ours = json::get(object.get(), key_ours);
    const std::string kind = json::string(ours, "kind");
    if (kind != "bound" && kind != "own") return std::nullopt;
    Mark mark;
    mark.own = kind == "own";
    mark.features = json::string(ours, "features");
    mark.prefer = json::string(ours, "prefer");
    mark.now = json::string(ours, "now");
    mark.now_prefer = json::string(ours, "now_prefer");
    mark.held = json::string(ours, "held");
    mark.rounds = static_cast<std::uint32_t>(json::integer(ours, "rounds").value_or(0));
    mark.restart = json::boolean(ours, "restart", false);
    return mark;
}

std::string write_guard_mark(std::string_view admin_comment, const Mark& mark) {
    Json object = parse_object(admin_comment);
    if (!object) {
        object = json::object();
        if (const auto comment = text::trim(admin_comment); !comment.empty())
            json::set(object.get(), key_comment, comment);
    }
    Json ours = json::object();
    json::set(ours.get(), "kind", mark.own ? "own" : "bound");
    put(ours.get(), "features", mark.features);
    put(ours.get(), "prefer", mark.prefer);
    put(ours.get(), "now", mark.now);
    put(ours.get(), "now_prefer", mark.now_prefer);
    put(ours.get(), "held", mark.held);
    if (mark.rounds > 0) json_object_set_new(ours.get(), "rounds", json_integer(mark.rounds));
    if (mark.restart) json_object_set_new(ours.get(), "restart", json_true());
    json::set(object.get(), key_ours, std::move(ours));
    return json::dump(object.get());
}

std::string remove_guard_mark(std::string_view admin_comment) {
    if (!parse_guard_mark(admin_comment)) return std::string(admin_comment);
    const Json object = parse_object(admin_comment);
    json_object_del(object.get(), key_ours);
    if (json_object_size(object.get()) == 0) return {};
    const std::string comment = json::string(object.get(), key_comment);
    if (json_object_size(object.get()) == 1 && !comment.empty()) return comment;
    return json::dump(object.get());
}

}  // namespace cohort::guard
