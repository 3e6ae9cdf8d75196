// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/backends.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/slurm/hostlist.hpp"
#include "common/text.hpp"
#include "rebootprog/cloud/backend_exec.hpp"

namespace cohort {

NodeSettings::NodeSettings(const Configuration& configuration) : others_(&configuration.site) {
    for (const auto& line : configuration.cohorts) {
        if (text::iequals(line.nodes, "ALL")) {
            others_ = &line.settings;
            return;
        }
        const auto names = slurm::expand_hosts(line.nodes);
        if (!names) continue;
        for (const auto& name : *names) by_node_.emplace(name, &line.settings);
    }
}

const Settings& NodeSettings::of(const std::string& node) const {
    const auto found = by_node_.find(node);
    return found == by_node_.end() ? *others_ : *found->second;
}

Result<Backend*> Backends::of(const std::string& node) {
    return open(settings_.of(node));
}

Result<Backend*> Backends::open(const Settings& settings) {
    const bool nova = settings.backend == BackendKind::nova;
    const std::string key = fmt::format("{} {} {}", name_of(settings.backend),
                                        nova ? settings.stamp_property : settings.backend_command,
                                        nova ? 0 : settings.backend_time.count());
    const std::lock_guard lock(mutex_);
    auto& known = opened_[key];
    if (known) return known.get();
    switch (settings.backend) {
        case BackendKind::nova: {
            auto opened = open_nova(settings, site_.state_dir, patience_, deadline_);
            if (!opened) return tl::unexpected(opened.error());
            known = std::move(*opened);
            break;
        }
        case BackendKind::exec:
            known = std::make_unique<ExecBackend>(settings);
            break;
        case BackendKind::reboot:
            known = std::make_unique<RebootBackend>(settings);
            break;
    }
    return known.get();
}

Result<std::vector<Backend*>> Backends::all() {
    std::vector<Backend*> found;
    const auto add = [&](const Settings& settings) -> Status {
        auto backend = open(settings);
        if (!backend) return tl::unexpected(backend.error());
        if (std::ranges::find(found, *backend) == found.end()) found.push_back(*backend);
        return {};
    };
    const auto& configuration = site_.configuration;
    for (const auto& line : configuration.cohorts)
        if (auto added = add(line.settings); !added) return tl::unexpected(added.error());
    // The site's own holds for the nodes that no line names: with one of nova, clouds.yaml may be
    // absent where every node belongs to another.
    auto added = add(site_.settings());
    if (!added && found.empty()) return tl::unexpected(added.error());
    return found;
}

const char* name_of(BackendKind kind) {
    switch (kind) {
        case BackendKind::nova:
            return "nova";
        case BackendKind::exec:
            return "exec";
        case BackendKind::reboot:
            return "reboot";
    }
    return "nova";
}

}  // namespace cohort
