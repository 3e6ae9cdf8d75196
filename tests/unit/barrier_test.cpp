// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/barrier/barrier.hpp"

#include <filesystem>

#include "common/node_record.hpp"
#include "rebootprog/barrier/barrier_journal.hpp"
#include "rebootprog/rollout/rollout_row.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

unit::Rule start(Sameness same, Openness open, BarrierStart wanted) {
    constexpr const char* same_words[] = {"same revision", "other revision", "unknown revision"};
    constexpr const char* open_words[] = {"open", "closed", "state unknown"};
    constexpr const char* start_words[] = {"nothing to do", "recover", "begin", "refuse"};
    return {fmt::format("{}, {}: {}", same_words[static_cast<int>(same)],
                        open_words[static_cast<int>(open)], start_words[static_cast<int>(wanted)]),
            [=] {
                unit::expect_equal(static_cast<int>(decide_start(same, open)),
                                   static_cast<int>(wanted));
            }};
}

// A node of a rollout whose cloud action has ended well.
struct Held {
    Node node;
    Attempt attempt;
    RolloutNode row;

    Held() {
        node.name = row.node = attempt.node = "n1";
        node.state.base = NodeState::Base::down;
        node.state.fail = true;
        node.record.hold = "barrier 3";
        node.reason = node.record.out_reason =
            std::string(reason_prefix) + hold_reason("barrier 3");
        node.record.want = Want{};
        node.record.want->image = row.image_to = "image";
        node.record.want->at = attempt.posted = 1000;
        node.record.want->result = std::string(result_ok);
        row.step = Step::rebuilding;
        row.direct = true;
        attempt.id = 7;
        attempt.outcome = Outcome::ok;
        attempt.ended = 1010;
    }
    RowChange change() const {
        return update_row(row, {&node, nullptr, nullptr, &attempt}, {.now = 1020});
    }
};

}  // namespace

int main() {
    using S = Sameness;
    using O = Openness;
    using B = BarrierStart;
    return unit::run(
        "barrier",
        {start(S::same, O::open, B::nothing),
         start(S::same, O::closed, B::recover),
         start(S::same, O::unknown, B::refuse),
         start(S::changed, O::open, B::begin),
         start(S::changed, O::closed, B::begin),
         start(S::changed, O::unknown, B::refuse),
         start(S::unknown, O::open, B::refuse),
         start(S::unknown, O::closed, B::refuse),
         start(S::unknown, O::unknown, B::refuse),
         {"a node behind a barrier is done when it has proved itself, and stays out",
          [] {
              Held held;
              held.node.record.revision = "rev_0123456789abcdef";
              const auto change = held.change();
              unit::expect(change.row.step == Step::done && !change.give_back, "done, not back");
          }},
         {"without a proof it is waited for",
          [] {
              const auto change = Held().change();
              unit::expect(change.row.step == Step::rebuilding && !change.give_back, "waits");
          }},
         {"taken out by its own join it has failed",
          [] {
              Held held;
              held.node.reason = std::string(reason_prefix) + "runs lab/v1, wanted lab/v2";
              const auto change = held.change();
              unit::expect(change.row.step == Step::failed, "failed");
              unit::expect_contains(change.row.why, "lab/v1");
          }},
         {"the hold stands in Extra beside what else is there",
          [] {
              NodeRecord record;
              record.hold = "barrier 3";
              const auto extra = merge_extra("{\"site\":1}", record);
              unit::expect(extra.has_value(), "written");
              unit::expect_equal(parse_extra(*extra)->hold, std::string("barrier 3"));
              unit::expect_contains(*extra, "\"site\"");
              record.hold.clear();
              unit::expect_equal(merge_extra(*extra, record).value_or(""),
                                 std::string("{\"site\":1}"));
          }},
         {"drains are the lock until the proof, then the reservation, then nothing",
          [] {
              Barrier barrier;
              barrier.id = 3;
              for (int i = 0; i <= static_cast<int>(BarrierStep::open); ++i) {
                  barrier.step = static_cast<BarrierStep>(i);
                  const bool proved = barrier.step >= BarrierStep::resume;
                  unit::expect_equal(barrier.drains(), !proved);
                  unit::expect_equal(barrier.reserves(),
                                     proved && barrier.step != BarrierStep::open);
              }
              barrier.step = BarrierStep::wait;
              barrier.state = BarrierState::given_up;
              unit::expect(!barrier.drains() && !barrier.reserves(), "ended");
          }},
         {"a barrier is in the journal with all that it needs to go on", [] {
              char folder[] = "/tmp/barrier-test.XXXXXX";
              unit::expect(::mkdtemp(folder) != nullptr, "folder");
              Barrier barrier;
              barrier.cohort = "gpu";
              barrier.nodes = "n[1-8]";
              barrier.partitions = "main,long";
              barrier.command = "[\"/bin/true\",\"a b\"]";
              barrier.began = 5;
              {
                  auto journal = Journal::open(folder);
                  unit::expect(journal.has_value(), "journal");
                  unit::expect(BarrierJournal(*journal).create(barrier).has_value(), "created");
                  barrier.step = BarrierStep::prove;
                  barrier.why = "n3 runs rev_x";
                  unit::expect(BarrierJournal(*journal).save(barrier).has_value(), "saved");
              }
              auto journal = Journal::open(folder);
              BarrierJournal barriers(*journal);
              const auto open = barriers.unfinished();
              unit::expect(open && open->size() == 1, "one");
              const Barrier& back = open->front();
              unit::expect_equal(
                  back.name() + back.nodes + back.partitions + back.command + back.why,
                  "barrier 1" + barrier.nodes + barrier.partitions + barrier.command + barrier.why);
              unit::expect(back.step == BarrierStep::prove && back.began == 5, "step");
              barrier.state = BarrierState::opened;
              unit::expect(barriers.save(barrier).has_value(), "saved");
              unit::expect(barriers.unfinished()->empty() && barriers.barriers(9)->size() == 1,
                           "ended");
              std::filesystem::remove_all(folder);
          }}});
}
