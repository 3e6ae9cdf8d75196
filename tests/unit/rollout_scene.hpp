// SPDX-License-Identifier: GPL-2.0-or-later
//
// A rollout and its cluster as a test draws them, and what advance would do.
#pragma once

#include "common/text.hpp"
#include "rebootprog/rollout/rollout_decide.hpp"
#include "rebootprog/rollout/rollout_row.hpp"
#include "tests/unit/unit.hpp"

namespace cohort::scene {

using Base = NodeState::Base;

inline constexpr std::int64_t now = 10000;

// A rollout of some nodes in a cluster of TOTAL ones, and how it all looks.
struct Scene {
    Observation seen;
    RolloutView view;

    explicit Scene(int nodes, int total = 0) {
        seen.now = now;
        view.rollout.id = 3;
        view.rollout.max_unavailable = "2";
        for (int i = 1; i <= std::max(nodes, total); ++i) {
            Node node;
            node.name = fmt::format("n{}", i);
            node.state.base = Base::idle;
            node.record.revision = "rev_0000000000000001";
            view.scope.push_back(node.name);
            seen.nodes.push_back(node);
        }
        for (int i = 1; i <= nodes; ++i) {
            RolloutNode row;
            row.rollout = 3;
            row.node = fmt::format("n{}", i);
            row.position = i;
            row.image_from = "v1";
            row.image_to = "v2";
            view.rows.push_back(row);
        }
    }
    Node& node(int i) { return seen.nodes[static_cast<std::size_t>(i - 1)]; }
    RolloutNode& row(int i) { return view.rows[static_cast<std::size_t>(i - 1)]; }

    // The rebuild job of node I: held, or it may start, or runs.
    Job& job(int i, Step step, const char* held = "rollout", std::int64_t rollout = 3) {
        Job job;
        job.id = static_cast<std::uint32_t>(100 + i);
        job.id_text = fmt::format("{}", job.id);
        job.pending = step != Step::rebuilding;
        job.running = !job.pending;
        job.priority = step == Step::held ? 0 : 100;
        job.admin_comment = write_mark("", {fmt::format("n{}", i), 100, held, rollout});
        if (job.running) job.nodes = fmt::format("n{}", i);
        if (rollout == 3) {
            row(i).step = step;
            row(i).job = job.id;
            row(i).submitted = row(i).released = row(i).started = 1;
        }
        seen.jobs.push_back(job);
        return seen.jobs.back();
    }
    void busy(int i, std::int64_t until) {
        node(i).state.base = Base::allocated;
        Job user;
        user.id = static_cast<std::uint32_t>(500 + i);
        user.running = true;
        user.nodes = fmt::format("n{}", i);
        user.end_time = until;
        seen.jobs.push_back(user);
    }
    void down(int i, const char* reason) {
        node(i).state.base = Base::down;
        node(i).state.fail = true;
        node(i).reason = node(i).record.out_reason = reason;
    }
    void attempt(int i, Outcome outcome, const char* reason = "") {
        Attempt a;
        a.id = i;
        a.node = fmt::format("n{}", i);
        a.outcome = outcome;
        a.reason = reason;
        a.ended = now;
        seen.latest.push_back(a);
    }
    // Node I knows what it is to become.
    void told(int i) {
        Want want;
        want.image = "v2";
        node(i).record.want = want;
        node(i).record.revision.clear();
    }
    // Node I has proved that it runs v2.
    void proved(int i) {
        Want want;
        want.image = "v2";
        want.result = result_ok;
        node(i).record.want = want;
    }
    std::string acts() {
        static const char* const names[] = {"row",    "rollout", "quarantine", "out",
                                            "submit", "rebuild", "release",    "back",
                                            "cancel", "reboot",  "unreboot",   "return"};
        Pace pace = pace_of(seen);
        std::string text;
        for (const auto& act : decide_rollout(seen, view, pace)) {
            text += names[static_cast<int>(act.kind)];
            if (act.kind == RolloutAct::Kind::note_row)
                text += fmt::format(":{}", name_of(act.row.step));
            if (act.kind == RolloutAct::Kind::note_rollout)
                text += fmt::format(":{}", name_of(act.rollout.state));
            text += act.row.node.empty() ? " " : ":" + act.row.node + " ";
        }
        return text;
    }
    // Only what is given and taken.
    std::string slots() {
        std::string text;
        for (const auto& word : text::split(acts(), ' '))
            if (word.starts_with("release") || word.starts_with("back")) text += word + " ";
        return text;
    }
};

}  // namespace cohort::scene
