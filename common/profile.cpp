// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/profile.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "common/profile_names.hpp"
#include "common/sha256.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::size_t hash_digits = 64;

tl::unexpected<Error> damaged(std::string sentence) {
    return fail(Errc::invalid, std::move(sentence));
}

const std::string& file(const ProfileFiles& files, std::string_view name) {
    static const std::string none;
    const auto found = files.find(name);
    return found == files.end() ? none : found->second;
}

bool is_hash(std::string_view s) {
    return s.size() == hash_digits &&
           s.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::string_view> lines_of(std::string_view content) {
    std::vector<std::string_view> lines;
    while (!content.empty()) {
        const auto end = content.find('\n');
        lines.push_back(content.substr(0, end));
        if (end == std::string_view::npos) break;
        content.remove_prefix(end + 1);
    }
    return lines;
}

std::string lines_text(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    return text;
}

std::string one_value(const std::string& value) {
    return value.empty() ? "" : value + "\n";
}

// What every file has to be before its meaning is looked at.
Status check_content(std::string_view name, std::string_view content) {
    if (content.size() > max_profile_file)
        return damaged(fmt::format("{} is larger than {} bytes", name, max_profile_file));
    if (content.find('\0') != std::string_view::npos)
        return damaged(fmt::format("{} contains a NUL byte", name));
    if (content.find('\r') != std::string_view::npos)
        return damaged(fmt::format("{} has carriage returns (written by another system?)", name));
    if (!content.empty() && content.back() != '\n')
        return damaged(fmt::format("{} does not end with a newline", name));
    return {};
}

Status check_sizes(const ProfileFiles& files) {
    std::size_t total = 0;
    for (const auto name : profile_file_names) {
        if (!files.contains(name)) return damaged(fmt::format("{} is missing", name));
        const auto& content = file(files, name);
        if (auto fine = check_content(name, content); !fine) return fine;
        total += content.size();
    }
    if (total > max_profile_total)
        return damaged(fmt::format("the profile is larger than {} bytes", max_profile_total));
    return {};
}

std::string seal_line(std::string_view name, std::string_view content) {
    return fmt::format("{} {} {}", sha256_hex(content), content.size(), name);
}

Status check_seal(const ProfileFiles& files, std::string_view seal) {
    const auto lines = lines_of(seal);
    const std::string end = fmt::format("end {}", profile_file_names.size());
    if (seal.empty()) return damaged("revision is empty: the profile was not completed");
    if (!is_hash(lines[0])) return damaged("revision does not begin with a hash");
    if (lines.size() != profile_file_names.size() + 2 || lines.back() != end || seal.back() != '\n')
        return damaged("revision is cut short: the profile was not completed");
    for (std::size_t i = 0; i < profile_file_names.size(); ++i) {
        const auto name = profile_file_names[i];
        const auto& content = file(files, name);
        const auto fields = text::words(lines[i + 1]);
        if (fields.size() != 3 || fields[2] != name)
            return damaged(fmt::format("revision does not seal {}", name));
        if (fields[1] != fmt::format("{}", content.size()))
            return damaged(fmt::format("{} has {} bytes, it was sealed with {}", name,
                                       content.size(), fields[1]));
        if (lines[i + 1] != seal_line(name, content))
            return damaged(fmt::format("{} was changed after it was sealed", name));
    }
    if (lines[0] != sha256_hex(file(files, "settings")))
        return damaged("the revision is not the hash of the settings");
    return {};
}

Result<std::string> parse_value(const ProfileFiles& files, std::string_view name) {
    const auto lines = lines_of(file(files, name));
    if (lines.empty()) return std::string();
    if (lines.size() > 1) return damaged(fmt::format("{} has more than one line", name));
    return std::string(lines[0]);
}

bool is_plain_path(std::string_view path) {
    if (path.empty() || path[0] != '/' || path.find_first_of(":\n") != std::string_view::npos)
        return false;
    const auto parts = text::split(path, '/');
    return std::none_of(parts.begin(), parts.end(),
                        [](const std::string& p) { return p == "." || p == ".."; });
}

Status check_path(const Profile& profile) {
    if (!profile.env_path.empty() && !is_plain_path(profile.env_path))
        return damaged(fmt::format("env-path is not a plain absolute path: {}", profile.env_path));
    std::set<std::string_view> seen;
    for (const auto& entry : profile.path) {
        if (!is_plain_path(entry))
            return damaged(
                fmt::format("path has an entry that is not a plain absolute path: '{}'", entry));
        if (profile.env_path.empty() ||
            (entry != profile.env_path && !entry.starts_with(profile.env_path + "/")))
            return damaged(fmt::format("path has an entry outside of the environment: {}", entry));
        if (!seen.insert(entry).second) return damaged(fmt::format("path has {} twice", entry));
    }
    return {};
}

Status check_variable(std::string_view name, std::string_view value) {
    if (!is_variable_name(name))
        return damaged(
            fmt::format("vars has '{}', which is not a variable name", text::one_line(name, 40)));
    if (is_reserved_variable(name))
        return damaged(fmt::format("vars has {}, a reserved name", name));
    if (value.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos)
        return damaged(fmt::format("the value of {} has more than one line, or a NUL byte", name));
    return {};
}

Status parse_vars(const std::string& content, Profile& profile) {
    for (const auto line : lines_of(content)) {
        const auto equals = line.find('=');
        const auto name = line.substr(0, equals);
        if (equals == std::string_view::npos)
            profile.unset.emplace_back(name);
        else
            profile.vars.emplace_back(name, line.substr(equals + 1));
    }
    return {};
}

// The variables are exactly those that the settings allow.
Status check_vars(const Profile& profile, const std::string& allowed) {
    std::set<std::string> names;
    for (const auto& [name, value] : profile.vars) {
        if (auto fine = check_variable(name, value); !fine) return fine;
        if (!names.insert(name).second) return damaged(fmt::format("vars has {} twice", name));
    }
    for (const auto& name : profile.unset) {
        if (auto fine = check_variable(name, ""); !fine) return fine;
        if (!names.insert(name).second) return damaged(fmt::format("vars has {} twice", name));
    }
    const std::vector<std::string> sorted(names.begin(), names.end());
    if (text::join(sorted, ",") != allowed)
        return damaged(fmt::format("vars has not the variables of env_exports ({})",
                                   allowed.empty() ? "none" : allowed));
    return {};
}

std::string setting(const Profile& profile, std::string_view key) {
    const auto found = profile.settings.find(key);
    return found == profile.settings.end() ? std::string() : found->second;
}

// The files must not say anything that did not enter the revision.
Status check_agreement(const Profile& profile) {
    const std::string env = setting(profile, "flox_env");
    const std::string ref =
        env.empty() ? "" : fmt::format("{}:{}", env, setting(profile, "flox_generation"));
    if (profile.env_ref != ref)
        return damaged(fmt::format("env-ref is '{}', the settings say '{}'", profile.env_ref, ref));
    if (profile.mode != setting(profile, "activate_mode"))
        return damaged(fmt::format("mode is '{}', the settings say '{}'", profile.mode,
                                   setting(profile, "activate_mode")));
    if (profile.image != setting(profile, "worker_image"))
        return damaged(fmt::format("image is '{}', the settings say '{}'", profile.image,
                                   setting(profile, "worker_image")));
    if (env.empty() != profile.env_path.empty())
        return damaged(env.empty() ? "env-path names an environment, the settings do not"
                                   : "env-path is empty, the settings name an environment");
    const std::string schema = setting(profile, "profile_schema");
    if (!schema.empty() && schema != profile_schema)
        return damaged(fmt::format("the settings ask for profile schema {}, this is schema {}",
                                   schema, profile_schema));
    return {};
}

Status check_profile(const Profile& profile) {
    if (auto fine = check_agreement(profile); !fine) return fine;
    if (auto fine = check_path(profile); !fine) return fine;
    return check_vars(profile, setting(profile, "env_exports"));
}

}  // namespace

