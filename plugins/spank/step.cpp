// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/spank/step.hpp"

#include <chrono>
#include <thread>

#include <sys/stat.h>

namespace cohort::spank {
namespace {

using namespace std::chrono_literals;

// slurmd takes jobs a moment before join --after has published: losing that race must not drain the
// node. Well under any PrologTimeout.
constexpr auto patience = 15s;
constexpr auto pause_time = 50ms;
// A rewrite takes milliseconds; a step launch must not hang on it.
constexpr int step_pauses = 4;

}  // namespace

RootDirectory root_directory() {
    // On the stack, not in a page of constants that each task would have to fault in.
    const volatile char path[] = {'/', '\0'};
    struct stat st {};
    if (::stat(const_cast<const char*>(path), &st) != 0) return {};
    return {st.st_dev, st.st_ino};
}

Status Step::configure(const std::vector<std::string_view>& words) {
    arguments_ = parse_arguments(words);
    if (!arguments_) return tl::unexpected<Error>(arguments_.error());
    return {};
}

Status Step::prolog(const PrologJob& job) {
    if (job.rebuild) {
        // verify judges the node; without the mark its tasks could not start on a bad profile.
        auto marked = mark_rebuild_job(job.id, places_.runtime);
        if (!marked) (void)write_refused(marked.error().message, places_.runtime);
        return marked;
    }
    Status verdict = tl::unexpected<Error>(Error{Errc::invalid, ""});
    if (!arguments_) {
        verdict = tl::unexpected<Error>(arguments_.error());
    } else {
        const auto until = std::chrono::steady_clock::now() + patience;
        const View view = look(*arguments_, places_, [until] {
            std::this_thread::sleep_for(pause_time);
            return std::chrono::steady_clock::now() < until;
        });
        const auto revision = judge(*arguments_, view);
        verdict = revision ? judge_constraints(*revision, job.constraints)
                           : Status(tl::unexpected<Error>(revision.error()));
    }
    if (!verdict) (void)write_refused(verdict.error().message, places_.runtime);
    return verdict;
}

Status Step::verdict_of(const View& view, std::uint32_t job_id) {
    const auto revision = judge(*arguments_, view);
    if (view.profile) profile_ = *view.profile;
    if (revision || is_rebuild_job(job_id, places_.runtime)) return {};
    profile_.reset();
    return tl::unexpected<Error>(revision.error());
}

void Step::look_once(std::uint32_t job_id) {
    if (verdict_) return;
    root_ = root_directory();
    if (!arguments_) {
        verdict_ = is_rebuild_job(job_id, places_.runtime)
                       ? Status()
                       : Status(tl::unexpected<Error>(arguments_.error()));
        return;
    }
    int pauses = 0;
    const View view = look(*arguments_, places_, [&pauses] {
        std::this_thread::sleep_for(pause_time);
        return ++pauses < step_pauses;
    });
    verdict_ = verdict_of(view, job_id);
}

Status Step::task_gate(std::uint32_t job_id) {
    look_once(job_id);
    if (broken_ && *verdict_ && !is_rebuild_job(job_id, places_.runtime))
        verdict_ = fail(Errc::failed, "the task's environment could not be set");
    if (!*verdict_) (void)write_refused(verdict_->error().message, places_.runtime);
    return *verdict_;
}

std::vector<Change> Step::injection(const std::optional<std::string>& current_path,
                                    const ContainerSigns& signs) const {
    if (!profile_ || !arguments_) return {};
    const bool container = signs.oci || signs.pyxis_option;
    if ((container && arguments_->skip_containers) || is_container(signs.root)) return {};
    return compose(*profile_, *arguments_, current_path);
}

bool Step::is_container(const RootDirectory& root) const {
    return arguments_ && arguments_->skip_containers && !(root == root_);
}

}  // namespace cohort::spank
