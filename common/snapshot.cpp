// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/snapshot.hpp"

namespace cohort {

void Snapshot::index() {
    node_index.clear();
    node_index.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) node_index.emplace(nodes[i].name, i);
}

const Node* Snapshot::node(const std::string& name) const {
    const auto found = node_index.find(name);
    return found == node_index.end() ? nullptr : &nodes[found->second];
}

const Partition* Snapshot::partition(std::string_view name) const {
    for (const auto& partition : partitions)
        if (partition.name == name) return &partition;
    return nullptr;
}

const Partition* Snapshot::default_partition() const {
    for (const auto& partition : partitions)
        if (partition.is_default) return &partition;
    return nullptr;
}

}  // namespace cohort
