// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/proof.hpp"

#include <map>
#include <vector>

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort {
namespace {

std::string unquote(std::string_view value) {
    value = text::trim(value);
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front())
        value = value.substr(1, value.size() - 2);
    return std::string(value);
}

}  // namespace

std::string stamp_of_os_release(std::string_view os_release) {
    std::map<std::string, std::string, std::less<>> values;
    for (const auto& line : text::split(os_release, '\n')) {
        const auto equals = line.find('=');
        if (line[0] == '#' || equals == std::string::npos) continue;
        values[line.substr(0, equals)] = unquote(std::string_view(line).substr(equals + 1));
    }
    std::vector<std::string> parts;
    for (const char* key : {"IMAGE_ID", "IMAGE_VERSION", "BUILD_ID"})
        if (!values[key].empty()) parts.push_back(values[key]);
    return text::join(parts, "/");
}

std::string stamp_of_file(std::string_view content) {
    return std::string(text::trim(content.substr(0, content.find('\n'))));
}

Judgement judge(const Want& want, const Observed& observed, bool accept_weak_proof,
                std::int64_t clock_slack) {
    const bool old_boot = observed.boot_time + clock_slack < want.at;
    if (old_boot)
        return {Proof::unproved, fmt::format("this boot is {} s older than the {} it was to get",
                                             want.at - observed.boot_time, want.action)};
    if (want.has_failed())
        return {Proof::unproved, fmt::format("the {} {}", want.action, want.result)};
    if (!want.stamp.empty()) {
        if (observed.stamp == want.stamp)
            return {Proof::strong, fmt::format("stamp {}", observed.stamp)};
        if (want.pending())
            return {Proof::pending, fmt::format("the {} has not ended", want.action)};
        return {Proof::unproved,
                fmt::format("image matches but the node runs stamp '{}', wanted '{}'",
                            observed.stamp, want.stamp)};
    }
    if (!accept_weak_proof)
        return {Proof::unproved, "the image carries no stamp and AcceptWeakProof=no"};
    if (want.pending()) return {Proof::pending, fmt::format("the {} has not ended", want.action)};
    if (want.action == "rebuild") {
        if (want.root.empty())
            return {Proof::unproved,
                    "no stamp, and the root identity before the rebuild is not known"};
        if (observed.root == want.root)
            return {Proof::unproved, "the root content is the same as before the rebuild"};
    }
    return {Proof::weak, fmt::format("{} ended well, new boot{}", want.action,
                                     want.action == "rebuild" ? ", new root content" : "")};
}

}  // namespace cohort
