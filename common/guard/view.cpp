// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/view.hpp"

#include <algorithm>

#include "common/revision.hpp"
#include "common/text.hpp"

namespace cohort::guard {

bool is_under_way(const Node& node) {
    const auto& want = node.record.want;
    return want && (want->pending() || node.record.revision.empty());
}

GuardView::GuardView(std::shared_ptr<const Snapshot> snapshot,
                     const std::vector<CohortDefinition>& cohorts)
    : snapshot_(std::move(snapshot)) {
    index_nodes();
    for (const auto& partition : snapshot_->partitions) {
        partitions_.emplace(partition.name, set_of(partition.nodes));
        if (partition.is_default) default_partition_ = partition.name;
    }
    for (const auto& reservation : snapshot_->reservations)
        reservations_.emplace(reservation.name,
                              reservation.flex ? all_ : set_of(reservation.nodes));
    for (const auto& cohort : cohorts) index_cohort(cohort);
}

void GuardView::index_nodes() {
    const auto& nodes = snapshot_->nodes;
    none_ = all_ = available_ = labelled_ = NodeSet(nodes.size());
    cpus_.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Node& node = nodes[i];
        cpus_.push_back(node.cpus);
        if (node.state.base == NodeState::Base::future) continue;
        all_.add(i);
        if (node.state.available()) available_.add(i);
        for (const auto& name : text::split(node.active_features, ','))
            if (!is_revision_name(name)) {
                features_.try_emplace(name, nodes.size()).first->second.add(i);
            }
        if (node.record.revision.empty()) continue;
        labelled_.add(i);
        auto index = revision_index(node.record.revision);
        if (index == npos) {
            index = revisions_.size();
            revisions_.push_back(node.record.revision);
            revision_nodes_.emplace_back(nodes.size());
            live_.push_back(false);
        }
        revision_nodes_[index].add(i);
        if (!live_[index]) {
            const auto names = text::split(node.active_features, ',');
            live_[index] = std::ranges::find(names, node.record.revision) != names.end();
        }
    }
}

void GuardView::index_cohort(const CohortDefinition& definition) {
    Cohort cohort{definition.name, set_of(definition.nodes), definition.rule, false, false, false};
    std::size_t known = 0, bare = 0;
    cohort.nodes.for_each([&](std::size_t i) {
        const Node& node = snapshot_->nodes[i];
        const bool ours = !node.record.revision.empty() ||
                          (node.record.withdrawn() && !node.record.want->from.empty());
        ++(ours ? known : bare);
        cohort.open = cohort.open || is_under_way(node);
    });
    cohort.adopted = known > 0 && known >= bare;
    std::size_t kinds = cohort.nodes.within(labelled_) ? 0 : 2;
    for (const auto& nodes : revision_nodes_) kinds += nodes.meets(cohort.nodes) ? 1 : 0;
    cohort.uniform = kinds <= 1;
    cohorts_.push_back(std::move(cohort));
}

NodeSet GuardView::set_of(const std::vector<std::string>& names) const {
    NodeSet set(snapshot_->nodes.size());
    for (const auto& name : names)
        if (const auto i = position(name); i != npos) set.add(i);
    return set &= all_;
}

std::size_t GuardView::revision_index(std::string_view name) const {
    // A handful: a linear search beats a hash.
    for (std::size_t i = 0; i < revisions_.size(); ++i)
        if (revisions_[i] == name) return i;
    return npos;
}

const NodeSet& GuardView::feature(std::string_view name) const {
    if (is_revision_name(name)) {
        const auto index = revision_index(name);
        return index == npos ? none_ : revision_nodes_[index];
    }
    const auto found = features_.find(name);
    return found == features_.end() ? none_ : found->second;
}

const NodeSet* GuardView::partition(std::string_view name) const {
    const auto found = partitions_.find(name);
    return found == partitions_.end() ? nullptr : &found->second;
}

const NodeSet* GuardView::reservation(std::string_view name) const {
    const auto found = reservations_.find(name);
    return found == reservations_.end() ? nullptr : &found->second;
}

const NodeSet* GuardView::default_partition() const {
    return partition(default_partition_);
}

std::size_t GuardView::position(const std::string& node) const {
    const auto found = snapshot_->node_index.find(node);
    return found == snapshot_->node_index.end() ? npos : found->second;
}

}  // namespace cohort::guard
