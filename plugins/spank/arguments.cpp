// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/spank/arguments.hpp"

#include <set>

#include <fmt/core.h>

#include "common/revision.hpp"
#include "common/text.hpp"

namespace cohort::spank {
namespace {

// A setter changes the arguments or says what it expects.
using Setter = const char* (*)(Arguments&, std::string_view);

bool is_absolute(std::string_view path) {
    return path.size() > 1 && path[0] == '/' && path.find("/../") == std::string_view::npos &&
           !path.ends_with("/..");
}

const char* set_profile(Arguments& a, std::string_view v) {
    if (v != "required" && v != "off") return "required or off";
    a.profile_required = v == "required";
    return nullptr;
}

const char* set_profile_dir(Arguments& a, std::string_view v) {
    if (!is_absolute(v)) return "an absolute path";
    a.profile_dir = v;
    return nullptr;
}

const char* set_path(Arguments& a, std::string_view v) {
    if (v != "prepend" && v != "append") return "prepend or append";
    a.order = v == "prepend" ? Order::prepend : Order::append;
    return nullptr;
}

const char* set_base_path(Arguments& a, std::string_view v) {
    const std::vector<std::string> parts = text::split(v, ':');
    if (parts.empty() || text::join(parts, ":") != v)
        return "absolute directories separated by single colons";
    for (const auto& part : parts)
        if (!is_absolute(part)) return "absolute directories separated by single colons";
    a.base_path = v;
    return nullptr;
}

const char* set_containers(Arguments& a, std::string_view v) {
    if (v != "skip" && v != "inject") return "skip or inject";
    a.skip_containers = v == "skip";
    return nullptr;
}

const char* set_expect_revision(Arguments& a, std::string_view v) {
    const bool hash =
        v.size() == 64 && v.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (!hash && !is_revision_name(v)) return "rev_ and 16 hexadecimal digits, or 64 digits";
    a.expect_revision = v;
    return nullptr;
}

const char* set_stamp_file(Arguments& a, std::string_view v) {
    if (!is_absolute(v)) return "an absolute path";
    a.stamp_file = v;
    return nullptr;
}

struct Key {
    std::string_view name;
    Setter set;
};

constexpr Key keys[] = {
    {"profile", set_profile},
    {"profile_dir", set_profile_dir},
    {"path", set_path},
    {"base_path", set_base_path},
    {"containers", set_containers},
    {"expect_revision", set_expect_revision},
    {"stamp_file", set_stamp_file},
};

tl::unexpected<Error> refuse(std::string why) {
    return fail(Errc::invalid, "plugstack.conf, spank_cohort.so: " + std::move(why));
}

const Key* find_key(std::string_view name) {
    for (const auto& key : keys)
        if (key.name == name) return &key;
    return nullptr;
}

std::string nearest_key(std::string_view name) {
    std::vector<std::string_view> names;
    for (const auto& key : keys) names.push_back(key.name);
    const auto near = text::nearest(name, names);
    return near.empty() ? "see spank_cohort(8)" : fmt::format("did you mean {}=?", near);
}

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string_view>& words) {
    Arguments arguments;
    std::set<std::string_view> seen;
    for (const auto word : words) {
        const auto equals = word.find('=');
        if (equals == std::string_view::npos)
            return refuse(fmt::format("'{}' is not key=value", word));
        const auto name = word.substr(0, equals);
        const auto value = word.substr(equals + 1);
        const Key* key = find_key(name);
        if (!key) return refuse(fmt::format("{}= is not known ({})", name, nearest_key(name)));
        if (!seen.insert(name).second) return refuse(fmt::format("{}= is given twice", name));
        if (const char* expected = key->set(arguments, value))
            return refuse(fmt::format("{}={}: expects {}", name, value, expected));
    }
    return arguments;
}

}  // namespace cohort::spank
