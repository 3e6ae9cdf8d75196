// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/rollout_journal.hpp"

#include <cstdlib>
#include <filesystem>

#include <sqlite3.h>

#include "rebootprog/reboot/wanted.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using unit::expect;
using unit::expect_equal;

namespace {

struct Place {
    std::string dir;
    Place() {
        char name[] = "/tmp/rollout_journal.XXXXXX";
        dir = ::mkdtemp(name);
    }
    ~Place() { std::filesystem::remove_all(dir); }
    Journal open() const {
        auto journal = Journal::open(dir);
        expect(journal.has_value(), journal ? "" : journal.error().message);
        return std::move(*journal);
    }
    void sql(const char* text) const {
        sqlite3* db = nullptr;
        sqlite3_open((dir + "/journal.db").c_str(), &db);
        const int rc = sqlite3_exec(db, text, nullptr, nullptr, nullptr);
        sqlite3_close(db);
        expect_equal(rc, SQLITE_OK);
    }
};

RolloutNode row(const char* name, const char* image = "v2") {
    RolloutNode r;
    r.node = name;
    r.image_from = "v1";
    r.image_to = image;
    return r;
}

Rollout begin(RolloutJournal rollouts, std::vector<RolloutNode> rows) {
    Rollout rollout;
    rollout.began = 100;
    rollout.who = "root";
    rollout.scope = "n[1-3]";
    rollout.max_unavailable = "25%";
    rollout.canary = 1;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].position = static_cast<std::int64_t>(i);
    expect(rollouts.create(rollout, rows).has_value(), "created");
    return rollout;
}

std::string pin_text(const Journal& journal, const char* node) {
    const auto pin = RolloutJournal(journal).pin(node);
    expect(pin.has_value(), "read");
    return *pin ? (*pin)->image + ((*pin)->open ? " open" : " ended") : "none";
}

Result<Desired> file(const char* image) {
    return Desired{"", image, "n1.yml"};
}

constexpr const char* version_1 =
    "CREATE TABLE attempts (id INTEGER PRIMARY KEY, node TEXT NOT NULL, server TEXT, action TEXT, "
    "image_from TEXT, image_to TEXT, label TEXT, request TEXT, phase INTEGER NOT NULL, outcome "
    "INTEGER NOT NULL, reason TEXT, began INTEGER NOT NULL, posted INTEGER, ended INTEGER, pid "
    "INTEGER);"
    "CREATE TABLE events (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, node TEXT, who TEXT, text "
    "TEXT);"
    "INSERT INTO attempts (node, phase, outcome, began) VALUES ('n1', 3, 1, 50);"
    "INSERT INTO events (at, node, who, text) VALUES (51, 'n1', 'advance', 'old');"
    "PRAGMA user_version=1;";

}  // namespace

