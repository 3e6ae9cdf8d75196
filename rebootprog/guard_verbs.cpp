// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/guard_verbs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/guard/emergency.hpp"
#include "common/guard/sweep.hpp"
#include "common/log.hpp"
#include "common/rebuild_mark.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/job_writer.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/cloud/backends.hpp"
#include "rebootprog/cloud/desired.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/power/power_promise.hpp"
#include "rebootprog/report_error.hpp"

namespace cohort {
namespace {

using std::chrono::system_clock;

constexpr std::chrono::seconds patience_of_one_call{10};

Result<std::vector<Node>> chosen(const std::string& expression) {
    auto all = slurm::load_nodes();
    if (!all || expression.empty()) return all;
    const auto names = slurm::expand_hosts(expression);
    if (!names) return tl::unexpected(names.error());
    std::vector<Node> nodes;
    for (const auto& name : *names) {
        const auto at = std::ranges::find(*all, name, &Node::name);
        // Slurm lists no sleeping CLOUD nodes without PrivateData=cloud [22.05].
        auto node = at == all->end() ? slurm::load_node(name) : Result<Node>(*at);
        if (!node) return tl::unexpected(node.error());
        nodes.push_back(std::move(*node));
    }
    return nodes;
}

// The label that a node of this image publishes at its join.
class Labels {
  public:
    Labels(const Site& site, const Journal& journal)
        : backends_(site, patience_of_one_call), promises_(journal, backends_) {}

    Result<std::string> of(const Node& node) {
        auto label = of_its_machine(node.name);
        const bool none = !label && label.error().code == Errc::not_found;
        return none && is_asleep(node) ? promises_.of(node.name) : label;
    }

  private:
    Result<std::string> of_its_machine(const std::string& node) {
        auto backend = backends_.of(node);
        if (!backend) return tl::unexpected(backend.error());
        if (!(*backend)->knows_images())
            return fail(Errc::failed,
                        "with Backend=reboot its image cannot be told from here: its first rebuild "
                        "job (sbatch --reboot) labels it by its own stamp");
        const auto desired = read_desired(backends_.settings(node), node);
        if (!desired) return tl::unexpected(desired.error());
        const auto server = (*backend)->server({node, desired->instance_id, desired->image_id});
        if (!server) return tl::unexpected(server.error());
        if (server->image.empty())
            return fail(Errc::failed, "the cloud does not say which image it runs");
        auto [known, is_new] = by_image_.try_emplace({*backend, server->image}, std::string());
        if (is_new) {
            // An image that was deleted since still tells its nodes apart from others.
            const auto image = (*backend)->image(server->image);
            ImageState gone;
            gone.id = server->image;
            known->second = image ? image->label() : gone.label();
        }
        return known->second;
    }

