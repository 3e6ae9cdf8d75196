// SPDX-License-Identifier: GPL-2.0-or-later
//
// The journal: what was tried on which node and how it ended. The truth of the suite. Rollouts are
// in it too: rollout_journal.hpp.
//
// SQLite, StateDir/journal.db, rollback journal and full sync (StateDir may lie on a shared file
// system). One Journal per process, usable from many threads (its own mutex); many processes may
// write at once (busy time-out 30 s). Times are seconds since the epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"

struct sqlite3;

namespace cohort {

// How far an attempt has come. posting: the request is about to be sent and may have been taken
// when the process died.
enum class Phase { begun, posting, following, ended };

// How it ended.
enum class Outcome {
    open,       // it has not
    ok,         // the cloud's action succeeded (the node itself is judged by join and verify)
    failed,     // tried and failed, or refused: the node is out of service
    untouched,  // nothing was sent, the node runs what it ran
    unsure,     // the request may have been taken: followed by advance
};

struct Attempt {
    std::int64_t id = 0;
    std::string node;
    std::string server;  // UUID; empty when it was never found
    std::string action;  // "rebuild", "reboot"; empty before the decision
    std::string image_from;
    std::string image_to;
    std::string label;    // cohort_rev before
    std::string request;  // nova's request id
    Phase phase = Phase::begun;
    Outcome outcome = Outcome::open;
    std::string reason;
    std::int64_t began = 0;
    std::int64_t posted = 0;  // 0: nothing was asked of the cloud, or it certainly took nothing
    std::int64_t ended = 0;
    std::int64_t pid = 0;  // of the process that works on it
};

struct Event {
    std::int64_t at = 0;
    std::string node;
    std::string who;  // "cohort-reboot", "advance", a user's name
    std::string text;
    std::int64_t rollout = 0;  // 0: none
};

const char* name_of(Outcome outcome);
const char* name_of(Phase phase);

class Journal {
  public:
    // Creates the file (0600) and its tables when absent, and brings an older one up to date.
    // Errc::invalid when it was written by a newer version.
    static Result<Journal> open(const std::string& state_dir);
    Journal(Journal&&) noexcept;
    Journal& operator=(Journal&&) noexcept;
    ~Journal();

    // Adds the attempt and returns its id.
    Result<std::int64_t> begin(const Attempt& attempt);
    // Writes every field of an attempt that has an id.
    Status update(const Attempt& attempt);
    Status note(const std::string& node, const std::string& who, const std::string& text);

    Result<std::vector<Attempt>> open_attempts() const;
    // The newest attempt of each node, by node name.
    Result<std::vector<Attempt>> latest_attempts() const;
    Result<std::optional<Attempt>> latest_attempt(const std::string& node) const;
    // The node's machines that were made and removed, newest first.
    Result<std::vector<Attempt>> machines_of(const std::string& node, int limit) const;
    // How many of the node's newest attempts of that ACTION have failed, up to the last that has
    // not.
    Result<int> failed_in_row(const std::string& node, const std::string& action) const;
    // Newest first.
    Result<std::vector<Event>> events(int limit) const;

  private:
    friend class BarrierJournal;
    friend class ReconcileJournal;
    friend class RolloutJournal;
    struct State;
    explicit Journal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace cohort
