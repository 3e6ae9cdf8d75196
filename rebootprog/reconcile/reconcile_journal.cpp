// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reconcile/reconcile_journal.hpp"

#include "rebootprog/journal/journal_state.hpp"

namespace cohort {

Result<std::map<std::string, std::int64_t>> ReconcileJournal::stale_since() const {
    const std::lock_guard lock(state_.mutex);
    sqlite::Statement select(state_.db.get(), "SELECT node, since FROM stale_nodes");
    auto rows = sqlite::all_rows(select, [](const sqlite::Statement& row) {
        return std::pair(row.text(0), row.integer(1));
    });
    if (!rows) return tl::unexpected(rows.error());
    return std::map<std::string, std::int64_t>(rows->begin(), rows->end());
}

Status ReconcileJournal::keep(const std::map<std::string, std::int64_t>& stale_since) {
    const std::lock_guard lock(state_.mutex);
    auto* db = state_.db.get();
    sqlite::Transaction all(db);
    if (auto done = sqlite::Statement(db, "DELETE FROM stale_nodes").run(); !done) return done;
    for (const auto& [node, since] : stale_since)
        if (auto done = sqlite::Statement(db, "INSERT INTO stale_nodes (node, since) VALUES (?,?)")
                            .bind(node)
                            .bind(since)
                            .run();
            !done)
            return done;
    return all.commit();
}

}  // namespace cohort
