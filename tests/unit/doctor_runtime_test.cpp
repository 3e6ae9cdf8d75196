// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/doctor_runtime.hpp"

#include <filesystem>
#include <fstream>

#include "rebootprog/node/plugin_file.hpp"
#include "tests/unit/profile_fixture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using Level = Finding::Level;

namespace {

RuntimeView good() {
    RuntimeView view;
    view.slurm_major = 24;
    view.slurm_minor = 11;
    view.prolog_alloc = view.prolog_defer_batch = true;
    view.scheduler_parameters = "bf_interval=2,nohold_on_prolog_fail";
    view.plugstack = {"# x", "required spank_cohort.so path=append",
                      "required /opt/spank_pyxis.so"};
    view.plugin_version = 24 << 16 | 11 << 8 | 5;
    return view;
}

struct Row {
    const char* words;
    std::function<void(RuntimeView&)> change;
    Level level;
    const char* sentence;
};

const Row rows[] = {
    {"no PrologFlags=Alloc", [](RuntimeView& v) { v.prolog_alloc = false; }, Level::failure,
     "set PrologFlags=Alloc"},
    {"no DeferBatch", [](RuntimeView& v) { v.prolog_defer_batch = false; }, Level::warning,
     "Alloc,DeferBatch"},
    {"hold after a failed prolog", [](RuntimeView& v) { v.scheduler_parameters.clear(); },
     Level::warning, "slurmctld reads it"},
    {"the same on 22.05",
     [](RuntimeView& v) {
         v.slurm_major = 22;
         v.slurm_minor = 5;
         v.scheduler_parameters.clear();
     },
     Level::warning, "slurmd reads it"},
    {"no line", [](RuntimeView& v) { v.plugstack.clear(); }, Level::warning,
     "without a launch gate"},
    {"a line in a comment", [](RuntimeView& v) { v.plugstack = {"#required spank_cohort.so"}; },
     Level::warning, "without a launch gate"},
    {"optional", [](RuntimeView& v) { v.plugstack = {"optional spank_cohort.so"}; }, Level::failure,
     "write `required`"},
    {"twice", [](RuntimeView& v) { v.plugstack.push_back("required /usr/lib/spank_cohort.so"); },
     Level::failure, "more than once"},
    {"after pyxis",
     [](RuntimeView& v) {
         v.plugstack = {"required spank_pyxis.so", "required spank_cohort.so"};
     },
     Level::warning, "before that of pyxis"},
    {"not installed", [](RuntimeView& v) { v.plugin_version = 0; }, Level::failure, "install it"},
    {"of another version", [](RuntimeView& v) { v.plugin_version = 22 << 16 | 5 << 8 | 8; },
     Level::failure, "built for Slurm 22.05"},
};

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    rules.push_back({"the sample configuration has no finding", [] {
                         for (const auto& finding : check_runtime(good()))
                             unit::expect(finding.level == Level::ok, finding.text);
                     }});
    for (const auto& row : rows)
        rules.push_back({row.words, [&row] {
                             auto view = good();
                             row.change(view);
                             std::string found;
                             for (const auto& finding : check_runtime(view))
                                 if (finding.level == row.level) found += finding.text + "\n";
                             unit::expect_contains(found, row.sentence);
                         }});
    rules.push_back({"included files stand in their place; a loop ends", [] {
                         const unit::Scratch scratch;
                         std::filesystem::create_directories(scratch.path + "/plugstack.conf.d");
                         std::ofstream(scratch.path + "/plugstack.conf")
                             << "a b\ninclude plugstack.conf.d/*.conf\nc d\n";
                         std::ofstream(scratch.path + "/plugstack.conf.d/x.conf")
                             << "required spank_cohort.so\n";
                         const auto lines = read_plugstack(scratch.path + "/plugstack.conf");
                         unit::expect(
                             lines ==
                                 std::vector<std::string>{"a b", "required spank_cohort.so", "c d"},
                             "lines");
                         std::ofstream(scratch.path + "/loop") << "include loop\n";
                         unit::expect(!read_plugstack(scratch.path + "/loop"), "loop");
                         unit::expect(!read_plugstack(scratch.path + "/absent"), "absent");
                     }});
    rules.push_back({"a plugin's version is read without loading it; what is none is refused", [] {
                         const unit::Scratch scratch;
                         const std::string file = scratch.path + "/x.so";
                         unit::expect(!plugin_version_of(file), "absent");
                         std::ofstream(file) << "no library";
                         unit::expect(!plugin_version_of(file), "no library");
                         unit::expect(!plugin_version_of("/proc/self/exe"), "no plugin");
                         // Cut anywhere: refused or read, never a crash.
                         std::ifstream self("/proc/self/exe", std::ios::binary);
                         std::string bytes(std::istreambuf_iterator<char>(self), {});
                         for (std::size_t size = 1; size < bytes.size(); size = size * 3 + 1) {
                             std::ofstream(file, std::ios::binary) << bytes.substr(0, size);
                             unit::expect(!plugin_version_of(file), "cut");
                         }
                     }});
    rules.push_back(
        {"whether the launch gate needs a profile, and where", [] {
             unit::expect(!launch_gate_of({"required spank_other.so", "#required spank_cohort.so"})
                               .needs_profile,
                          "no line");
             unit::expect(!launch_gate_of({"required spank_cohort.so profile=off"}).needs_profile,
                          "off");
             const auto gate =
                 launch_gate_of({"required /x/spank_cohort.so path=append profile_dir=/p"});
             unit::expect(gate.needs_profile && gate.profile_dir == "/p", "a line");
             unit::expect(launch_gate_of({"required spank_cohort.so"}).profile_dir.empty(),
                          "default");
         }});
    return unit::run("doctor_runtime", std::move(rules));
}
