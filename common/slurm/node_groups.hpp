// SPDX-License-Identifier: GPL-2.0-or-later
//
// The writer's acts (node_writer.hpp) on many nodes at once: the state of all in one update each,
// Extra node by node, read back together. Alone a node takes 0.1 to 0.2 s, of which most is the
// waiting before it is read back: ten thousand would take half an hour.
//
// Each node ends as the act of the same name leaves one: what is not so after the grouped updates
// is done alone, and the first error of those is returned. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort::slurm {

Status take_out_all(const std::vector<std::string>& nodes, std::string_view reason);
Status hold_all(const std::vector<std::string>& nodes, const std::string& by);

// The names of nodes that an administrator has drained since: they stay drained, without the hold.
Result<std::vector<std::string>> release_all(const std::vector<std::string>& nodes);

}  // namespace cohort::slurm