bool is_profile_file(std::string_view name) {
    return name == seal_name || std::find(profile_file_names.begin(), profile_file_names.end(),
                                          name) != profile_file_names.end();
}

Result<ProfileFiles> profile_files(const Profile& profile) {
    const auto canonical = canonical_settings(profile.settings);
    if (!canonical) return tl::unexpected<Error>(canonical.error());
    Profile checked = profile;
    checked.settings = parse_canonical(*canonical).value_or(RevisionSettings{});
    if (auto fine = check_profile(checked); !fine) return tl::unexpected<Error>(fine.error());
    std::vector<std::string> vars = profile.unset;
    for (const auto& [name, value] : profile.vars) vars.push_back(name + "=" + value);
    std::sort(vars.begin(), vars.end());
    ProfileFiles files{{"schema", one_value(std::string(profile_schema))},
                       {"settings", *canonical},
                       {"env-ref", one_value(profile.env_ref)},
                       {"mode", one_value(profile.mode)},
                       {"image", one_value(profile.image)},
                       {"env-path", one_value(profile.env_path)},
                       {"path", lines_text(profile.path)},
                       {"vars", lines_text(vars)}};
    if (auto fine = check_sizes(files); !fine) return tl::unexpected<Error>(fine.error());
    return files;
}

std::string make_seal(const ProfileFiles& files) {
    std::string seal = sha256_hex(file(files, "settings")) + "\n";
    for (const auto name : profile_file_names) seal += seal_line(name, file(files, name)) + "\n";
    return seal + fmt::format("end {}\n", profile_file_names.size());
}

Result<Profile> open_profile(const ProfileFiles& files, std::string_view seal) {
    if (auto fine = check_sizes(files); !fine) return tl::unexpected<Error>(fine.error());
    if (file(files, "schema") != one_value(std::string(profile_schema)))
        return damaged(fmt::format("schema is '{}', this program knows schema {}",
                                   text::one_line(text::trim(file(files, "schema")), 40),
                                   profile_schema));
    if (auto fine = check_seal(files, seal); !fine) return tl::unexpected<Error>(fine.error());
    Profile profile;
    auto settings = parse_canonical(file(files, "settings"));
    if (!settings) return tl::unexpected<Error>(settings.error());
    profile.settings = std::move(*settings);
    profile.hash = sha256_hex(file(files, "settings"));
    for (const auto& [name, target] :
         {std::pair<std::string_view, std::string*>{"env-ref", &profile.env_ref},
          {"mode", &profile.mode},
          {"image", &profile.image},
          {"env-path", &profile.env_path}}) {
        auto value = parse_value(files, name);
        if (!value) return tl::unexpected<Error>(value.error());
        *target = std::move(*value);
    }
    for (const auto line : lines_of(file(files, "path"))) profile.path.emplace_back(line);
    if (auto fine = parse_vars(file(files, "vars"), profile); !fine)
        return tl::unexpected<Error>(fine.error());
    if (auto fine = check_profile(profile); !fine) return tl::unexpected<Error>(fine.error());
    return profile;
}

}  // namespace cohort
