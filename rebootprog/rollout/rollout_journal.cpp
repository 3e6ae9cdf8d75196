// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/rollout_journal.hpp"

#include <ctime>

#include <fmt/core.h>

#include "rebootprog/journal/journal_state.hpp"

namespace cohort {
namespace {

using sqlite::Statement;

constexpr const char* rollout_columns =
    "state, began, ended, who, reason, why, scope, image, max_unavailable, min_available, "
    "failure_budget, forgiven, canary, soak, node_order, window, via, rollback_of, id";
constexpr const char* node_columns =
    "position, canary, direct, step, job, image_from, image_to, explicit, file_image, why, tries, "
    "planned, submitted, released, started, ended, after_attempt, rollout, node";

std::int64_t number(auto value) {
    return static_cast<std::int64_t>(value);
}

Rollout read_rollout(const Statement& row) {
    Rollout r;
    int i = 0;
    r.state = static_cast<RolloutState>(row.integer(i++));
    r.began = row.integer(i++);
    r.ended = row.integer(i++);
    for (auto* text :
         {&r.who, &r.reason, &r.why, &r.scope, &r.image, &r.max_unavailable, &r.min_available})
        *text = row.text(i++);
    for (auto* value : {&r.failure_budget, &r.forgiven, &r.canary, &r.soak})
        *value = row.integer(i++);
    for (auto* text : {&r.order, &r.window, &r.via}) *text = row.text(i++);
    r.rollback_of = row.integer(i++);
    r.id = row.integer(i);
    return r;
}

void bind_rollout(Statement& s, const Rollout& r) {
    s.bind(number(r.state)).bind(r.began).bind(r.ended);
    s.bind(r.who).bind(r.reason).bind(r.why).bind(r.scope).bind(r.image);
    s.bind(r.max_unavailable).bind(r.min_available);
    s.bind(r.failure_budget).bind(r.forgiven).bind(r.canary).bind(r.soak);
    s.bind(r.order).bind(r.window).bind(r.via).bind(r.rollback_of);
}

RolloutNode read_node(const Statement& row) {
    RolloutNode n;
    int i = 0;
    n.position = row.integer(i++);
    n.canary = row.integer(i++) != 0;
    n.direct = row.integer(i++) != 0;
    n.step = static_cast<Step>(row.integer(i++));
    n.job = static_cast<std::uint32_t>(row.integer(i++));
    n.image_from = row.text(i++);
    n.image_to = row.text(i++);
    n.explicit_image = row.integer(i++) != 0;
    n.file_image = row.text(i++);
    n.why = row.text(i++);
    for (auto* value : {&n.tries, &n.planned, &n.submitted, &n.released, &n.started, &n.ended,
                        &n.after_attempt, &n.rollout})
        *value = row.integer(i++);
    n.node = row.text(i);
    return n;
}

void bind_node(Statement& s, const RolloutNode& n) {
    s.bind(n.position).bind(number(n.canary)).bind(number(n.direct)).bind(number(n.step));
    s.bind(std::int64_t{n.job}).bind(n.image_from).bind(n.image_to).bind(number(n.explicit_image));
    s.bind(n.file_image).bind(n.why).bind(n.tries).bind(n.planned).bind(n.submitted);
    s.bind(n.released)
        .bind(n.started)
        .bind(n.ended)
        .bind(n.after_attempt)
        .bind(n.rollout)
        .bind(n.node);
}

Pin read_pin(const Statement& row) {
    return {row.text(0), row.text(1), row.text(2), row.integer(3), row.integer(4) != 0};
}

// The newest rollout row of each node that was not taken out of its rollout.
std::string pin_query(const char* condition) {
    return fmt::format(
        "SELECT node, image_to, file_image, rollout, step<{0} FROM rollout_nodes WHERE (explicit=1 "
        "OR step<{0}) AND {2} AND (node, rollout) IN (SELECT node, max(rollout) FROM rollout_nodes "
        "WHERE step!={1} AND {2} GROUP BY node)",
        number(Step::done), number(Step::cancelled), condition);
}

template <class T>
Result<std::optional<T>> first_of(Result<std::vector<T>> rows) {
    if (!rows) return tl::unexpected(rows.error());
    if (rows->empty()) return std::optional<T>();
    return std::optional<T>(std::move(rows->front()));
}

}  // namespace

Result<std::vector<Rollout>> RolloutJournal::rollouts(int limit) const {
    const std::lock_guard lock(state_.mutex);
    Statement select(
        state_.db.get(),
        fmt::format("SELECT {} FROM rollouts ORDER BY id DESC LIMIT ?", rollout_columns).c_str());
    select.bind(std::int64_t{limit});
    return sqlite::all_rows(select, read_rollout);
}

Result<std::optional<Rollout>> RolloutJournal::rollout(std::int64_t id) const {
    const std::lock_guard lock(state_.mutex);
    Statement select(state_.db.get(),
                     fmt::format("SELECT {} FROM rollouts WHERE id=?", rollout_columns).c_str());
    select.bind(id);
    return first_of(sqlite::all_rows(select, read_rollout));
}

Result<std::vector<Rollout>> RolloutJournal::unfinished() const {
    const std::lock_guard lock(state_.mutex);
    Statement select(
        state_.db.get(),
        fmt::format("SELECT {} FROM rollouts WHERE state NOT IN ({},{}) OR (state={} AND EXISTS "
                    "(SELECT 1 FROM rollout_nodes WHERE rollout=rollouts.id AND step<{})) "
                    "ORDER BY id",
                    rollout_columns, number(RolloutState::done), number(RolloutState::aborted),
                    number(RolloutState::aborted), number(Step::done))
            .c_str());
    return sqlite::all_rows(select, read_rollout);
}

Result<std::vector<RolloutNode>> RolloutJournal::nodes(std::int64_t rollout) const {
    const std::lock_guard lock(state_.mutex);
    Statement select(
        state_.db.get(),
        fmt::format("SELECT {} FROM rollout_nodes WHERE rollout=? ORDER BY position", node_columns)
            .c_str());
    select.bind(rollout);
    return sqlite::all_rows(select, read_node);
}

Result<std::vector<RolloutNode>> RolloutJournal::history_of(const std::string& node,
                                                            int limit) const {
    const std::lock_guard lock(state_.mutex);
    Statement select(state_.db.get(), fmt::format("SELECT {} FROM rollout_nodes WHERE node=? ORDER "
                                                  "BY rollout DESC LIMIT ?",
                                                  node_columns)
                                          .c_str());
    select.bind(node).bind(std::int64_t{limit});
    return sqlite::all_rows(select, read_node);
}

Result<std::vector<Event>> RolloutJournal::events(std::int64_t rollout, int limit) const {
    const std::lock_guard lock(state_.mutex);
    Statement select(state_.db.get(),
                     "SELECT at, node, who, text, rollout FROM events WHERE rollout=? ORDER BY id "
                     "DESC LIMIT ?");
    select.bind(rollout).bind(std::int64_t{limit});
    return sqlite::all_rows(select, [](const Statement& row) {
        return Event{row.integer(0), row.text(1), row.text(2), row.text(3), row.integer(4)};
    });
}

Result<std::vector<Quarantine>> RolloutJournal::quarantined() const {
    const std::lock_guard lock(state_.mutex);
    Statement select(state_.db.get(),
                     "SELECT image, since, rollout, reason FROM quarantine ORDER BY since");
    return sqlite::all_rows(select, [](const Statement& row) {
        return Quarantine{row.text(0), row.integer(1), row.integer(2), row.text(3)};
    });
}

Result<std::vector<Pin>> RolloutJournal::pins() const {
    const std::lock_guard lock(state_.mutex);
    Statement select(state_.db.get(), pin_query("1").c_str());
    return sqlite::all_rows(select, read_pin);
}

Result<std::optional<Pin>> RolloutJournal::pin(const std::string& node) const {
    const std::lock_guard lock(state_.mutex);
    Statement select(state_.db.get(), pin_query("node=?").c_str());
    select.bind(node).bind(node);
    return first_of(sqlite::all_rows(select, read_pin));
}

Status RolloutJournal::create(Rollout& rollout, std::vector<RolloutNode>& nodes) {
    const std::lock_guard lock(state_.mutex);
    auto* db = state_.db.get();
    sqlite::Transaction all(db);
    Statement insert(db, fmt::format("INSERT INTO rollouts ({}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,"
                                     "?,?,?,?,?,NULL)",
                                     rollout_columns)
                             .c_str());
    bind_rollout(insert, rollout);
    if (auto done = insert.run(); !done) return done;
    rollout.id = sqlite3_last_insert_rowid(db);
    for (auto& node : nodes) {
        node.rollout = rollout.id;
        Statement row(db, fmt::format("INSERT INTO rollout_nodes ({}) VALUES (?,?,?,?,?,?,?,?,?,?,"
                                      "?,?,?,?,?,?,?,?,?)",
                                      node_columns)
                              .c_str());
        bind_node(row, node);
        if (auto done = row.run(); !done) return done;
    }
    return all.commit();
}

Status RolloutJournal::save(const Rollout& rollout) {
    const std::lock_guard lock(state_.mutex);
    Statement change(state_.db.get(),
                     "UPDATE rollouts SET state=?, began=?, ended=?, who=?, reason=?, why=?, "
                     "scope=?, image=?, max_unavailable=?, min_available=?, failure_budget=?, "
                     "forgiven=?, canary=?, soak=?, node_order=?, window=?, via=?, rollback_of=? "
                     "WHERE id=?");
    bind_rollout(change, rollout);
    return change.bind(rollout.id).run();
}

Status RolloutJournal::save(const RolloutNode& node) {
    const std::lock_guard lock(state_.mutex);
    Statement change(
        state_.db.get(),
        "UPDATE rollout_nodes SET position=?, canary=?, direct=?, step=?, job=?, "
        "image_from=?, image_to=?, explicit=?, file_image=?, why=?, tries=?, "
        "planned=?, submitted=?, released=?, started=?, ended=?, after_attempt=? WHERE "
        "rollout=? AND node=?");
    bind_node(change, node);
    return change.run();
}

Status RolloutJournal::note(std::int64_t rollout, const std::string& node, const std::string& who,
                            const std::string& text) {
    const std::lock_guard lock(state_.mutex);
    return Statement(state_.db.get(),
                     "INSERT INTO events (at, node, who, text, rollout) VALUES (?,?,?,?,?)")
        .bind(static_cast<std::int64_t>(std::time(nullptr)))
        .bind(node)
        .bind(who)
        .bind(text)
        .bind(rollout)
        .run();
}

Status RolloutJournal::quarantine(const Quarantine& q) {
    const std::lock_guard lock(state_.mutex);
    return Statement(state_.db.get(),
                     "INSERT OR IGNORE INTO quarantine (image, since, rollout, reason) VALUES "
                     "(?,?,?,?)")
        .bind(q.image)
        .bind(q.since)
        .bind(q.rollout)
        .bind(q.reason)
        .run();
}

Status RolloutJournal::lift_quarantine(const std::string& image) {
    const std::lock_guard lock(state_.mutex);
    return Statement(state_.db.get(), "DELETE FROM quarantine WHERE image=?").bind(image).run();
}

}  // namespace cohort
