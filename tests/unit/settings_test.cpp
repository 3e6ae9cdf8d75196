// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/settings.hpp"

#include <cctype>
#include <cstdlib>
#include <fstream>

#include "tests/unit/unit.hpp"

using cohort::parse_configuration;

namespace {

cohort::Settings site(const std::string& text) {
    auto read = parse_configuration(text, "cohort.conf");
    unit::expect(read.has_value(), read ? "" : read.error().message);
    return read->site;
}

std::string error_of(const std::string& text) {
    auto read = parse_configuration(text, "cohort.conf");
    unit::expect(!read.has_value(), "accepted: " + text);
    return read.error().message;
}

}  // namespace

int main() {
    using namespace std::chrono_literals;
    return unit::run(
        "settings",
        {
            {"an empty file gives the defaults",
             [] {
                 const auto s = site("");
                 unit::expect_equal(s.max_concurrent, 10U);
                 unit::expect_equal(s.max_pending_rebuilds, 20U);
                 unit::expect_equal(s.rebuild_job_user, std::string("root"));
                 unit::expect(s.mixed_revision == cohort::MixedRevision::confine, "confine");
                 unit::expect(s.rebuild_time == 30min && s.stale_after == 30s && s.refresh == 2s,
                              "times");
                 unit::expect_equal(s.max_unavailable.of(64), 6U);
             }},
            {"comments, blanks and letter case do not matter",
             [] {
                 unit::expect_equal(site("# x\n\n  maxconcurrent = 3 # y\n").max_concurrent, 3U);
             }},
            {"an unknown key names file, line and the nearest key",
             [] {
                 const auto e = error_of("\nMaxConcurent=3\n");
                 unit::expect_contains(e, "cohort.conf, line 2");
                 unit::expect_contains(e, "did you mean MaxConcurrent?");
             }},
            {"a command in double quotes on a Cohort= line keeps its blanks",
             [] {
                 auto read = parse_configuration(
                     "Cohort=k8s Nodes=k[1-4] Backend=exec BackendCommand=\"/x/kube {verb} "
                     "{node}\" "
                     "BackendTime=2min\nCohort=old Nodes=o1 Backend=reboot "
                     "BackendCommand=\"/usr/bin/ipmitool -H {node}-bmc chassis power cycle\"\n",
                     "cohort.conf");
                 unit::expect(read.has_value(), read ? "" : read.error().message);
                 const auto& exec = read->cohorts[0].settings;
                 unit::expect(exec.backend == cohort::BackendKind::exec, "exec");
                 unit::expect_equal(exec.backend_command, std::string("/x/kube {verb} {node}"));
                 unit::expect(exec.backend_time == 120s, "time");
                 unit::expect(read->site.backend == cohort::BackendKind::nova, "site");
             }},
            {"a back end that could not work is refused, with what is missing",
             [] {
                 unit::expect_contains(error_of("Backend=exec"), "{verb} and {node}");
                 unit::expect_contains(error_of("Backend=exec\nBackendCommand=/x {node}"),
                                       "{verb} and {node}");
                 unit::expect_contains(error_of("Cohort=a Nodes=n1 Backend=reboot"),
                                       "line 1: Cohort=a: Backend=reboot needs BackendCommand");
                 unit::expect_contains(error_of("BackendCommand=kubectl {verb}"), "absolute path");
                 unit::expect_contains(error_of("BackendCommand=/x {name}"), "{name} is none of");
             }},
            {"a key far from all is just unknown",
             [] { unit::expect_contains(error_of("Zebra=1"), "unknown key Zebra"); }},
            {"a bad value says what is expected",
             [] {
                 unit::expect_contains(error_of("MaxConcurrent=0"), "from 1 to 10000");
                 unit::expect_contains(error_of("Unlock=maybe"), "yes or no");
                 unit::expect_contains(error_of("MixedRevision=mix"), "confine, block, hold, off");
                 unit::expect_contains(error_of("StateDir=here"), "absolute path");
             }},
            {"a line without = is refused",
             [] { unit::expect_contains(error_of("Unlock yes"), "Key=Value"); }},
            {"a key set twice is refused",
             [] { unit::expect_contains(error_of("Unlock=yes\nUnlock=no"), "set twice"); }},
            {"durations have units",
             [] {
                 unit::expect(site("RebuildTime=45min").rebuild_time == 45min, "min");
                 unit::expect(site("VerifyWait=90").verify_wait == 90s, "bare seconds");
                 unit::expect(site("Refresh=200ms").refresh == 200ms, "ms");
             }},
            {"an amount is a number or a percentage, at least one node",
             [] {
                 unit::expect_equal(site("MaxUnavailable=25%").max_unavailable.of(16), 4U);
                 unit::expect_equal(site("MaxUnavailable=10%").max_unavailable.of(3), 1U);
                 unit::expect_equal(site("MaxUnavailable=7").max_unavailable.of(3), 7U);
                 unit::expect_contains(error_of("MaxUnavailable=101%"), "0% to 100%");
             }},
            {"a cohort inherits the site's values and overrides some, wherever its line stands",
             [] {
                 auto read = parse_configuration(
                     "Cohort=gpu Nodes=g[1-4] MixedRevision=block\nFailureBudget=7\n", "c");
                 unit::expect(read.has_value(), "parses");
                 unit::expect_equal(read->cohorts.size(), 1U);
                 unit::expect(
                     read->cohorts[0].settings.mixed_revision == cohort::MixedRevision::block,
                     "own");
                 unit::expect_equal(read->cohorts[0].settings.failure_budget, 7U);
                 unit::expect(read->site.mixed_revision == cohort::MixedRevision::confine,
                              "site kept");
             }},
            {"a cohort needs a name and nodes, once",
             [] {
                 unit::expect_contains(error_of("Cohort=a"), "needs Nodes");
                 unit::expect_contains(error_of("Cohort= Nodes=n1"), "needs a name");
                 unit::expect_contains(error_of("Cohort=a Nodes=n1\nCohort=a Nodes=n2"), "twice");
             }},
            {"a site-wide key is refused on a cohort line",
             [] {
                 unit::expect_contains(error_of("Cohort=a Nodes=n1 StateDir=/x"), "whole site");
             }},
            {"the sample is right with every line switched on",
             [] {
                 const char* source = std::getenv("srcdir");
                 const std::string path =
                     std::string(source ? source : ".") + "/etc/cohort.conf.example";
                 std::ifstream file(path);
                 std::string text, line;
                 std::size_t keys = 0;
                 while (std::getline(file, line)) {
                     const bool key = line.size() > 1 && line[0] == '#' &&
                                      std::isupper(static_cast<unsigned char>(line[1]));
                     if (key) ++keys;
                     text += (key ? line.substr(1) : line) + "\n";
                 }
                 unit::expect(keys >= 30, "no sample at " + path);
                 const auto read = parse_configuration(text, "cohort.conf.example");
                 unit::expect(read.has_value(), read ? "" : read.error().message);
                 unit::expect_equal(read->cohorts.size(), std::size_t{2});
             }},
            {"the state folder lies beside Slurm's own",
             [] {
                 unit::expect_equal(cohort::default_state_dir("/var/lib/slurm/ctld/"),
                                    std::string("/var/lib/slurm/ctld-cohort"));
             }},
        });
}
