// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/profile_source.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::string_view digest_mark = "@sha256:";
constexpr std::size_t digest_digits = 64;

std::string value_of(const RevisionSettings& settings, std::string_view key) {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string() : found->second;
}

std::string variable(const Environment& environment, std::string_view name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
}

Result<std::string> realize(const std::string& flox_env) {
    if (flox_env.empty())
        return fail(Errc::invalid,
                    "the settings name a Flox environment but FLOX_ENV is not set: run this under "
                    "`flox activate`");
    std::error_code error;
    const auto real = std::filesystem::canonical(flox_env, error);
    if (error || !std::filesystem::is_directory(real, error))
        return fail(Errc::invalid,
                    fmt::format("the realized environment {} is not there", flox_env));
    return real.string();
}

Status fill_path(Profile& profile, const Environment& environment) {
    const std::string flox_env = variable(environment, "FLOX_ENV");
    auto realized = realize(flox_env);
    if (!realized) return tl::unexpected<Error>(realized.error());
    profile.env_path = std::move(*realized);
    profile.path =
        entries_of_environment(variable(environment, "PATH"), flox_env, profile.env_path);
    if (profile.path.empty())
        return fail(Errc::invalid, fmt::format("PATH has no entry of {}: the environment is not "
                                               "activated here",
                                               flox_env));
    return {};
}

// An empty variable is set; one that the activation does not export is recorded as unset.
Status fill_variables(Profile& profile, const ProfileSource& source) {
    for (const auto& name : text::split(value_of(profile.settings, "env_exports"), ',')) {
        const auto found = source.environment.find(name);
        if (found != source.environment.end())
            profile.vars.emplace_back(name, found->second);
        else
            profile.unset.push_back(name);
    }
    if (source.require_exports && !profile.unset.empty())
        return fail(
            Errc::invalid,
            fmt::format("{} of env_exports {} not set (an activation with `flox activate "
                        "-c` runs the profile scripts, one with `--` does not)",
                        text::join(profile.unset, ", "), profile.unset.size() == 1 ? "is" : "are"));
    return {};
}

}  // namespace

bool is_pinned_image(std::string_view image) {
    const auto mark = image.find(digest_mark);
    if (mark == std::string_view::npos) return false;
    const auto name = image.substr(0, mark);
    const auto digest = image.substr(mark + digest_mark.size());
    // The tag's colon is the last one behind the last slash: a registry may have a port.
    const auto slash = name.rfind('/');
    const auto last = slash == std::string_view::npos ? name : name.substr(slash + 1);
    const auto colon = last.find(':');
    return colon != std::string_view::npos && colon != 0 && colon + 1 < last.size() &&
           digest.size() == digest_digits &&
           digest.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<RevisionSettings> sealed_settings(const RevisionSettings& settings, std::string_view stamp) {
    RevisionSettings filled = complete_settings(settings);
    if (const auto image = filled.find("worker_image"); image != filled.end()) {
        if (!is_pinned_image(text::trim(image->second)))
            return fail(Errc::invalid,
                        fmt::format("worker_image={}: expects repository:tag@sha256:<64 "
                                    "hexadecimal digits>; on a VM leave it out, the image's own "
                                    "stamp stands for it",
                                    image->second));
    } else {
        if (stamp.empty())
            return fail(Errc::invalid,
                        "nothing says which image this is: os-release has none of IMAGE_ID, "
                        "IMAGE_VERSION, BUILD_ID (or StampFile= is empty), and worker_image is not "
                        "set");
        filled.emplace("worker_image", stamp);
    }
    const auto canonical = canonical_settings(filled);
    if (!canonical) return tl::unexpected<Error>(canonical.error());
    return parse_canonical(*canonical);
}

std::vector<std::string> entries_of_environment(std::string_view path, std::string_view flox_env,
                                                std::string_view realized) {
    while (flox_env.size() > 1 && flox_env.ends_with('/')) flox_env.remove_suffix(1);
    std::vector<std::string> entries;
    const auto add = [&](std::string_view entry, std::string_view prefix) {
        if (!entry.starts_with(prefix)) return false;
        const auto rest = entry.substr(prefix.size());
        if (!rest.empty() && rest[0] != '/') return false;
        // A generation's own store path: the link that was activated may point elsewhere tomorrow.
        std::string pinned = std::string(realized) + std::string(rest);
        while (pinned.size() > 1 && pinned.back() == '/') pinned.pop_back();
        if (std::find(entries.begin(), entries.end(), pinned) == entries.end())
            entries.push_back(std::move(pinned));
        return true;
    };
    for (const auto& entry : text::split(path, ':'))
        if (!add(entry, flox_env)) add(entry, realized);
    return entries;
}

Result<Profile> make_profile(const ProfileSource& source) {
    auto settings = sealed_settings(source.settings, source.stamp);
    if (!settings) return tl::unexpected<Error>(settings.error());
    Profile profile;
    profile.settings = std::move(*settings);
    profile.image = value_of(profile.settings, "worker_image");
    profile.mode = value_of(profile.settings, "activate_mode");
    const std::string env = value_of(profile.settings, "flox_env");
    if (env.empty() && source.environment.contains("FLOX_ENV"))
        return fail(Errc::invalid,
                    "FLOX_ENV is set but the settings name no flox_env and flox_generation: an "
                    "environment that is not pinned is not sealed");
    if (!env.empty()) {
        profile.env_ref = fmt::format("{}:{}", env, value_of(profile.settings, "flox_generation"));
        if (auto filled = fill_path(profile, source.environment); !filled)
            return tl::unexpected<Error>(filled.error());
    }
    if (auto filled = fill_variables(profile, source); !filled)
        return tl::unexpected<Error>(filled.error());
    const auto canonical = canonical_settings(profile.settings);
    if (!canonical) return tl::unexpected<Error>(canonical.error());
    profile.hash = revision_hash(*canonical);
    return profile;
}

}  // namespace cohort
