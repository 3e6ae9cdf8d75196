// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/rebuild_budget.hpp"

#include <algorithm>

#include "common/text.hpp"

namespace cohort {
namespace {

// Slurm's defaults [22.05, 24.11, 26.05].
constexpr std::uint32_t default_queue_depth = 100;
constexpr std::uint32_t default_backfill_depth = 500;

std::uint32_t parameter(const std::string& parameters, std::string_view name,
                        std::uint32_t otherwise) {
    for (const auto& word : text::split(parameters, ',')) {
        const auto equals = word.find('=');
        if (equals == std::string::npos || word.substr(0, equals) != name) continue;
        if (const auto n = text::to_number(word.substr(equals + 1)))
            return static_cast<std::uint32_t>(std::min<std::uint64_t>(*n, 1000000));
    }
    return otherwise;
}

bool is_free(const NodeState& state) {
    return state.base == NodeState::Base::idle && state.available();
}

}  // namespace

std::uint32_t pending_limit(std::uint32_t max_pending, const std::string& parameters) {
    const std::uint32_t depth =
        std::min(parameter(parameters, "default_queue_depth", default_queue_depth),
                 parameter(parameters, "bf_max_job_test", default_backfill_depth));
    return std::max<std::uint32_t>(1, std::min(max_pending, depth / 4));
}

bool could_start(const Node& node) {
    return is_free(node.state);
}

bool counts_as_started(const Node& node) {
    NodeState soon = node.state;
    soon.not_responding = soon.power_saving = false;
    if (soon.base == NodeState::Base::unknown) soon.base = NodeState::Base::idle;
    return is_free(soon) || soon.rebooting();
}

}  // namespace cohort