int main() {
    return unit::run(
        "rollout_journal",
        {
            {"a rollout and its nodes come back as they were written",
             [] {
                 const Place place;
                 const auto journal = place.open();
                 RolloutJournal rollouts(journal);
                 const auto made = begin(rollouts, {row("n2"), row("n1")});
                 auto nodes = rollouts.nodes(made.id);
                 expect_equal(nodes->size(), 2U);
                 (*nodes)[0].step = Step::failed;
                 (*nodes)[0].job = 12;
                 (*nodes)[0].why = "no proof";
                 (*nodes)[0].after_attempt = 7;
                 expect(rollouts.save((*nodes)[0]).has_value(), "saved");
                 const auto again = rollouts.history_of("n2", 5);
                 expect_equal(again->at(0).job, 12U);
                 expect_equal(again->at(0).why, std::string("no proof"));
                 expect_equal(again->at(0).after_attempt, 7);
                 const auto read = rollouts.rollout(made.id);
                 expect_equal((*read)->max_unavailable, std::string("25%"));
                 expect_equal((*read)->canary, 1);
                 expect_equal((*read)->scope, std::string("n[1-3]"));
             }},
            {"a journal of version 1 keeps what it has and gets what is new",
             [] {
                 const Place place;
                 place.sql(version_1);
                 const auto journal = place.open();
                 expect_equal(journal.latest_attempts()->size(), 1U);
                 expect_equal(journal.events(5)->at(0).text, std::string("old"));
                 expect_equal(journal.events(5)->at(0).rollout, 0);
                 begin(RolloutJournal(journal), {row("n1")});
                 expect_equal(RolloutJournal(place.open()).rollouts(5)->size(), 1U);
             }},
            {"a journal of a newer version is refused",
             [] {
                 const Place place;
                 place.sql("PRAGMA user_version=99;");
                 const auto journal = Journal::open(place.dir);
                 expect(!journal && journal.error().code == Errc::invalid, "refused");
             }},
            {"unfinished: what is open, and what was aborted with nodes under way",
             [] {
                 const Place place;
                 const auto journal = place.open();
                 RolloutJournal rollouts(journal);
                 auto one = begin(rollouts, {row("n1")});
                 expect_equal(rollouts.unfinished()->size(), 1U);
                 one.state = RolloutState::aborted;
                 expect(rollouts.save(one).has_value(), "saved");
                 expect_equal(rollouts.unfinished()->size(), 1U);
                 auto node = rollouts.nodes(one.id)->at(0);
                 node.step = Step::done;
                 expect(rollouts.save(node).has_value(), "saved");
                 expect_equal(rollouts.unfinished()->size(), 0U);
             }},
            {"events are a rollout's own, newest first",
             [] {
                 const Place place;
                 const auto journal = place.open();
                 RolloutJournal rollouts(journal);
                 expect(rollouts.note(1, "", "root", "begins").has_value(), "noted");
                 expect(rollouts.note(2, "n1", "advance", "other").has_value(), "noted");
                 expect(rollouts.note(1, "n1", "advance", "done").has_value(), "noted");
                 const auto events = rollouts.events(1, 10);
                 expect_equal(events->size(), 2U);
                 expect_equal(events->at(0).text + events->at(0).node, std::string("donen1"));
                 expect_equal(events->at(1).who, std::string("root"));
             }},
            {"an image is in quarantine once, and leaves it",
             [] {
                 const Place place;
                 const auto journal = place.open();
                 RolloutJournal rollouts(journal);
                 expect(rollouts.quarantine({"v2", 1, 3, "first"}).has_value(), "kept");
                 expect(rollouts.quarantine({"v2", 2, 4, "second"}).has_value(), "kept");
                 expect_equal(rollouts.quarantined()->size(), 1U);
                 expect_equal(rollouts.quarantined()->at(0).reason, std::string("first"));
                 expect(rollouts.lift_quarantine("v2").has_value(), "lifted");
                 expect_equal(rollouts.quarantined()->size(), 0U);
             }},
            {"a node goes where its newest rollout says, while that is under way",
             [] {
                 const Place place;
                 const auto journal = place.open();
                 RolloutJournal rollouts(journal);
                 expect_equal(pin_text(journal, "n1"), std::string("none"));
                 auto rollout = begin(rollouts, {row("n1")});
                 expect_equal(pin_text(journal, "n1"), std::string("v2 open"));
                 auto node = rollouts.nodes(rollout.id)->at(0);
                 node.step = Step::done;
                 expect(rollouts.save(node).has_value(), "saved");
                 expect_equal(pin_text(journal, "n1"), std::string("none"));
                 auto named = row("n1", "v3");
                 named.explicit_image = true;
                 rollout = begin(rollouts, {named});
                 node = rollouts.nodes(rollout.id)->at(0);
                 node.step = Step::failed;
                 expect(rollouts.save(node).has_value(), "saved");
                 expect_equal(pin_text(journal, "n1"), std::string("v3 ended"));
                 expect_equal(pin_text(journal, "n2"), std::string("none"));
                 expect_equal(rollouts.pins()->size(), 1U);
                 node.step = Step::cancelled;
                 expect(rollouts.save(node).has_value(), "saved");
                 expect_equal(pin_text(journal, "n1"), std::string("none"));
             }},
            {"a file that was changed since is the newer decision",
             [] {
                 Pin pin{"n1", "v3", "v1", 4, false};
                 expect_equal(wanted_by(file("v1"), pin)->desired.image_id, std::string("v3"));
                 expect_equal(wanted_by(file("v2"), pin)->desired.image_id, std::string("v2"));
                 expect_equal(wanted_by(file("v2"), pin)->rollout, 0);
                 pin.open = true;
                 expect_equal(wanted_by(file("v2"), pin)->desired.image_id, std::string("v3"));
                 expect_equal(wanted_by(file("v2"), std::nullopt)->desired.image_id,
                              std::string("v2"));
             }},
            {"without a file only a rollout says where to go",
             [] {
                 const auto none = fail(Errc::not_found, "no file");
                 expect(!wanted_by(none, std::nullopt).has_value(), "nothing known");
                 expect_equal(wanted_by(none, Pin{"n1", "v3", "", 4, false})->desired.image_id,
                              std::string("v3"));
                 expect(!wanted_by(fail(Errc::invalid, "bad"), Pin{"n1", "v3", "", 4, true})
                             .has_value(),
                        "a file that cannot be read is never passed over");
             }},
        });
}
