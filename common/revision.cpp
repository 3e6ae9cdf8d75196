// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/revision.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "common/sha256.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::string_view first_line = "flox-runtime-revision/1\n";
constexpr std::string_view name_prefix = "rev_";
constexpr std::size_t name_digits = 16;

// A normaliser returns the one spelling of a value, or says what it expects.
using Normalised = tl::expected<std::string, std::string>;
using Normaliser = Normalised (*)(std::string_view);

tl::unexpected<std::string> expects(std::string what) {
    return tl::unexpected<std::string>("expects " + std::move(what));
}

Normalised word(std::string_view v) {
    if (v.empty() || v.find_first_of(" \t") != std::string_view::npos)
        return expects("one word without spaces");
    return std::string(v);
}

Normalised number(std::string_view v) {
    const auto n = text::to_number(v);
    if (!n) return expects("a whole number");
    return fmt::format("{}", *n);
}

Normalised list(std::string_view v) {
    auto items = text::split(v, ',');
    for (const auto& item : items)
        if (item.find_first_of(" \t") != std::string::npos)
            return expects("a comma-separated list of words");
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return text::join(items, ",");
}

Normalised precedence(std::string_view v) {
    if (v != "prepend" && v != "append") return expects("prepend or append");
    return std::string(v);
}

// Absolute, no trailing slash; explicitly empty means: no shared home.
Normalised directory(std::string_view v) {
    if (v.empty()) return std::string();
    if (v[0] != '/') return expects("an absolute path, or nothing");
    std::string path;
    for (const char c : v)
        if (c != '/' || path.empty() || path.back() != '/') path += c;
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    for (const auto& part : text::split(path, '/'))
        if (part == "." || part == "..") return expects("a path without . and ..");
    return path;
}

struct KeyRule {
    std::string_view name;
    Normaliser normalise;
};

constexpr KeyRule rules[] = {
    {"worker_image", word},   {"flox_env", word},          {"flox_generation", number},
    {"activate_mode", word},  {"skip_containers", list},   {"profile_schema", number},
    {"env_exports", list},    {"path_precedence", precedence}, {"worker_cpus", number},
    {"worker_mem_mb", number}, {"home_path", directory},
};

bool has_control(std::string_view v) {
    return std::any_of(v.begin(), v.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

const std::vector<std::string_view>& revision_keys() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        for (const auto& rule : rules) all.push_back(rule.name);
        return all;
    }();
    return names;
}

Result<std::string> canonical_settings(const RevisionSettings& settings) {
    for (const auto& [key, value] : settings) {
        const auto& known = revision_keys();
        if (std::find(known.begin(), known.end(), key) == known.end())
            return fail(Errc::invalid, fmt::format("{} is not a setting of the runtime revision; "
                                                   "the nearest is {}",
                                                   key, text::nearest(key, known)));
        if (has_control(value))
            return fail(Errc::invalid, fmt::format("{} contains a control character", key));
    }
    std::string canonical(first_line);
    for (const auto& rule : rules) {
        const auto found = settings.find(rule.name);
        if (found == settings.end()) continue;
        const auto value = rule.normalise(text::trim(found->second));
        if (!value)
            return fail(Errc::invalid,
                        fmt::format("{}={}: {}", rule.name, found->second, value.error()));
        canonical += fmt::format("{}={}:{}\n", rule.name, value->size(), *value);
    }
    return canonical;
}

std::string revision_hash(std::string_view canonical_text) { return sha256_hex(canonical_text); }

std::string revision_name(std::string_view hash) {
    return std::string(name_prefix) + std::string(hash.substr(0, name_digits));
}

bool is_revision_name(std::string_view name) {
    if (!name.starts_with(name_prefix) || name.size() != name_prefix.size() + name_digits)
        return false;
    return name.find_first_not_of("0123456789abcdef", name_prefix.size()) == std::string_view::npos;
}

std::string revision_name_of_stamp(const std::string& stamp) {
    const auto canonical = canonical_settings({{"worker_image", stamp}});
    return canonical ? revision_name(revision_hash(*canonical)) : std::string();
}

}  // namespace cohort
