// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/journal/journal.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.hpp"
#include "rebootprog/journal/journal_state.hpp"

namespace cohort {
namespace {

constexpr std::int64_t schema_version = 4;
constexpr int busy_timeout_ms = 30000;

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS attempts (
    id INTEGER PRIMARY KEY, node TEXT NOT NULL, server TEXT, action TEXT, image_from TEXT,
    image_to TEXT, label TEXT, request TEXT, phase INTEGER NOT NULL, outcome INTEGER NOT NULL,
    reason TEXT, began INTEGER NOT NULL, posted INTEGER, ended INTEGER, pid INTEGER);
CREATE INDEX IF NOT EXISTS attempts_node ON attempts (node, id);
CREATE INDEX IF NOT EXISTS attempts_open ON attempts (outcome);
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, node TEXT, who TEXT, text TEXT);
CREATE INDEX IF NOT EXISTS events_node ON events (node, id);
)";

// What each version added to the one before: [0] leads from 1 to 2.
constexpr const char* steps[] = {
    R"(
ALTER TABLE events ADD COLUMN rollout INTEGER NOT NULL DEFAULT 0;
CREATE INDEX events_rollout ON events (rollout, id);
CREATE TABLE rollouts (
    id INTEGER PRIMARY KEY, state INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER, who TEXT,
    reason TEXT, why TEXT, scope TEXT, image TEXT, max_unavailable TEXT, min_available TEXT,
    failure_budget INTEGER, forgiven INTEGER, canary INTEGER, soak INTEGER, node_order TEXT,
    window TEXT, via TEXT, rollback_of INTEGER);
CREATE TABLE rollout_nodes (
    rollout INTEGER NOT NULL, node TEXT NOT NULL, position INTEGER, canary INTEGER, direct INTEGER,
    step INTEGER NOT NULL, job INTEGER, image_from TEXT, image_to TEXT, explicit INTEGER,
    file_image TEXT, why TEXT, tries INTEGER, planned INTEGER, submitted INTEGER, released INTEGER,
    started INTEGER, ended INTEGER, after_attempt INTEGER, PRIMARY KEY (rollout, node));
CREATE INDEX rollout_nodes_node ON rollout_nodes (node, rollout);
CREATE TABLE quarantine (
    image TEXT PRIMARY KEY, since INTEGER NOT NULL, rollout INTEGER, reason TEXT);
)",
    R"(
CREATE TABLE stale_nodes (node TEXT PRIMARY KEY, since INTEGER NOT NULL);
)",
    R"(
CREATE TABLE barriers (
    id INTEGER PRIMARY KEY, state INTEGER NOT NULL, step INTEGER NOT NULL, cohort TEXT, nodes TEXT,
    others TEXT, partitions TEXT, image TEXT, revision TEXT, command TEXT, who TEXT, reason TEXT,
    why TEXT, began INTEGER NOT NULL, ended INTEGER, replaced INTEGER, rollout INTEGER);
)"};
static_assert(std::size(steps) == schema_version - 1);

constexpr const char* attempt_columns =
    "id, node, server, action, image_from, image_to, label, request, phase, outcome, reason, "
    "began, posted, ended, pid";

Attempt read_attempt(const sqlite::Statement& row) {
    Attempt a;
    a.id = row.integer(0);
    a.node = row.text(1);
    a.server = row.text(2);
    a.action = row.text(3);
    a.image_from = row.text(4);
    a.image_to = row.text(5);
    a.label = row.text(6);
    a.request = row.text(7);
    a.phase = static_cast<Phase>(row.integer(8));
    a.outcome = static_cast<Outcome>(row.integer(9));
    a.reason = row.text(10);
    a.began = row.integer(11);
    a.posted = row.integer(12);
    a.ended = row.integer(13);
    a.pid = row.integer(14);
    return a;
}

void bind_attempt(sqlite::Statement& s, const Attempt& a) {
    s.bind(a.node).bind(a.server).bind(a.action).bind(a.image_from).bind(a.image_to).bind(a.label);
    s.bind(a.request).bind(static_cast<std::int64_t>(a.phase));
    s.bind(static_cast<std::int64_t>(a.outcome)).bind(a.reason);
    s.bind(a.began).bind(a.posted).bind(a.ended).bind(a.pid);
}

