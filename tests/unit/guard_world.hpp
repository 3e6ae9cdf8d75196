// SPDX-License-Identifier: GPL-2.0-or-later
//
// A small cluster written down in one line, for the guard's tests.
//
//   World w("n1:a:gpu n2:a n3:b:gpu,nvme n4:-", "main=n1,n2,n3,n4");
// Node:label:features; "a" stands for rev_aaaaaaaaaaaaaaaa, "-" for no label, "~" for a label that
// we have withdrawn (an attempt is under way), "a~" for a label whose node an attempt waits for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/guard/constraint.hpp"
#include "common/guard/verdict.hpp"
#include "common/revision.hpp"
#include "common/text.hpp"
#include "tests/unit/guard_random.hpp"

struct World {
    cohort::Snapshot snapshot;
    std::vector<cohort::guard::CohortDefinition> cohorts;

    World(const std::string& nodes, const std::string& partitions) {
        for (const auto& word : cohort::text::words(nodes)) add_node(word);
        for (const auto& word : cohort::text::words(partitions)) {
            const auto equals = word.find('=');
            cohort::Partition partition;
            partition.name = word.substr(0, equals);
            partition.nodes = cohort::text::split(word.substr(equals + 1), ',');
            partition.is_default = snapshot.partitions.empty();
            snapshot.partitions.push_back(partition);
        }
        snapshot.index();
    }

    World& cohort(const std::string& name, const std::string& nodes,
                  cohort::MixedRevision mixed = cohort::MixedRevision::confine) {
        cohorts.push_back({name, cohort::text::split(nodes, ','), {mixed, false, false}});
        return *this;
    }

    std::shared_ptr<const cohort::guard::GuardView> view() const {
        return std::make_shared<cohort::guard::GuardView>(
            std::make_shared<cohort::Snapshot>(snapshot), cohorts);
    }

    cohort::guard::Verdict judge(const cohort::guard::Request& request, bool admin = false) const {
        return cohort::guard::judge(request, {admin}, view().get());
    }

  private:
    void add_node(const std::string& word) {
        const auto first = word.find(':'), second = word.find(':', first + 1);
        cohort::Node node;
        node.name = word.substr(0, first);
        node.state.base = cohort::NodeState::Base::idle;
        node.cpus = 4;
        const std::string label = word.substr(first + 1, second - first - 1);
        if (second != std::string::npos) node.active_features = word.substr(second + 1);
        if (label[0] >= 'a' && label[0] <= 'z')
            node.record.revision = guard_random::revision(label[0]);
        if (label.back() == '~') node.record.want.emplace().from = "rev_0123456789abcdef";
        node.active_features = cohort::merge_features(node.active_features, node.record.revision);
        node.features = node.active_features;
        snapshot.nodes.push_back(node);
    }
};

// rev_aaaaaaaaaaaaaaaa -> rev_a: what the tests compare.
inline std::string shorten(std::string text) {
    for (char c = 'a'; c <= 'f'; ++c) {
        const auto full = guard_random::revision(c);
        for (auto at = text.find(full); at != std::string::npos; at = text.find(full))
            text.replace(at, full.size(), std::string("rev_") + c);
    }
    return text;
}

inline std::string lengthen(std::string text) {
    for (std::size_t at = text.find("rev_"); at != std::string::npos;
         at = text.find("rev_", at + 20))
        text.replace(at, 5, guard_random::revision(text[at + 4]));
    return text;
}
