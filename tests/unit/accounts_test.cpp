// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/accounts.hpp"

#include "tests/unit/unit.hpp"

using namespace cohort;
using unit::expect;
using unit::expect_contains;
using unit::expect_equal;
using unit::Rule;

namespace {

constexpr std::uint32_t alice = 1001, bob = 1002, carol = 1003, stranger = 1999;

// root > physics > optics; alice: optics (default), chemistry; bob: chemistry; carol: no default.
Accounting accounting() {
    Accounting all;
    all.associations = {
        {"physics", "root", "", 0xfffffffe, false},
        {"optics", "physics", "", 0xfffffffe, false},
        {"chemistry", "root", "", 0xfffffffe, false},
        {"optics", "", "alice", alice, true},
        {"Chemistry", "", "alice", alice, false},
        {"chemistry", "", "alice", alice, false},  // once more, for a partition
        {"chemistry", "", "bob", bob, true},
        {"chemistry", "", "carol", carol, false},
        {"physics", "", "carol", carol, false},
    };
    all.operators = {bob};
    return all;
}

AccountAnswer judge(const std::vector<std::string>& denied, std::uint32_t user,
                    const std::string& account, bool enforced = true) {
    const AccountBook book(accounting(), enforced);
    return judge_account(&book, denied, user, account);
}

void passes(const AccountAnswer& answer) {
    expect(!answer.refused, "not refused: " + answer.message);
    expect_equal(answer.message, std::string(), "says nothing");
}

void denied_rules(std::vector<Rule>& rules) {
    rules.push_back({"nothing denied, all in order", [] { passes(judge({}, alice, "")); }});
    rules.push_back({"a named account that is denied", [] {
                         const auto got = judge({"chemistry"}, alice, "chemistry");
                         expect(got.refused, "refused");
                         expect_equal(got.message,
                                      std::string("cohort: account chemistry is paused: it gets no "
                                                  "new jobs. Its running jobs go on.\n"
                                                  "Your other accounts (-A NAME): optics."),
                                      "text");
                     }});
    rules.push_back({"the default account is judged when none is named", [] {
                         const auto got = judge({"chemistry"}, bob, "");
                         expect(got.refused, "refused");
                         expect_contains(got.message, "chemistry (your default) is paused");
                         expect_contains(got.message, "Ask the cluster's administrators");
                     }});
    rules.push_back({"an account below a denied one", [] {
                         const auto got = judge({"physics"}, alice, "");
                         expect(got.refused, "refused");
                         expect_contains(got.message,
                                         "optics (your default) is paused, as all of "
                                         "physics are");
                     }});
    rules.push_back({"an account above a denied one is open",
                     [] { passes(judge({"optics"}, carol, "physics")); }});
    rules.push_back({"case does not matter, on either side", [] {
                         expect(judge({"CHEMISTRY"}, alice, "Chemistry").refused, "refused");
                         passes(judge({"optics"}, alice, "CHEMISTRY"));
                     }});
    rules.push_back({"others that are denied too are not offered", [] {
                         const auto got = judge({"chemistry", "physics"}, alice, "chemistry");
                         expect_contains(got.message, "Ask the cluster's administrators");
                     }});
    rules.push_back({"without a book a named account is judged, a default one is not", [] {
                         expect(judge_account(nullptr, {"x"}, alice, "X").refused, "refused");
                         passes(judge_account(nullptr, {"x"}, alice, ""));
                     }});
    rules.push_back({"a loop in the tree ends", [] {
                         Accounting all;
                         all.associations = {{"a", "b", "", 0, false}, {"b", "a", "", 0, false}};
                         const AccountBook book(all, false);
                         passes(judge_account(&book, {"c"}, alice, "a"));
                     }});
}

void help_rules(std::vector<Rule>& rules) {
    rules.push_back({"no default account: told, left to Slurm", [] {
                         const auto got = judge({}, carol, "");
                         expect(!got.refused, "Slurm refuses it");
                         expect_contains(got.message,
                                         "name one with -A. Yours: chemistry, physics.");
                         expect_contains(got.message, "set DefaultAccount=");
                     }});
    rules.push_back({"an account of others", [] {
                         const auto got = judge({}, bob, "optics");
                         expect(!got.refused, "Slurm refuses it");
                         expect_contains(got.message, "you may not use account optics. Yours");
                     }});
    rules.push_back({"no association at all", [] {
                         expect_contains(judge({}, stranger, "").message, "you have no account");
                     }});
    rules.push_back({"associations are not enforced: nothing to tell", [] {
                         passes(judge({}, carol, "", false));
                         passes(judge({}, stranger, "optics", false));
                     }});
    rules.push_back(
        {"a long list is cut", [] {
             Accounting all;
             for (int i = 0; i < 12; ++i)
                 all.associations.push_back({"a" + std::to_string(i), "", "alice", alice, false});
             const AccountBook book(all, true);
             expect_contains(judge_account(&book, {}, alice, "").message, "a7 and 4 more");
         }});
    rules.push_back({"operators", [] {
                         const AccountBook book(accounting(), true);
                         expect(book.is_operator(bob) && !book.is_operator(alice), "bob only");
                     }});
}

}  // namespace

int main() {
    std::vector<Rule> rules;
    denied_rules(rules);
    help_rules(rules);
    return unit::run("accounts", rules);
}
