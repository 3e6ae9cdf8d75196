// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_dynamic.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "common/node_record.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::string_view not_quotable = "\"\\$`\n\r";

bool is_feature_key(std::string_view key) {
    return text::iequals(key, "Feature") || text::iequals(key, "Features");
}

}  // namespace

Result<std::string> slurmd_arguments(std::string_view revision, std::string_view conf,
                                     std::string_view features) {
    for (const auto given : {conf, features})
        if (given.find_first_of(not_quotable) != std::string_view::npos)
            return fail(Errc::invalid,
                        "quotes, backslashes, '$' and line ends cannot be passed on to slurmd");
    std::vector<std::string> words;
    std::string names;
    const auto add_names = [&](std::string_view more) {
        for (const auto& name : text::split(more, ',')) {
            const auto known = text::split(names, ',');
            if (std::ranges::find(known, name) == known.end())
                names += (names.empty() ? "" : ",") + name;
        }
    };
    for (const auto& word : text::words(conf)) {
        const auto equals = word.find('=');
        if (equals == std::string::npos || equals == 0)
            return fail(Errc::invalid, fmt::format("'{}' is not KEY=VALUE", word));
        const std::string_view value = std::string_view(word).substr(equals + 1);
        if (value.empty()) continue;
        if (is_feature_key(std::string_view(word).substr(0, equals))) {
            add_names(value);
        } else {
            words.push_back(word);
        }
    }
    add_names(features);
    if (const auto all = merge_features(names, revision); !all.empty())
        words.push_back("Feature=" + all);
    if (words.empty()) return std::string("-Z");
    return fmt::format("-Z --conf \"{}\"", text::join(words, " "));
}

}  // namespace cohort
