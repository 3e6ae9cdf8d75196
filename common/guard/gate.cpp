// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/gate.hpp"

#include <map>
#include <unordered_set>

#include <fmt/core.h>

#include "common/rebuild_mark.hpp"
#include "common/text.hpp"

namespace cohort::guard {
namespace {

// "rev_a: n1,n2; without a revision: n3" when the nodes of one guarded cohort differ, else "".
std::string difference(const std::vector<std::string>& nodes, const Cohort& cohort,
                       const GuardView& view) {
    std::map<std::string, std::vector<std::string>> by_revision;
    for (const auto& name : nodes) {
        const auto at = view.position(name);
        if (at == GuardView::npos || !cohort.nodes.has(at)) continue;
        const auto& record = view.snapshot().nodes[at].record;
        by_revision[record.withdrawn() ? "" : record.revision].push_back(name);
    }
    if (by_revision.size() < 2) return {};
    std::vector<std::string> parts;
    for (const auto& [revision, names] : by_revision)
        parts.push_back(fmt::format("{}: {}", revision.empty() ? "without a revision" : revision,
                                    text::join(names, ",")));
    return text::join(parts, "; ");
}

bool is_exempt(const Job& job, const Cohort& cohort, const Owners& owners) {
    return !cohort.guarded() || (owners.is_admin(job.user_id) && !cohort.rule.admins);
}

std::string sent_back(const Job& job) {
    Mark mark = current_mark(job).value_or(Mark{});
    if (!parse_guard_mark(job.admin_comment)) {
        mark.features = job.features;
        mark.prefer = job.prefer;
    }
    mark.now = job.features;
    mark.now_prefer = job.prefer;
    ++mark.rounds;
    mark.restart = true;
    return write_guard_mark(job.admin_comment, mark);
}

GateDecision stop(const Job& job, const std::string& cohort, const std::string& difference,
                  bool start_anyway) {
    GateDecision decision;
    decision.why =
        fmt::format("its allocation spans revisions of cohort {} ({})", cohort, difference);
    if (job.batch && !job.requeue && start_anyway) {
        decision.why += "; it may not be requeued and GateNoRequeue=allow: it starts";
        return decision;
    }
    if (job.batch && job.requeue) {
        decision.act = GateDecision::Act::requeue;
        decision.admin_comment = sent_back(job);
        return decision;
    }
    decision.act = GateDecision::Act::kill;
    decision.told = {fmt::format("cohort: job {} got nodes of two software revisions ({}).",
                                 job.id_text, difference),
                     "cohort: it is ended so that it does not compute on both: submit it again."};
    return decision;
}

}  // namespace

bool plainly_uniform(const SnapshotFile& file, const std::vector<std::string>& nodes) {
    const std::unordered_set<std::string> wanted(nodes.begin(), nodes.end());
    std::size_t found = 0;
    const std::string* revision = nullptr;
    for (const auto& line : file.nodes) {
        if (!wanted.contains(line.name)) continue;
        ++found;
        if (line.withdrawn || (revision && *revision != line.revision)) return false;
        revision = &line.revision;
    }
    return found == wanted.size();
}

GateDecision decide_gate(const Job& job, const std::vector<std::string>& nodes,
                         const GuardView& view, const Owners& owners, bool start_anyway) {
    if (job.reboot || parse_mark(job.admin_comment)) return {};
    if (const auto mark = parse_guard_mark(job.admin_comment); mark && mark->own) return {};
    for (const auto& cohort : view.cohorts()) {
        if (is_exempt(job, cohort, owners)) continue;
        if (const auto found = difference(nodes, cohort, view); !found.empty())
            return stop(job, cohort.name, found, start_anyway);
    }
    return {};
}

}  // namespace cohort::guard
