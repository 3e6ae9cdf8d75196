// SPDX-License-Identifier: GPL-2.0-or-later
//
// Host lists as slurmctld and people write them.
#include "common/slurm/hostlist.hpp"

#include "common/slurm/compat.hpp"
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

// A name that goes on behind its brackets [22.05: refused; 24.11 and 26.05: read].
constexpr const char* where_read(const char* names) {
    return COHORT_SLURM_AT_LEAST(24, 11) ? names : nullptr;
}

const Row rows[] = {
    {"", ""},
    {"n1", "n1"},
    {"compute-[001-003]", "compute-001 compute-002 compute-003"},
    {"b04-[09-10]", "b04-09 b04-10"},
    {"nodeA,nodeB[001,003],nodeC", "nodeA nodeB001 nodeB003 nodeC"},
    {"node-[001-010,15]",
     "node-001 node-002 node-003 node-004 node-005 node-006 node-007 node-008 node-009 node-010 "
     "node-15"},
    {"tux[001-10]", "tux001 tux002 tux003 tux004 tux005 tux006 tux007 tux008 tux009 tux010"},
    {"tux[09-11]", "tux09 tux10 tux11"},
    {"tux[1,3,2]", "tux1 tux3 tux2"},
    {"tux[1,1]", "tux1 tux1"},
    {"tux1,,tux2", "tux1 tux2"},
    {",tux1", "tux1"},
    {"tux1,", "tux1"},
    {"[1-3]", "1 2 3"},
    {"hpc_node_1", "hpc_node_1"},
    {"hpc_node_[1-2]", "hpc_node_1 hpc_node_2"},
    {"gpu.a100-1", "gpu.a100-1"},
    {"gpu.a100-[1-2]", "gpu.a100-1 gpu.a100-2"},
    {"@all", "@all"},
    // Braces are no brackets: Slurm takes them for a part of the names.
    {"node{1,2}", "node{1 2}"},
    {"n[1-3]-ib", where_read("n1-ib n2-ib n3-ib")},
    {"[00-03]p", where_read("00p 01p 02p 03p")},
    {"node[0]0", where_read("node00")},
    {"compute-[0-1].cluster.internal",
     where_read("compute-0.cluster.internal compute-1.cluster.internal")},
    {"foo[]", nullptr},
    {"foo[x-y]", nullptr},
    {"foo[1-2-3]", nullptr},
    {"foo[0-65536]", nullptr},
    {"n[2-1]", nullptr},
    {"n[1-", nullptr},
    {"n1,[,n2", nullptr},
    {"n1 n2", nullptr},
    {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
    // The order is Slurm's own: the second bracket is the slowest.
    {"rack[0-1]n[0-1]c[0-1]",
     "rack0n0c0 rack0n0c1 rack1n0c0 rack1n0c1 rack0n1c0 rack0n1c1 rack1n1c0 rack1n1c1"},
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
