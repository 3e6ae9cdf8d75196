// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/rebuild_mark.hpp"

#include "common/json.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr const char* key_ours = "cohort";
constexpr std::string_view kind_rebuild = "rebuild";
constexpr std::string_view kind_rollout = "rollout";

Json parse_object(std::string_view admin_comment) {
    auto parsed = json::parse(admin_comment, "admin_comment");
    if (!parsed || !json_is_object(parsed->get())) return nullptr;
    return std::move(*parsed);
}

}  // namespace

std::optional<RebuildMark> parse_mark(std::string_view admin_comment) {
    // Cheap way out: this runs for every job of a cluster.
    if (admin_comment.find("\"cohort\"") == std::string_view::npos) return std::nullopt;
    const Json object = parse_object(admin_comment);
    const json_t* ours = json::get(object.get(), key_ours);
    if (json::string(ours, "kind") != kind_rebuild) return std::nullopt;
    RebuildMark mark;
    mark.node = json::string(ours, "node");
    mark.priority = static_cast<std::uint32_t>(json::integer(ours, "priority").value_or(0));
    mark.held = json::string(ours, "held");
    mark.rollout = json::integer(ours, "rollout").value_or(0);
    if (mark.node.empty()) return std::nullopt;
    return mark;
}

std::string write_mark(std::string_view admin_comment, const RebuildMark& mark) {
    Json object = parse_object(admin_comment);
    if (!object) {
        object = json::object();
        if (const auto comment = text::trim(admin_comment); !comment.empty())
            json::set(object.get(), "comment", comment);
    }
    Json ours = json::object();
    json::set(ours.get(), "kind", kind_rebuild);
    json::set(ours.get(), "node", mark.node);
    json::set(ours.get(), "priority", std::int64_t{mark.priority});
    if (!mark.held.empty()) json::set(ours.get(), "held", mark.held);
    if (mark.rollout != 0) json::set(ours.get(), "rollout", mark.rollout);
    json::set(object.get(), key_ours, std::move(ours));
    return json::dump(object.get());
}

std::optional<RolloutAsk> parse_ask(std::string_view admin_comment) {
    if (admin_comment.find("\"cohort\"") == std::string_view::npos) return std::nullopt;
    const Json object = parse_object(admin_comment);
    const json_t* ours = json::get(object.get(), key_ours);
    if (json::string(ours, "kind") != kind_rollout) return std::nullopt;
    return RolloutAsk{json::integer(ours, "rollout").value_or(0),
                      json::boolean(ours, "test", false)};
}

std::string write_ask(const RolloutAsk& ask) {
    Json ours = json::object();
    json::set(ours.get(), "kind", kind_rollout);
    json::set(ours.get(), "rollout", ask.rollout);
    if (ask.test) json::set(ours.get(), "test", true);
    const Json object = json::object();
    json::set(object.get(), key_ours, std::move(ours));
    return json::dump(object.get());
}

std::string remove_mark(std::string_view admin_comment) {
    if (!parse_mark(admin_comment)) return std::string(admin_comment);
    const Json object = parse_object(admin_comment);
    json_object_del(object.get(), key_ours);
    return json_object_size(object.get()) == 0 ? std::string() : json::dump(object.get());
}

}  // namespace cohort
