// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/barrier/barrier_journal.hpp"

#include <fmt/core.h>

#include "rebootprog/journal/journal_state.hpp"

namespace cohort {
namespace {

using sqlite::Statement;

constexpr const char* columns =
    "state, step, cohort, nodes, others, partitions, image, revision, command, who, reason, why, "
    "began, ended, replaced, rollout, id";

Barrier read_barrier(const Statement& row) {
    Barrier b;
    int i = 0;
    b.state = static_cast<BarrierState>(row.integer(i++));
    b.step = static_cast<BarrierStep>(row.integer(i++));
    for (auto* text : {&b.cohort, &b.nodes, &b.others, &b.partitions, &b.image, &b.revision,
                       &b.command, &b.who, &b.reason, &b.why})
        *text = row.text(i++);
    for (auto* value : {&b.began, &b.ended, &b.replaced, &b.rollout, &b.id})
        *value = row.integer(i++);
    return b;
}

void bind_barrier(Statement& s, const Barrier& b) {
    s.bind(static_cast<std::int64_t>(b.state)).bind(static_cast<std::int64_t>(b.step));
    for (const auto* text : {&b.cohort, &b.nodes, &b.others, &b.partitions, &b.image, &b.revision,
                             &b.command, &b.who, &b.reason, &b.why})
        s.bind(*text);
    s.bind(b.began).bind(b.ended).bind(b.replaced).bind(b.rollout);
}

}  // namespace

Status BarrierJournal::create(Barrier& barrier) {
    const std::lock_guard lock(state_.mutex);
    Statement insert(
        state_.db.get(),
        fmt::format("INSERT INTO barriers ({}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,NULL)",
                    columns)
            .c_str());
    bind_barrier(insert, barrier);
    if (auto done = insert.run(); !done) return done;
    barrier.id = sqlite3_last_insert_rowid(state_.db.get());
    return {};
}

Status BarrierJournal::save(const Barrier& barrier) {
    const std::lock_guard lock(state_.mutex);
    Statement change(state_.db.get(),
                     "UPDATE barriers SET state=?, step=?, cohort=?, nodes=?, others=?, "
                     "partitions=?, image=?, revision=?, command=?, who=?, reason=?, why=?, "
                     "began=?, ended=?, replaced=?, rollout=? WHERE id=?");
    bind_barrier(change, barrier);
    return change.bind(barrier.id).run();
}

Result<std::vector<Barrier>> BarrierJournal::unfinished() const {
    const std::lock_guard lock(state_.mutex);
    Statement select(
        state_.db.get(),
        fmt::format("SELECT {} FROM barriers WHERE state=0 ORDER BY id", columns).c_str());
    return sqlite::all_rows(select, read_barrier);
}

Result<std::vector<Barrier>> BarrierJournal::barriers(int limit) const {
    const std::lock_guard lock(state_.mutex);
    Statement select(
        state_.db.get(),
        fmt::format("SELECT {} FROM barriers ORDER BY id DESC LIMIT ?", columns).c_str());
    select.bind(std::int64_t{limit});
    return sqlite::all_rows(select, read_barrier);
}

}  // namespace cohort
