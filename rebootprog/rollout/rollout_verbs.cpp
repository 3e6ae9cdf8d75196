// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/rollout_verbs.hpp"

#include <algorithm>
#include <ctime>
#include <map>

#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "rebootprog/cloud/desired.hpp"
#include "rebootprog/report_error.hpp"
#include "rebootprog/rollout/advance.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"

namespace cohort {
namespace {

constexpr int lock_patience = 60;

// One verb under way: the lock, the journal, and who asked.
class Verb {
  public:
    static Result<Verb> begin(const Site& site, const std::string& who) {
        auto lock = lock_advance(site, lock_patience);
        if (!lock) return tl::unexpected(lock.error());
        auto journal = Journal::open(site.state_dir);
        if (!journal) return tl::unexpected(journal.error());
        return Verb(site, std::move(*lock), std::move(*journal), who);
    }

    RolloutJournal rollouts() const { return RolloutJournal(journal_); }
    const Journal& journal() const { return journal_; }

    // Those that are open: the one that is named, or all.
    Result<std::vector<Rollout>> open_rollouts(std::int64_t id) const {
        auto all = rollouts().unfinished();
        if (!all) return all;
        std::erase_if(*all, [&](const Rollout& r) { return !r.open() || (id != 0 && r.id != id); });
        if (id != 0 && all->empty())
            return fail(Errc::invalid, fmt::format("no rollout {} is under way", id));
        return all;
    }

    Status change(Rollout& rollout, RolloutState state, const std::string& why,
                  const std::string& event) {
        rollout.state = state;
        rollout.why = why;
        if (!rollout.open()) rollout.ended = std::time(nullptr);
        if (auto saved = rollouts().save(rollout); !saved) return saved;
        std::printf("rollout %lld %s\n", static_cast<long long>(rollout.id), event.c_str());
        return rollouts().note(rollout.id, "", who_, event);
    }

    Status create(Rollout rollout, std::vector<RolloutNode> rows, const std::string& event) {
        const std::int64_t now = std::time(nullptr);
        rollout.who = who_;
        rollout.began = now;
        rollout.ended = rollout.forgiven = rollout.canary = rollout.soak = 0;
        rollout.state = RolloutState::active;
        rollout.why.clear();
        if (auto fresh = prepare(rows, now); !fresh) return fresh;
        if (auto created = rollouts().create(rollout, rows); !created) return created;
        std::printf("rollout %lld %s\n", static_cast<long long>(rollout.id), event.c_str());
        return rollouts().note(rollout.id, "", who_, event);
    }

    // Rows of another try, as if they had just been planned.
    Status prepare(std::vector<RolloutNode>& rows, std::int64_t now) const {
        auto latest = journal_.latest_attempts();
        if (!latest) return tl::unexpected(latest.error());
        std::map<std::string, std::int64_t> ids;
        for (const auto& attempt : *latest) ids[attempt.node] = attempt.id;
        for (auto& row : rows) {
            row.step = Step::planned;
            row.canary = false;
            row.job = 0;
            row.why.clear();
            row.planned = now;
            row.submitted = row.released = row.started = row.ended = 0;
            row.after_attempt = ids[row.node];
        }
        return {};
    }

    int finish() {
        std::fflush(stdout);
        return take_step(site_, journal_, who_, false);
    }

  private:
    Verb(const Site& site, UniqueFd lock, Journal journal, std::string who)
        : site_(site), lock_(std::move(lock)), journal_(std::move(journal)), who_(std::move(who)) {}

