// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/revision.hpp"

#include <algorithm>
#include <functional>

#include <fmt/core.h>

#include "common/profile_names.hpp"
#include "common/sha256.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::string_view first_line = "flox-runtime-revision/1\n";
constexpr std::string_view name_prefix = "rev_";
constexpr std::size_t name_digits = 16;
constexpr std::size_t max_value = 4096;

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

// All numbers here count things that a worker has at least one of.
Normalised number(std::string_view v) {
    const auto n = text::to_number(v);
    if (!n || *n == 0) return expects("a whole number of 1 or more");
    return fmt::format("{}", *n);
}

bool is_name_part(std::string_view v) {
    return !v.empty() && v[0] != '.' && std::all_of(v.begin(), v.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    });
}

Normalised environment(std::string_view v) {
    const auto slash = v.find('/');
    if (slash == std::string_view::npos || !is_name_part(v.substr(0, slash)) ||
        !is_name_part(v.substr(slash + 1)))
        return expects("owner/name (the generation is a setting of its own)");
    return std::string(v);
}

Normalised mode(std::string_view v) {
    if (v != "run" && v != "dev" && v != "build") return expects("run, dev or build");
    return std::string(v);
}

using ItemRule = const char* (*)(std::string_view);  // nullptr: fine; else what is wrong

Normalised list(std::string_view v, ItemRule wrong) {
    auto items = text::split(v, ',');
    for (const auto& item : items)
        if (const char* what = wrong(item)) return expects(fmt::format("{} ('{}')", what, item));
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return text::join(items, ",");
}

// The two containers that make the runtime cannot be left out of it.
Normalised containers(std::string_view v) {
    return list(v, [](std::string_view item) -> const char* {
        if (item.find_first_of(" \t") != std::string_view::npos)
            return "a comma-separated list of container names";
        if (item == "slurmd" || item == "flox-task-profile-init")
            return "a list without the containers that make the runtime";
        return nullptr;
    });
}

Normalised exports(std::string_view v) {
    return list(v, [](std::string_view item) -> const char* {
        if (!is_variable_name(item)) return "a comma-separated list of variable names";
        return is_reserved_variable(item) ? "a list without reserved names" : nullptr;
    });
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
    {"worker_image", word},    {"flox_env", environment},       {"flox_generation", number},
    {"activate_mode", mode},   {"skip_containers", containers}, {"profile_schema", number},
    {"env_exports", exports},  {"path_precedence", precedence}, {"worker_cpus", number},
    {"worker_mem_mb", number}, {"home_path", directory},
};

bool has_control(std::string_view v) {
    return std::any_of(v.begin(), v.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Status check_raw(const RevisionSettings& settings) {
    const auto& known = revision_keys();
    for (const auto& [key, value] : settings) {
        if (std::find(known.begin(), known.end(), key) == known.end())
            return fail(Errc::invalid, fmt::format("{} is not a setting of the runtime revision; "
                                                   "the nearest is {}",
                                                   key, text::nearest(key, known)));
        if (has_control(value))
            return fail(Errc::invalid, fmt::format("{} contains a control character", key));
        if (value.size() > max_value)
            return fail(Errc::invalid, fmt::format("{} is longer than {} bytes", key, max_value));
    }
    // A name without a generation means other contents tomorrow.
    if (settings.contains("flox_env") != settings.contains("flox_generation"))
        return fail(Errc::invalid,
                    "flox_env and flox_generation go together: an environment is pinned to one "
                    "generation");
    return {};
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
    if (const auto raw = check_raw(settings); !raw) return tl::unexpected<Error>(raw.error());
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

Result<RevisionSettings> parse_canonical(std::string_view canonical_text) {
    const auto broken = [] {
        return fail(Errc::invalid, "the settings are not a canonical text of this project");
    };
    if (!canonical_text.starts_with(first_line)) return broken();
    RevisionSettings settings;
    std::string_view rest = canonical_text.substr(first_line.size());
    while (!rest.empty()) {
        const auto equals = rest.find('=');
        const auto colon = rest.find(':');
        if (equals == std::string_view::npos || colon == std::string_view::npos || colon < equals)
            return broken();
        const auto size = text::to_number(rest.substr(equals + 1, colon - equals - 1));
        if (!size || *size > max_value || rest.size() < colon + 2 + *size ||
            rest[colon + 1 + *size] != '\n')
            return broken();
        settings.emplace(rest.substr(0, equals), rest.substr(colon + 1, *size));
        rest.remove_prefix(colon + 2 + *size);
    }
    const auto again = canonical_settings(settings);
    if (!again || *again != canonical_text) return broken();
    return settings;
}

std::string revision_hash(std::string_view canonical_text) {
    return sha256_hex(canonical_text);
}

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
