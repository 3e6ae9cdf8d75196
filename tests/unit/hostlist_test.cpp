// SPDX-License-Identifier: GPL-2.0-or-later
//
// Host lists as slurmctld and people write them.
#include "common/slurm/hostlist.hpp"

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const auto& name : names) all += (all.empty() ? "" : " ") + name;
    return all;
}

struct Row {
    const char* text;
    const char* names;  // nullptr: refused
};

const Row rows[] = {
    {"", ""},
    {"n1", "n1"},
    {"compute-[001-003]", "compute-001 compute-002 compute-003"},
    {"b04-[09-10]", "b04-09 b04-10"},
    {"nodeA,nodeB[001,003],nodeC", "nodeA nodeB001 nodeB003 nodeC"},
    {"n[2-1]", nullptr},
    {"n[1-", nullptr},
    {"n1,[,n2", nullptr},
    {"n1 n2", nullptr},
    {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
    // Slurm's own parser would make two and a half thousand million names of it.
    {"r[1-50000]n[1-50000]", nullptr},
    {"n[1-65536],m[1-65536],o[1-65536],p[1-65537]", nullptr},
    {"n[1-4294967296000]", nullptr},
};

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    for (const auto& row : rows)
        rules.push_back({*row.text ? row.text : "nothing", [&row] {
                             const auto names = slurm::expand_hosts(row.text);
                             if (!row.names) {
                                 unit::expect(!names && names.error().code == Errc::invalid,
                                              "refused");
                                 return;
                             }
                             unit::expect(names.has_value(), "read");
                             unit::expect_equal(joined(*names), std::string(row.names));
                         }});
    rules.push_back({"as many as the largest Slurm", [] {
                         const auto names = slurm::expand_hosts("n[1-65535]");
                         unit::expect(names.has_value(), "read");
                         unit::expect_equal(names->size(), std::size_t{65535});
                         unit::expect_equal(slurm::compress_hosts(*names),
                                            std::string("n[1-65535]"));
                     }});
    return unit::run("hostlist", rules);
}
