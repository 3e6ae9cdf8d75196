// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/doctor_runtime.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <glob.h>

#include "common/file.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

using Level = Finding::Level;

constexpr std::string_view plugin_file = "spank_cohort.so";
constexpr std::size_t max_file = 4 * 1024 * 1024;  // a slurm.conf may name 10,000 nodes
constexpr int max_depth = 8;

bool at_least(const RuntimeView& view, std::uint32_t major, std::uint32_t minor) {
    return view.slurm_major > major || (view.slurm_major == major && view.slurm_minor >= minor);
}

bool names(std::string_view word, std::string_view file) {
    return word == file || word.ends_with("/" + std::string(file));
}

Finding check_flags(const RuntimeView& view) {
    if (!view.prolog_alloc)
        return {Level::failure, "PrologFlags",
                "without Alloc a bad second node is found only when a running job's first step "
                "gets there: set PrologFlags=Alloc"};
    if (at_least(view, 24, 11) && !view.prolog_defer_batch)
        return {Level::warning, "PrologFlags",
                "without DeferBatch a batch script starts before the other nodes' prologs are "
                "done: set PrologFlags=Alloc,DeferBatch"};
    return {Level::ok, "PrologFlags", "a bad node is found before the job starts"};
}

Finding check_hold(const RuntimeView& view) {
    const auto set = text::split(view.scheduler_parameters, ',');
    if (std::find(set.begin(), set.end(), "nohold_on_prolog_fail") != set.end())
        return {Level::ok, "nohold_on_prolog_fail", "a refused job is requeued, not held"};
    return {Level::warning, "nohold_on_prolog_fail",
            fmt::format("a job that a launch gate refused stays held until somebody releases it: "
                        "add nohold_on_prolog_fail to SchedulerParameters ({} reads it)",
                        at_least(view, 23, 2) ? "slurmctld" : "slurmd")};
}

void check_lines(const RuntimeView& view, std::vector<Finding>& found) {
    std::size_t ours = 0;
    bool after_pyxis = false, pyxis = false;
    for (const auto& line : view.plugstack) {
        const auto words = text::words(line);
        if (words.size() < 2 || words[0][0] == '#') continue;
        if (names(words[1], "spank_pyxis.so")) pyxis = true;
        if (!names(words[1], plugin_file)) continue;
        ++ours;
        after_pyxis = after_pyxis || pyxis;
        if (words[0] != "required")
            found.push_back(
                {Level::failure, "plugstack",
                 fmt::format("'{}' lets tasks run after a refusal: write `required`", words[0])});
    }
    if (ours == 0)
        found.push_back({Level::warning, "plugstack",
                         "no line for spank_cohort.so: jobs start without a launch gate"});
    if (ours > 1)
        found.push_back({Level::failure, "plugstack", "spank_cohort.so is there more than once"});
    if (after_pyxis)
        found.push_back(
            {Level::warning, "plugstack", "put the line of spank_cohort.so before that of pyxis"});
    if (ours == 1 && !after_pyxis)
        found.push_back({Level::ok, "plugstack", "one line for spank_cohort.so"});
}

Finding check_version(const RuntimeView& view) {
    if (view.plugin_version == 0)
        return {Level::failure, "spank_cohort.so",
                "it is not in Slurm's PluginDir: srun and sbatch refuse to start, install it"};
    const std::uint32_t major = (view.plugin_version >> 16) & 0xff;
    const std::uint32_t minor = (view.plugin_version >> 8) & 0xff;
    if (major != view.slurm_major || minor != view.slurm_minor)
        return {Level::failure, "spank_cohort.so",
                fmt::format("built for Slurm {}.{:02}, this is {}.{:02}: rebuild it", major, minor,
                            view.slurm_major, view.slurm_minor)};
    return {Level::ok, "spank_cohort.so", "built for this version of Slurm"};
}

struct Glob {
    glob_t matches{};
    explicit Glob(const std::string& pattern) { ::glob(pattern.c_str(), 0, nullptr, &matches); }
    Glob(const Glob&) = delete;
    Glob& operator=(const Glob&) = delete;
    ~Glob() { ::globfree(&matches); }
};

Status read_into(const std::string& path, int depth, std::vector<std::string>& lines) {
    if (depth > max_depth) return fail(Errc::invalid, fmt::format("{}: includes itself", path));
    const auto content = read_file(path, max_file);
    if (!content) return tl::unexpected<Error>(content.error());
    for (const auto& line : text::split(*content, '\n')) {
        const auto words = text::words(line);
        if (words.size() != 2 || !text::iequals(words[0], "include")) {
            lines.push_back(line);
            continue;
        }
        const bool absolute = words[1][0] == '/';
        const Glob found(absolute ? words[1] : path.substr(0, path.rfind('/') + 1) + words[1]);
        for (std::size_t i = 0; i < found.matches.gl_pathc; ++i)
            if (auto read = read_into(found.matches.gl_pathv[i], depth + 1, lines); !read)
                return read;
    }
    return {};
}

}  // namespace

std::vector<Finding> check_runtime(const RuntimeView& view) {
    std::vector<Finding> found{check_flags(view), check_hold(view)};
    check_lines(view, found);
    found.push_back(check_version(view));
    return found;
}

LaunchGate launch_gate_of(const std::vector<std::string>& plugstack) {
    constexpr std::string_view directory_key = "profile_dir=";
    LaunchGate gate;
    for (const auto& line : plugstack) {
        const auto words = text::words(line);
        if (words.size() < 2 || words[0][0] == '#' || !names(words[1], plugin_file)) continue;
        gate.there = gate.needs_profile = true;
        for (const std::string_view word : words) {
            if (word == "profile=off") gate.needs_profile = false;
            if (word.starts_with(directory_key))
                gate.profile_dir = word.substr(directory_key.size());
        }
    }
    return gate;
}

Result<std::vector<std::string>> read_plugstack(const std::string& path) {
    std::vector<std::string> lines;
    if (auto read = read_into(path, 0, lines); !read) return tl::unexpected<Error>(read.error());
    return lines;
}

}  // namespace cohort
