// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/node_record.hpp"

#include <vector>

#include <fmt/core.h>

#include "common/json.hpp"
#include "common/revision.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr const char* key_revision = "cohort_rev";
constexpr const char* key_root = "cohort_root";
constexpr const char* key_want = "cohort_want";
constexpr const char* key_out = "cohort_out";
constexpr const char* key_hold = "cohort_hold";

Result<Json> parse_object(std::string_view extra) {
    if (text::trim(extra).empty()) return json::object();
    auto value = json::parse(extra, "Extra");
    if (!value) return value;
    if (!json_is_object(value->get()))
        return fail(Errc::invalid, "Extra is not a JSON object: it is used for something else");
    return value;
}

Want parse_want(const json_t* j) {
    Want want;
    want.image = json::string(j, "image");
    want.stamp = json::string(j, "stamp");
    want.revision = json::string(j, "rev");
    want.action = json::string(j, "act");
    want.request = json::string(j, "request");
    want.at = json::integer(j, "at").value_or(0);
    want.from = json::string(j, "from");
    want.root = json::string(j, "root");
    want.result = json::string(j, "result");
    return want;
}

Json write_want(const Want& want) {
    Json j = json::object();
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty()) json::set(j.get(), key, value);
    };
    put("image", want.image);
    put("stamp", want.stamp);
    put("rev", want.revision);
    put("act", want.action);
    put("request", want.request);
    json::set(j.get(), "at", want.at);
    put("from", want.from);
    put("root", want.root);
    put("result", want.result);
    return j;
}

void put_or_remove(json_t* object, const char* key, const std::string& value) {
    if (value.empty()) {
        json_object_del(object, key);
    } else {
        json::set(object, key, value);
    }
}

std::string write_record(json_t* object, const NodeRecord& record) {
    put_or_remove(object, key_revision, record.revision);
    put_or_remove(object, key_root, record.root);
    put_or_remove(object, key_out, record.out_reason);
    put_or_remove(object, key_hold, record.hold);
    json_object_del(object, key_want);
    if (record.want) json::set(object, key_want, write_want(*record.want));
    return json_object_size(object) == 0 ? std::string() : json::dump(object);
}

}  // namespace

Result<NodeRecord> parse_extra(std::string_view extra) {
    auto object = parse_object(extra);
    if (!object) return tl::unexpected(object.error());
    NodeRecord record;
    record.revision = json::string(object->get(), key_revision);
    if (!is_revision_name(record.revision)) record.revision.clear();
    record.root = json::string(object->get(), key_root);
    record.out_reason = json::string(object->get(), key_out);
    record.hold = json::string(object->get(), key_hold);
    if (const json_t* want = json::get(object->get(), key_want); json_is_object(want))
        record.want = parse_want(want);
    return record;
}

Result<std::string> merge_extra(std::string_view extra, const NodeRecord& record) {
    auto object = parse_object(extra);
    if (!object) return tl::unexpected(object.error());
    NodeRecord shortened = record;
    // Slurm takes more, but a register that every node query carries must stay small.
    for (const std::size_t room : {200UL, 120UL, 60UL, 20UL}) {
        shortened.out_reason = text::one_line(record.out_reason, room);
        if (shortened.want) shortened.want->result = text::one_line(record.want->result, room);
        std::string written = write_record(object->get(), shortened);
        if (written.size() <= max_extra_bytes) return written;
    }
    return fail(Errc::failed,
                fmt::format("a node's Extra would pass {} bytes: shorten what else is kept in it",
                            max_extra_bytes));
}

std::string merge_features(std::string_view features, std::string_view revision) {
    std::vector<std::string> kept;
    for (auto& feature : text::split(features, ','))
        if (!is_revision_name(feature)) kept.push_back(std::move(feature));
    if (!revision.empty()) kept.emplace_back(revision);
    return text::join(kept, ",");
}

bool is_our_reason(std::string_view reason) {
    return reason.starts_with(reason_prefix);
}

std::string hold_reason(std::string_view hold) {
    return fmt::format("{} holds it", hold);
}

}  // namespace cohort