    Backends backends_;
    Promises promises_;
    std::map<std::pair<Backend*, std::string>, std::string> by_image_;
};

std::string why_not_adopted(const Node& node) {
    if (!node.extra_is_ours) return "its Extra is not JSON: it is used for something else";
    if (node.record.want) return "an attempt is on record: join labels it when that ends";
    if (node.state.base == NodeState::Base::future) return "it does not exist yet";
    return {};
}

Status label(const std::string& node, const std::string& revision) {
    return slurm::edit_record(node, [&](NodeRecord& record) {
        if (record.revision.empty() && !record.want) record.revision = revision;
    });
}

}  // namespace

int adopt(const Site& site, const std::string& expression) {
    const auto nodes = chosen(expression);
    if (!nodes) return report(nodes.error());
    const auto journal = Journal::open(site.state_dir);
    if (!journal) return report(journal.error());
    Labels labels(site, *journal);
    std::map<std::string, std::vector<std::string>> done;
    std::size_t already = 0, failed = 0;
    for (const auto& node : *nodes) {
        if (!node.record.revision.empty()) {
            ++already;
            continue;
        }
        std::string why = why_not_adopted(node);
        if (why.empty()) {
            const auto revision = labels.of(node);
            const auto written =
                revision ? label(node.name, *revision) : Status(tl::unexpected(revision.error()));
            if (written) {
                done[*revision].push_back(node.name);
                continue;
            }
            why = written.error().message;
        }
        ++failed;
        log::warning("{} is not adopted: {}", node.name, why);
    }
    for (const auto& [revision, names] : done)
        std::printf("%s: %s\n", revision.c_str(), slurm::compress_hosts(names).c_str());
    if (already != 0) std::printf("labelled already: %zu nodes\n", already);
    return failed == 0 ? exit_code::ok : exit_code::some_failed;
}

int guard_switch(const Site& site, const std::string& word, const std::string& limit) {
    if (word.empty()) {
        std::puts(guard::is_off(site.state_dir) ? "off" : "on");
        return exit_code::ok;
    }
    if (word == "on") {
        if (auto done = guard::turn_on(site.state_dir); !done) return report(done.error());
        log::warning("the guard is on: jobs are kept within one revision");
        return exit_code::ok;
    }
    const auto time = text::to_duration(limit);
    if (word != "off" || !time || time->count() <= 0) {
        log::error("say 'scohort guard off --for 30min' or 'scohort guard on'");
        return exit_code::usage;
    }
    if (auto done = guard::turn_off(site.state_dir, system_clock::now() + *time); !done)
        return report(done.error());
    log::warning("the guard is off for {}: jobs may span revisions until then",
                 text::duration(std::chrono::duration_cast<std::chrono::seconds>(*time)));
    return exit_code::ok;
}

namespace {

// Rebuild jobs that still want or hold a node.
std::vector<std::string> rebuild_jobs_in(const std::vector<Job>& jobs) {
    std::vector<std::string> found;
    for (const auto& job : jobs)
        if (job.active() && parse_mark(job.admin_comment)) found.push_back(job.id_text);
    return found;
}

// The number of jobs that could not be changed.
Result<std::size_t> restore_jobs(const Settings& settings) {
    const auto jobs = slurm::load_jobs();
    if (!jobs) return tl::unexpected(jobs.error());
    const auto changes = guard::plan_restore_all(*jobs);
    const std::chrono::milliseconds pause(1000 / std::max<long>(1, settings.sweep_rate));
    std::size_t failed = 0;
    for (const auto& change : changes) {
        Status done;
        for (const auto& step : guard::steps_of(change))
            if (done)
                done = slurm::change_job(step.id, {step.features, step.prefer, step.admin_comment,
                                                   step.hold, step.release});
        if (!done && done.error().code != Errc::not_found) {
            ++failed;
            log::error("{}", done.error().message);
        }
        std::this_thread::sleep_for(pause);
    }
    if (!changes.empty())
        std::printf("jobs given back as they were submitted: %zu\n", changes.size() - failed);
    return failed;
}

Result<std::size_t> clean_nodes() {
    const auto nodes = slurm::load_nodes();
    if (!nodes) return tl::unexpected(nodes.error());
    std::size_t cleaned = 0, failed = 0;
    for (const auto& node : *nodes) {
        if (!node.extra_is_ours || node.record == NodeRecord{}) continue;
        const auto done =
            slurm::edit_record(node.name, [](NodeRecord& record) { record = NodeRecord{}; });
        ++(done ? cleaned : failed);
        if (!done) log::error("{}: {}", node.name, done.error().message);
    }
    std::printf("nodes without a trace now: %zu\n", cleaned);
    return failed;
}

}  // namespace

int detach(const Site& site) {
    const auto jobs = slurm::load_jobs();
    if (!jobs) return report(jobs.error());
    if (const auto rebuilds = rebuild_jobs_in(*jobs); !rebuilds.empty()) {
        log::error("rebuild jobs exist ({}): let them end, or scancel them, and detach again",
                   text::join(rebuilds, ","));
        return exit_code::refused;
    }
    // The plugin must not bind again what is given back here; it looks every Refresh.
    const auto& settings = site.settings();
    const auto until = system_clock::now() + std::chrono::minutes(10);
    if (auto off = guard::turn_off(site.state_dir, until); !off) return report(off.error());
    std::this_thread::sleep_for(2 * settings.refresh);
    std::size_t failed = 0;
    for (const auto& part : {restore_jobs(settings), clean_nodes(), restore_jobs(settings)}) {
        if (!part) return report(part.error());
        failed += *part;
    }
    if (auto on = guard::turn_on(site.state_dir); !on) return report(on.error());
    std::puts("take cohort out of JobSubmitPlugins, RebootProgram and plugstack.conf now");
    return failed == 0 ? exit_code::ok : exit_code::some_failed;
}

}  // namespace cohort
