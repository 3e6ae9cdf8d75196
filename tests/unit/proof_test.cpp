// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/proof.hpp"

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

constexpr std::int64_t at = 1000;

Want want(const std::string& stamp, const std::string& result,
          const std::string& action = "rebuild") {
    Want w;
    w.stamp = stamp;
    w.result = result;
    w.action = action;
    w.at = at;
    w.root = "old";
    return w;
}

void expect_proof(const Want& w, const Observed& o, Proof proof, bool weak_ok = true) {
    const auto j = judge(w, o, weak_ok);
    unit::expect(j.proof == proof, j.why);
    unit::expect(!j.why.empty(), "says why");
}

}  // namespace

int main() {
    return unit::run(
        "proof",
        {
            {"the wanted stamp on a new boot is a strong proof, also while the action runs",
             [] {
                 expect_proof(want("v2", "ok"), {"v2", "new", at + 5}, Proof::strong);
                 expect_proof(want("v2", ""), {"v2", "new", at + 5}, Proof::strong);
             }},
            {"the old stamp after the action ended is no proof: the cloud lied",
             [] {
                 expect_proof(want("v2", "ok"), {"v1", "new", at + 5}, Proof::unproved);
             }},
            {"the old stamp while the action runs cannot be told yet",
             [] {
                 expect_proof(want("v2", ""), {"v1", "old", at + 5}, Proof::pending);
             }},
            {"a boot before the attempt is never a proof, whatever the stamp",
             [] {
                 expect_proof(want("v2", "ok"), {"v2", "new", at - 500}, Proof::unproved);
             }},
            {"clocks may differ by a little",
             [] {
                 expect_proof(want("v2", "ok"), {"v2", "new", at - 1}, Proof::strong);
             }},
            {"a failed action is never a proof, also with the right stamp",
             [] {
                 expect_proof(want("v2", "failed: ERROR"), {"v2", "new", at + 5}, Proof::unproved);
             }},
            {"no stamp: action ok, new boot, new root is weak",
             [] {
                 expect_proof(want("", "ok"), {"", "new", at + 5}, Proof::weak);
             }},
            {"no stamp: the same root is no proof",
             [] {
                 expect_proof(want("", "ok"), {"", "old", at + 5}, Proof::unproved);
             }},
            {"no stamp: an unknown root before is no proof",
             [] {
                 auto w = want("", "ok");
                 w.root.clear();
                 expect_proof(w, {"", "new", at + 5}, Proof::unproved);
             }},
            {"no stamp: wait for the action's end",
             [] {
                 expect_proof(want("", ""), {"", "new", at + 5}, Proof::pending);
             }},
            {"no stamp: AcceptWeakProof=no refuses",
             [] {
                 expect_proof(want("", "ok"), {"", "new", at + 5}, Proof::unproved, false);
             }},
            {"a plain reboot keeps its root",
             [] {
                 expect_proof(want("", "ok", "reboot"), {"", "old", at + 5}, Proof::weak);
             }},
            {"os-release: the three image keys, quotes removed",
             [] {
                 unit::expect_equal(
                     stamp_of_os_release(
                         "ID=debian\nIMAGE_ID=\"lab\"\nIMAGE_VERSION='v2'\n#BUILD_ID=9\n"),
                     std::string("lab/v2"));
                 unit::expect_equal(stamp_of_os_release("BUILD_ID=77\n"), std::string("77"));
                 unit::expect_equal(stamp_of_os_release("ID=debian\n"), std::string());
             }},
            {"a stamp file gives its first line",
             [] { unit::expect_equal(stamp_of_file(" v7 \nrest"), std::string("v7")); }},
        });
}
