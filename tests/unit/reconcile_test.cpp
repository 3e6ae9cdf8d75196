// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reconcile/reconcile_decide.hpp"

#include <filesystem>

#include "rebootprog/reconcile/inventory.hpp"
#include "rebootprog/reconcile/reconcile_journal.hpp"
#include "rebootprog/site/run_command.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

constexpr std::int64_t now = 100000;

Node stale_node(const char* name = "d1") {
    Node node;
    node.name = name;
    node.state.base = NodeState::Base::down;
    node.state.not_responding = true;
    node.state.dynamic = true;
    node.boot_time = node.slurmd_start_time = now - 5000;
    return node;
}

ReconcileView view_of(Node node, bool there = false) {
    ReconcileView view;
    view.stale_since[node.name] = now - 1000;
    view.nodes = {std::move(node)};
    view.in_inventory = [there](const std::string&) { return there; };
    view.now = now;
    return view;
}

std::string acts_of(const ReconcileView& view) {
    std::string text;
    for (const auto& act : decide_reconcile(view))
        text += fmt::format("{}{}:{}", text.empty() ? "" : " ", name_of(act.kind), act.node);
    return text;
}

// CHANGE on a node that would be deleted.
std::string with(const std::function<void(Node&, ReconcileView&)>& change) {
    Node node = stale_node();
    ReconcileView view = view_of(node);
    change(view.nodes[0], view);
    return acts_of(view);
}

unit::Rule truth(bool registered, bool there, bool down) {
    const std::string words = fmt::format(
        "{} in Slurm, {} in the inventory, {}: {}", registered ? "" : "not ", there ? "" : "not ",
        down ? "down" : "up", registered && !there && down ? "deleted" : "left alone");
    return {words, [=] {
                Node node = stale_node();
                node.state.base = !registered ? NodeState::Base::future
                                  : down      ? NodeState::Base::down
                                              : NodeState::Base::idle;
                node.state.not_responding = down;
                const bool gone = registered && !there && down;
                unit::expect_equal(acts_of(view_of(node, there)),
                                   std::string(gone ? "delete:d1" : ""));
            }};
}

std::string inventory_error(const char* text, bool hosts = false) {
    const auto parsed = parse_inventory(text, "list", hosts);
    return parsed ? fmt::format("{} names", parsed->size()) : parsed.error().message;
}