    const Site& site_;
    UniqueFd lock_;
    Journal journal_;
    std::string who_;
};

std::string with_reason(std::string text, const std::string& reason) {
    return reason.empty() ? text : text + ": " + reason;
}

int none_open() {
    std::puts("no rollout is under way");
    return exit_code::ok;
}

std::int64_t failed_in(const std::vector<RolloutNode>& rows) {
    return std::ranges::count(rows, Step::failed, &RolloutNode::step);
}

// CHANGE for the open rollout ID, or for each that is open.
template <class Change>
int for_open_rollouts(const Site& site, std::int64_t id, const std::string& who, Change&& change) {
    auto verb = Verb::begin(site, who);
    if (!verb) return report(verb.error());
    auto open = verb->open_rollouts(id);
    if (!open) return report(open.error());
    if (open->empty()) return none_open();
    for (auto& rollout : *open)
        if (auto done = change(*verb, rollout); !done) return report(done.error());
    return verb->finish();
}

}  // namespace

int pause_rollout(const Site& site, std::int64_t id, const std::string& reason,
                  const std::string& who) {
    return for_open_rollouts(site, id, who, [&](Verb& verb, Rollout& rollout) -> Status {
        if (rollout.state != RolloutState::active) return {};
        const auto why = with_reason("paused by " + who, reason);
        return verb.change(rollout, RolloutState::paused, why, "is " + why);
    });
}

int resume_rollout(const Site& site, std::int64_t id, const std::string& who) {
    return for_open_rollouts(site, id, who, [&](Verb& verb, Rollout& rollout) -> Status {
        if (rollout.state == RolloutState::active) return {};
        auto rows = verb.rollouts().nodes(rollout.id);
        if (!rows) return tl::unexpected(rows.error());
        rollout.forgiven = failed_in(*rows);
        return verb.change(rollout, RolloutState::active, "", "is resumed by " + who);
    });
}

int abort_rollout(const Site& site, std::int64_t id, const std::string& reason,
                  const std::string& who) {
    return for_open_rollouts(site, id, who, [&](Verb& verb, Rollout& rollout) -> Status {
        const auto why = with_reason("aborted by " + who, reason);
        return verb.change(rollout, RolloutState::aborted, why, "is " + why);
    });
}

int retry_nodes(const Site& site, const std::string& expression, const std::string& who) {
    const auto names = slurm::expand_hosts(expression);
    if (!names) return report(names.error());
    auto verb = Verb::begin(site, who);
    if (!verb) return report(verb.error());
    auto bad = verb->rollouts().quarantined();
    if (!bad) return report(bad.error());
    std::map<std::int64_t, std::vector<RolloutNode>> by_rollout;
    for (const auto& name : *names) {
        auto history = verb->rollouts().history_of(name, 1);
        if (!history) return report(history.error());
        if (history->empty() || history->front().open() || history->front().step == Step::done) {
            log::error(
                "{} did not fail in its newest rollout: nothing to retry ('scohort rebuild "
                "-w {}' begins a new one)",
                name, name);
            return exit_code::usage;
        }
        const auto& row = history->front();
        if (std::ranges::find(*bad, row.image_to, &Quarantine::image) != bad->end()) {
            log::error(
                "{} was to get image {}, which is in quarantine: type 'scohort rollback', or "
                "'scohort rebuild -w {} --to {} --allow-quarantined'",
                name, row.image_to, name, row.image_to);
            return exit_code::refused;
        }
        by_rollout[row.rollout].push_back(row);
    }
    for (auto& [id, rows] : by_rollout) {
        auto rollout = verb->rollouts().rollout(id);
        if (!rollout || !*rollout) return exit_code::some_failed;
        if (auto done =
                verb->create(**rollout, rows,
                             fmt::format("tries {} nodes of rollout {} again", rows.size(), id));
            !done)
            return report(done.error());
    }
    return verb->finish();
}

namespace {

// What was changed, and can be changed back; each row's file is read again, so that the old image
// holds until somebody writes another one there.
std::vector<RolloutNode> rows_back(const Site& site, const std::vector<RolloutNode>& rows) {
    std::vector<RolloutNode> back;
    for (auto row : rows) {
        const bool tried =
            row.step == Step::done || row.step == Step::failed || row.step == Step::rebuilding;
        if (!tried) continue;
        if (row.image_from.empty() || row.image_from == row.image_to) {
            log::warning("{}: its image before rollout {} is not known, or was the same: left out",
                         row.node, row.rollout);
            continue;
        }
        std::swap(row.image_from, row.image_to);
        row.explicit_image = true;
        row.tries = 0;
        const auto file = read_desired(settings_for(site, {row.node}), row.node);
        row.file_image = file ? file->image_id : std::string();
        back.push_back(std::move(row));
    }
    return back;
}

}  // namespace

int rollback(const Site& site, std::int64_t id, const std::string& who) {
    auto verb = Verb::begin(site, who);
    if (!verb) return report(verb.error());
    auto all =
        id == 0 ? verb->rollouts().rollouts(1) : verb->rollouts().rollout(id).map([](auto found) {
            return found ? std::vector<Rollout>{*found} : std::vector<Rollout>{};
        });
    if (!all) return report(all.error());
    if (all->empty()) {
        log::error("there is no rollout{} in the journal", id ? fmt::format(" {}", id) : "");
        return exit_code::usage;
    }
    Rollout rollout = all->front();
    auto rows = verb->rollouts().nodes(rollout.id);
    if (!rows) return report(rows.error());
    if (rollout.open())
        if (auto done = verb->change(rollout, RolloutState::aborted, "rolled back by " + who,
                                     "is aborted: rolled back by " + who);
            !done)
            return report(done.error());
    auto back = rows_back(site, *rows);
    if (std::ranges::any_of(back, [](const RolloutNode& r) { return r.step == Step::rebuilding; }))
        log::warning(
            "nodes that are being rebuilt now go back when that has ended: type 'scohort "
            "rollback {}' again then",
            rollout.id);
    std::erase_if(back, [](const RolloutNode& r) { return r.step == Step::rebuilding; });
    if (back.empty()) {
        std::printf("rollout %lld changed nothing: nothing to roll back\n",
                    static_cast<long long>(rollout.id));
        return verb->finish();
    }
    Rollout next = rollout;
    next.rollback_of = rollout.id;
    next.image.clear();
    next.reason = fmt::format("rollback of rollout {}", rollout.id);
    next.window.clear();
    if (auto done = verb->create(
            next, back, fmt::format("takes {} nodes of rollout {} back", back.size(), rollout.id));
        !done)
        return report(done.error());
    return verb->finish();
}

std::string invoking_person() {
    const uid_t uid = ::getuid();
    const char* sudo = ::getenv("SUDO_USER");
    if (uid == 0 && sudo && *sudo) return sudo;
    const passwd* user = ::getpwuid(uid);
    return user ? user->pw_name : fmt::format("uid {}", uid);
}

}  // namespace cohort