Result<std::int64_t> version_of(sqlite3* db) {
    sqlite::Statement version(db, "PRAGMA user_version");
    if (auto row = version.step(); !row) return tl::unexpected(row.error());
    return version.integer(0);
}

// Two processes may open an old file at once: the second waits, and finds nothing to do.
Status bring_up_to_date(sqlite3* db, const std::string& path) {
    auto known = version_of(db);
    if (!known) return tl::unexpected(known.error());
    if (*known == schema_version) return {};
    if (*known > schema_version)
        return fail(Errc::invalid, fmt::format("{} was written by a newer slurm-cohort", path));
    const auto run = [&](const std::string& sql) {
        return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    };
    if (!run("BEGIN IMMEDIATE")) return sqlite::failure(db, "cannot prepare " + path);
    known = version_of(db);
    bool good = known && run(schema);
    for (std::int64_t v = std::max<std::int64_t>(1, known.value_or(1)); good && v < schema_version;
         ++v)
        good = run(steps[v - 1]);  // cppcheck-suppress negativeIndex ; v is 1 at least
    if (good && run(fmt::format("PRAGMA user_version={}", schema_version)) && run("COMMIT"))
        return {};
    auto failed = sqlite::failure(db, "cannot prepare " + path);
    run("ROLLBACK");
    return failed;
}

// root runs scohort, SlurmUser runs cohort-reboot: the file belongs to the folder's owner.
Status own_by_folder(const std::string& file, const std::string& folder) {
    struct stat st {};
    if (::geteuid() != 0 || ::stat(folder.c_str(), &st) != 0) return {};
    if (::chown(file.c_str(), st.st_uid, st.st_gid) != 0)
        return fail(Errc::failed, fmt::format("cannot give {} to the owner of {}", file, folder));
    return {};
}

}  // namespace

const char* name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::open:
            return "running";
        case Outcome::ok:
            return "ok";
        case Outcome::failed:
            return "failed";
        case Outcome::untouched:
            return "untouched";
        case Outcome::unsure:
            return "unsure";
    }
    return "?";
}

const char* name_of(Phase phase) {
    switch (phase) {
        case Phase::begun:
            return "begun";
        case Phase::posting:
            return "posting";
        case Phase::following:
            return "following";
        case Phase::ended:
            return "ended";
    }
    return "?";
}

Journal::Journal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;
Journal::~Journal() = default;