CommandResult ran(std::vector<std::string> words) {
    Command command;
    command.words = std::move(words);
    auto done = run_command(command);
    unit::expect(done.has_value(), done ? "" : done.error().message);
    return std::move(*done);
}

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    for (int bits = 0; bits < 8; ++bits)
        rules.push_back(truth((bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0));
    const std::vector<unit::Rule> more = {
        {"DOWN without a ping failing is enough, and so is a failing ping alone",
         [] {
             unit::expect_equal(with([](Node& n, auto&) { n.state.not_responding = false; }),
                                std::string("delete:d1"));
             unit::expect_equal(with([](Node& n, auto&) { n.state.base = NodeState::Base::idle; }),
                                std::string("delete:d1"));
         }},
        {"a node of slurm.conf is never deleted",
         [] {
             unit::expect_equal(with([](Node& n, auto&) { n.state.dynamic = false; }),
                                std::string());
         }},
        {"what power saving shut down is not gone",
         [] {
             unit::expect_equal(with([](Node& n, auto&) { n.state.power_saving = true; }),
                                std::string());
             unit::expect_equal(with([](Node& n, auto&) { n.state.cloud = true; }), std::string());
         }},
        {"a node waits until it was stale for ReconcileAge",
         [] {
             unit::expect_equal(with([](Node&, auto& v) { v.stale_since["d1"] = now - 119; }),
                                std::string("wait:d1"));
             unit::expect_equal(with([](Node&, auto& v) { v.stale_since["d1"] = now - 120; }),
                                std::string("delete:d1"));
             unit::expect_equal(with([](Node&, auto& v) { v.stale_since.clear(); }),
                                std::string("wait:d1"));
         }},
        {"a busy node is drained, and left alone once it is",
         [] {
             const auto busy = [](Node&, auto& v) { v.job_on["d1"] = "7"; };
             unit::expect_equal(with(busy), std::string("drain:d1"));
             unit::expect_equal(with([&](Node& n, auto& v) {
                                    busy(n, v);
                                    n.state.drain = true;
                                    n.reason =
                                        std::string(reason_prefix) + std::string(gone_reason);
                                }),
                                std::string("keep:d1"));
             unit::expect_equal(with([](Node& n, auto&) { n.state.completing = true; }),
                                std::string("drain:d1"));
         }},
        {"drained by us and free at last, it is deleted",
         [] {
             unit::expect_equal(with([](Node& n, auto&) {
                                    n.state.drain = true;
                                    n.reason =
                                        std::string(reason_prefix) + std::string(gone_reason);
                                }),
                                std::string("delete:d1"));
         }},
        {"drained by us and back in the inventory, it is resumed; another's drain is not",
         [] {
             Node node = stale_node();
             node.state.base = NodeState::Base::idle;
             node.state.not_responding = false;
             node.state.drain = true;
             node.reason = std::string(reason_prefix) + std::string(gone_reason);
             unit::expect_equal(acts_of(view_of(node, true)), std::string("resume:d1"));
             node.reason = std::string(reason_prefix) + "something else of ours";
             unit::expect_equal(acts_of(view_of(node, true)), std::string());
             node.reason = "disk";
             unit::expect_equal(acts_of(view_of(node, true)), std::string());
         }},
        {"an administrator's drain keeps the record",
         [] {
             unit::expect_equal(with([](Node& n, auto&) {
                                    n.state.drain = true;
                                    n.reason = "disk";
                                }),
                                std::string("keep:d1"));
         }},
        {"a node under rebuild, behind a barrier, or rebooting, is left alone",
         [] {
             unit::expect_equal(with([](Node&, auto& v) { v.under_rebuild["d1"] = "rollout 3"; }),
                                std::string("keep:d1"));
             unit::expect_equal(with([](Node& n, auto&) { n.record.hold = "barrier 3"; }),
                                std::string("keep:d1"));
             unit::expect_equal(with([](Node& n, auto&) { n.state.powering_up = true; }),
                                std::string("keep:d1"));
         }},
        {"within the grace time after a boot, a registration or an attempt it is left alone",
         [] {
             unit::expect_equal(with([](Node& n, auto&) { n.boot_time = now - 299; }),
                                std::string("keep:d1"));
             unit::expect_equal(with([](Node& n, auto&) { n.slurmd_start_time = now - 299; }),
                                std::string("keep:d1"));
             unit::expect_equal(with([](Node&, auto& v) { v.last_attempt["d1"] = now - 299; }),
                                std::string("keep:d1"));
             unit::expect_equal(with([](Node& n, auto&) { n.boot_time = now - 300; }),
                                std::string("delete:d1"));
         }},
        {"a node that a waiting job names is left alone",
         [] {
             unit::expect_equal(with([](Node&, auto& v) { v.wanted_by["d1"] = "9"; }),
                                std::string("keep:d1"));
         }},
        {"a refused registration is repaired: dynamic, INVALID_REG, its reason, no jobs",
         [] {
             Node node = stale_node();
             node.state.base = NodeState::Base::idle;
             node.state.not_responding = false;
             node.state.drain = true;
             node.state.invalid_registration = true;
             node.reason = "CoreSpec differ";
             ReconcileView view = view_of(node, true);
             view.with_inventory = false;
             unit::expect_equal(acts_of(view), std::string("repair:d1"));
             const auto without = [&](auto change) {
                 ReconcileView other = view;
                 change(other);
                 return acts_of(other);
             };
             unit::expect_equal(without([](auto& v) { v.nodes[0].state.dynamic = false; }),
                                std::string());
             unit::expect_equal(
                 without([](auto& v) { v.nodes[0].state.invalid_registration = false; }),
                 std::string());
             unit::expect_equal(without([](auto& v) { v.nodes[0].reason = "Low RealMemory"; }),
                                std::string());
             unit::expect_equal(without([](auto& v) { v.job_on["d1"] = "7"; }),
                                std::string("keep:d1"));
             unit::expect_equal(without([](auto& v) { v.under_rebuild["d1"] = "rollout 3"; }),
                                std::string("keep:d1"));
         }},
        {"an inventory with one failed item, or one bad line, is no inventory",
         [] {
             unit::expect_equal(inventory_error("{\"name\": \"n1\"}\n{\"name\": \"n2\", "
                                                "\"state\": \"running\"}\n"),
                                std::string("2 names"));
             unit::expect_contains(
                 inventory_error("{\"name\": \"n1\"}\n{\"name\": \"n2\", \"error\": \"time-out\"}\n"
                                 "{\"name\": \"n3\"}\n"),
                 "list, line 2: n2 could not be told: time-out");
             unit::expect_contains(inventory_error("{\"name\": \"n1\"}\nError: no route\n"),
                                   "list, line 2");
             unit::expect_contains(inventory_error("{\"state\": \"running\"}\n"), "no \"name\"");
             unit::expect_contains(inventory_error("[1]\n"), "no JSON object");
         }},
        {"an item that its source calls gone is not there",
         [] {
             const auto parsed = parse_inventory(
                 "{\"name\":\"n1\",\"state\":\"Terminated\"}\n"
                 "{\"name\":\"n2\",\"state\":\"poweroff\"}\n",
                 "list", false);
             unit::expect(parsed && !parsed->has("n1") && parsed->has("n2"), "n2 only");
         }},
        {"a file may name hosts as slurm.conf does; a command may not",
         [] {
             unit::expect_equal(inventory_error("# all\nn[1-4]\nlogin1 # one\n", true),
                                std::string("5 names"));
             unit::expect_contains(inventory_error("n[1-4]\n"), "list, line 1");
             unit::expect_contains(inventory_error("n[1-\n", true), "list, line 1");
         }},
        {"a machine is known by its first label and in any letter case",
         [] {
             Inventory inventory;
             inventory.add("N1.cloud.example");
             unit::expect(
                 inventory.has("n1") && inventory.has("n1.cluster") && !inventory.has("n2"),
                 "n1 only");
         }},
        {"a command's words are no shell's, and its failure is told in its own words",
         [] {
             unit::expect_equal(ran({"printf", "%s", "a;b $HOME"}).output,
                                std::string("a;b $HOME"));
             const auto failed = ran({"sh", "-c", "echo no token >&2; exit 7"});
             unit::expect_equal(failed.complaint(), std::string("exit status 7: no token"));
             Command command;
             command.words = {"/nowhere/at-all"};
             unit::expect(!run_command(command), "cannot be started");
         }},
        {"a command that does not end is ended, with its children",
         [] {
             Command command;
             command.words = {"sh", "-c", "sleep 60 & sleep 60"};
             command.limit = std::chrono::seconds(1);
             const auto done = run_command(command);
             unit::expect(!done && done.error().code == Errc::busy, "the limit passed");
         }},
        {"since when a node is stale outlives the pass", [] {
             char folder[] = "/tmp/reconcile-test.XXXXXX";
             unit::expect(::mkdtemp(folder) != nullptr, "folder");
             {
                 auto journal = Journal::open(folder);
                 unit::expect(journal.has_value(), "journal");
                 unit::expect(ReconcileJournal(*journal).keep({{"d1", 5}, {"d2", 6}}).has_value(),
                              "kept");
                 unit::expect(ReconcileJournal(*journal).keep({{"d2", 6}}).has_value(), "kept");
             }
             auto journal = Journal::open(folder);
             const auto since = ReconcileJournal(*journal).stale_since();
             std::filesystem::remove_all(folder);
             unit::expect(since && since->size() == 1 && since->at("d2") == 6, "d2 since 6");
         }}};
    rules.insert(rules.end(), more.begin(), more.end());
    return unit::run("reconcile", std::move(rules));
}
