// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a node is to run, from <DesiredDir>/<node>.yml, .yaml or .json.
//
// The file is StackHPC's reboot_vars (instance_id, image_id) or a whole Ansible hostvars dump, as
// YAML or as JSON (also JSON inside .yml). Ansible's `!unsafe` and {"__ansible_unsafe": ...} are
// read through; `!vault` on a wanted key is refused; other tags are ignored. Only these two
// keys are read, at the top level, and nothing else of the file is ever shown.
// Refused, naming file and key: a missing, empty, repeated or templated ("{{") value, a value that
// is no plain scalar, a file that is half written, over 4 MiB, no regular file, writable by
// others, replaced again and again while it is read, and two files for one node.
// Thread-safe: no shared state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "common/settings.hpp"

namespace cohort {

struct Desired {
    std::string instance_id;  // UUID, with Backend=exec any word; empty: found by the node's name
    std::string image_id;     // UUID, or the name of one active image
    std::string file;         // where it was read
};

// Errc::not_found: no file for this node. SETTINGS: the node's. A node without a file of its own
// gets image_id from ServerTemplate, when that is set.
Result<Desired> read_desired(const Settings& settings, const std::string& node);

// The same on a text; FILE decides the format and appears in errors. UUIDS: instance_id must be
// one.
Result<Desired> parse_desired(std::string_view text, const std::string& file, bool uuids = true);

// Some other value of a node's file: a plain one, or a list of plain ones.
struct DesiredValue {
    std::string text;
    std::vector<std::string> items;
    std::string file;  // where it was found; the last one that was looked at when it is nowhere
};

// One for each of KEYS: from the node's file, else from ServerTemplate; empty when in neither.
Result<std::vector<DesiredValue>> read_desired_values(const Settings& settings,
                                                      const std::string& node,
                                                      const std::vector<std::string>& keys);

}  // namespace cohort
