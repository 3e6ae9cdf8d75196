// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-gate: PrologSlurmctld. Exit 0: the allocation may start; 1: it may not.
//
// slurmctld waits for it before a job's first task starts. A net must not become an outage: what
// cannot be told (no slurmctld, no cohort.conf, a fault of ours) starts, and is logged.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "common/file.hpp"
#include "common/guard/emergency.hpp"
#include "common/guard/gate.hpp"
#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/job_writer.hpp"
#include "common/slurm/load.hpp"
#include "common/text.hpp"
#include "rebootprog/site/picture.hpp"
#include "rebootprog/site/site.hpp"

namespace {

using namespace cohort;

constexpr char program_name[] = "cohort-gate";

constexpr const char* usage =
    "usage: cohort-gate\n"
    "Slurm's PrologSlurmctld: lets no allocation of several nodes start on two software\n"
    "revisions. Takes no arguments; reads SLURM_JOB_ID and SLURM_JOB_NODELIST.\n";

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

// One node, written as Slurm writes it. Most jobs leave here, before anything is read.
bool is_one_node(const std::string& list) {
    return list.find_first_of(",[") == std::string::npos;
}

bool told_by_the_plugin(const Site& site, const std::vector<std::string>& nodes) {
    const auto picture = read_picture(site.state_dir);
    return picture && is_fresh(picture->header, site.settings(), seconds_now()) &&
           guard::plainly_uniform(*picture, nodes);
}

Result<guard::GuardView> load_view(const Site& site) {
    auto snapshot = std::make_shared<Snapshot>();
    auto nodes = slurm::load_nodes();
    if (!nodes) return tl::unexpected(nodes.error());
    auto partitions = slurm::load_partitions();
    if (!partitions) return tl::unexpected(partitions.error());
    snapshot->nodes = std::move(*nodes);
    snapshot->partitions = std::move(*partitions);
    snapshot->index();
    const auto expand = [](std::string_view list) { return slurm::expand_hosts(list); };
    auto cohorts = guard::define_cohorts(site.configuration, *snapshot, expand, {});
    if (!cohorts) return tl::unexpected(cohorts.error());
    return guard::GuardView(std::move(snapshot), *cohorts);
}

// The whole job: a component of a het job sees only its own nodes.
Result<std::vector<std::string>> nodes_of(const Job& job, const std::string& list) {
    auto nodes = slurm::expand_hosts(list);
    if (!nodes || job.het_id == 0) return nodes;
    const auto others = slurm::load_jobs_of(job.user_id);
    if (!others) return tl::unexpected(others.error());
    for (const auto& other : *others) {
        if (other.het_id != job.het_id || other.id == job.id) continue;
        if (const auto more = slurm::expand_hosts(other.nodes))
            nodes->insert(nodes->end(), more->begin(), more->end());
    }
    return nodes;
}

Result<guard::GateDecision> look_closer(const Site& site, std::uint32_t id,
                                        const std::string& list) {
    const auto view = load_view(site);
    if (!view) return tl::unexpected(view.error());
    const auto job = slurm::load_job(id);
    if (!job) return tl::unexpected(job.error());
    const auto nodes = nodes_of(*job, list);
    if (!nodes) return tl::unexpected(nodes.error());
    guard::Owners owners{site.slurm.slurm_user_id, {}};
    if (const auto accounting = slurm::load_accounting())
        owners.operators.insert(accounting->operators.begin(), accounting->operators.end());
    auto decision =
        guard::decide_gate(*job, *nodes, *view, owners, site.settings().gate_no_requeue_allow);
    // Without the mark nobody would bind it, and it would come back the same way.
    if (decision.admin_comment)
        if (auto marked = slurm::set_admin_comment(job->id_text, *decision.admin_comment); !marked)
            return tl::unexpected(marked.error());
    return decision;
}

int judge(std::uint32_t id, const std::string& list) {
    slurm::initialise_library();
    const auto site = load_site();
    if (!site) {
        log::warning("job {} starts unseen: {}", id, site.error().message);
        return 0;
    }
    const auto nodes = slurm::expand_hosts(list);
    if (nodes && told_by_the_plugin(*site, *nodes)) {
        if (variable("SLURM_HET_JOB_ID").empty()) return 0;
    }
    if (guard::is_off(site->state_dir)) return 0;
    const auto decision = look_closer(*site, id, list);
    if (!decision) {
        log::warning("job {} starts unseen: {}", id, decision.error().message);
        return 0;
    }
    if (!decision->why.empty()) log::warning("job {}: {}", id, decision->why);
    if (!decision->told.empty())
        if (auto told = slurm::notify_job(id, text::join(decision->told, "\n")); !told)
            log::info("{}", told.error().message);
    return decision->act == guard::GateDecision::Act::start ? 0 : 1;
}

int run(int argc, char** argv) {
    if (argc > 1) {
        const std::string_view word = argv[1];
        const bool help = word == "--help" || word == "-h";
        std::fputs(usage, help ? stdout : stderr);
        return help ? 0 : 1;
    }
    log::set_sink(log::syslog_sink(program_name));
    const std::string list = variable("SLURM_JOB_NODELIST");
    const auto id = text::to_number(variable("SLURM_JOB_ID"));
    if (list.empty() || !id) {
        log::warning("SLURM_JOB_ID and SLURM_JOB_NODELIST are not set: not run by slurmctld?");
        return 0;
    }
    const bool het = !variable("SLURM_HET_JOB_ID").empty();
    if (is_one_node(list) && !het) return 0;
    return judge(static_cast<std::uint32_t>(*id), list);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        log::error("unexpected: {}; the job starts unseen", e.what());
        return 0;
    }
}
