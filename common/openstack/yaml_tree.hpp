// SPDX-License-Identifier: GPL-2.0-or-later
//
// A YAML document as plain values: scalars stay the text that was written, whatever they look like.
//
// Merge keys (<<) are resolved, a repeated key of one mapping is refused, tags are kept, and so is
// the number of nodes: an alias bomb is refused. yaml-cpp's exceptions end here, and its messages,
// which may quote the text, are reduced to line and column. Not thread-safe per object.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort::openstack {

struct YamlTree {
    enum class Kind { null, scalar, map, list };
    Kind kind = Kind::null;
    std::string scalar;
    std::string tag;  // "!vault"; empty for YAML's own
    std::map<std::string, YamlTree> map;
    std::vector<YamlTree> list;

    bool is_map() const { return kind == Kind::map; }
    bool is_scalar() const { return kind == Kind::scalar; }
    // Member KEY of a map that is not null.
    const YamlTree* find(const std::string& key) const;
};

// FILE appears in errors. An empty text is null.
Result<YamlTree> parse_yaml(std::string_view text, const std::string& file);

// "a-b" and "a_b" are the same key to openstacksdk: '-' becomes '_' in all keys below TREE, and
// the '_' form wins when both are there.
void normalise_keys(YamlTree& tree);

// OVER laid over BASE: maps member by member, everything else replaced; null changes nothing.
void lay_over(YamlTree& base, const YamlTree& over);

}  // namespace cohort::openstack