Result<Journal> Journal::open(const std::string& state_dir) {
    const std::string path = state_dir + "/journal.db";
    const bool is_new = ::access(path.c_str(), F_OK) != 0;
    if (is_new) {
        const UniqueFd made(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (!made) return fail(Errc::failed, fmt::format("cannot create {}", path));
        if (auto owned = own_by_folder(path, state_dir); !owned)
            return tl::unexpected(owned.error());
    }
    sqlite3* raw = nullptr;
    const int rc =
        sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, nullptr);
    auto state = std::make_unique<State>();
    state->db.reset(raw);
    if (rc != SQLITE_OK) return sqlite::failure(raw, "cannot open " + path);
    sqlite3_busy_timeout(raw, busy_timeout_ms);
    for (const char* sql : {"PRAGMA journal_mode=DELETE", "PRAGMA synchronous=FULL"})
        if (sqlite3_exec(raw, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
            return sqlite::failure(raw, "cannot prepare " + path);
    if (auto ready = bring_up_to_date(raw, path); !ready) return tl::unexpected(ready.error());
    return Journal(std::move(state));
}

Result<std::int64_t> Journal::begin(const Attempt& attempt) {
    const std::lock_guard lock(state_->mutex);
    sqlite::Statement insert(
        state_->db.get(),
        "INSERT INTO attempts (node, server, action, image_from, image_to, label, request, phase, "
        "outcome, reason, began, posted, ended, pid) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    bind_attempt(insert, attempt);
    if (auto done = insert.run(); !done) return tl::unexpected(done.error());
    return sqlite3_last_insert_rowid(state_->db.get());
}

Status Journal::update(const Attempt& attempt) {
    const std::lock_guard lock(state_->mutex);
    sqlite::Statement change(
        state_->db.get(),
        "UPDATE attempts SET node=?, server=?, action=?, image_from=?, image_to=?, label=?, "
        "request=?, phase=?, outcome=?, reason=?, began=?, posted=?, ended=?, pid=? WHERE id=?");
    bind_attempt(change, attempt);
    return change.bind(attempt.id).run();
}

Status Journal::note(const std::string& node, const std::string& who, const std::string& text) {
    const std::lock_guard lock(state_->mutex);
    return sqlite::Statement(state_->db.get(),
                             "INSERT INTO events (at, node, who, text) VALUES (?,?,?,?)")
        .bind(static_cast<std::int64_t>(std::time(nullptr)))
        .bind(node)
        .bind(who)
        .bind(text)
        .run();
}

Result<std::vector<Attempt>> Journal::open_attempts() const {
    const std::lock_guard lock(state_->mutex);
    sqlite::Statement select(
        state_->db.get(),
        fmt::format("SELECT {} FROM attempts WHERE outcome IN (?,?) ORDER BY id", attempt_columns)
            .c_str());
    select.bind(static_cast<std::int64_t>(Outcome::open))
        .bind(static_cast<std::int64_t>(Outcome::unsure));
    return sqlite::all_rows(select, read_attempt);
}

Result<std::vector<Attempt>> Journal::latest_attempts() const {
    const std::lock_guard lock(state_->mutex);
    sqlite::Statement select(
        state_->db.get(),
        fmt::format("SELECT {} FROM attempts WHERE id IN (SELECT max(id) FROM attempts GROUP BY "
                    "node) ORDER BY node",
                    attempt_columns)
            .c_str());
    return sqlite::all_rows(select, read_attempt);
}

Result<std::optional<Attempt>> Journal::latest_attempt(const std::string& node) const {
    const std::lock_guard lock(state_->mutex);
    sqlite::Statement select(
        state_->db.get(),
        fmt::format("SELECT {} FROM attempts WHERE node=? ORDER BY id DESC LIMIT 1",
                    attempt_columns)
            .c_str());
    select.bind(node);
    auto rows = sqlite::all_rows(select, read_attempt);
    if (!rows) return tl::unexpected(rows.error());
    if (rows->empty()) return std::optional<Attempt>();
    return std::optional<Attempt>(std::move(rows->front()));
}

Result<std::vector<Attempt>> Journal::machines_of(const std::string& node, int limit) const {
    const std::lock_guard lock(state_->mutex);
    sqlite::Statement select(
        state_->db.get(),
        fmt::format("SELECT {} FROM attempts WHERE node=? AND action IN ('create', 'delete') ORDER "
                    "BY id DESC LIMIT ?",
                    attempt_columns)
            .c_str());
    select.bind(node).bind(std::int64_t{limit});
    return sqlite::all_rows(select, read_attempt);
}

Result<int> Journal::failed_in_row(const std::string& node, const std::string& action) const {
    const std::lock_guard lock(state_->mutex);
    sqlite::Statement select(
        state_->db.get(),
        "SELECT count(*) FROM attempts WHERE node=?1 AND action=?2 AND outcome=?3 AND id > (SELECT "
        "ifnull(max(id), 0) FROM attempts WHERE node=?1 AND action=?2 AND outcome!=?3)");
    select.bind(node).bind(action).bind(static_cast<std::int64_t>(Outcome::failed));
    if (auto row = select.step(); !row) return tl::unexpected(row.error());
    return static_cast<int>(select.integer(0));
}

Result<std::vector<Event>> Journal::events(int limit) const {
    const std::lock_guard lock(state_->mutex);
    sqlite::Statement select(
        state_->db.get(),
        "SELECT at, node, who, text, rollout FROM events ORDER BY id DESC LIMIT ?");
    select.bind(std::int64_t{limit});
    return sqlite::all_rows(select, [](const sqlite::Statement& row) {
        return Event{row.integer(0), row.text(1), row.text(2), row.text(3), row.integer(4)};
    });
}

}  // namespace cohort
