// SPDX-License-Identifier: GPL-2.0-or-later
//
// A View as JSON, for `scohort status --json`. Times are seconds since the epoch, null: not yet.
#include "common/json.hpp"
#include "rebootprog/view/view_render.hpp"

namespace cohort {
namespace {

void set_time(json_t* object, const char* key, std::int64_t at) {
    if (at == 0)
        json::set(object, key, Json(json_null()));
    else
        json::set(object, key, at);
}

std::int64_t number(std::size_t value) {
    return static_cast<std::int64_t>(value);
}

Json rollout_of(const Rollout& rollout) {
    Json out = json::object();
    json::set(out.get(), "id", rollout.id);
    json::set(out.get(), "state", name_of(rollout.state));
    json::set(out.get(), "why", rollout.why);
    json::set(out.get(), "who", rollout.who);
    json::set(out.get(), "reason", rollout.reason);
    json::set(out.get(), "image", rollout.image);
    set_time(out.get(), "began", rollout.began);
    set_time(out.get(), "ended", rollout.ended);
    return out;
}

Json barrier_json(const Barrier& barrier) {
    Json out = json::object();
    json::set(out.get(), "id", barrier.id);
    json::set(out.get(), "cohort", barrier.cohort);
    json::set(out.get(), "state", name_of(barrier.state));
    json::set(out.get(), "step", name_of(barrier.step));
    json::set(out.get(), "why", barrier.why);
    json::set(out.get(), "nodes", barrier.nodes);
    json::set(out.get(), "revision", barrier.revision);
    json::set(out.get(), "image", barrier.image);
    json::set(out.get(), "rollout", barrier.rollout);
    json::set(out.get(), "who", barrier.who);
    set_time(out.get(), "began", barrier.began);
    return out;
}

Json progress_json(const View& view, const Progress& progress) {
    Json out = json::object();
    json::set(out.get(), "total", number(progress.total));
    for (const auto step : {Step::planned, Step::held, Step::released, Step::rebuilding, Step::done,
                            Step::failed, Step::cancelled})
        json::set(out.get(), std::string(name_of(step)).c_str(), number(progress.of(step)));
    json::set(out.get(), "node_seconds", progress.node_seconds);
    json::set(out.get(), "nodes_per_hour", static_cast<std::int64_t>(progress.per_hour));
    set_time(out.get(), "end", progress.end.value_or(0));
    json::set(out.get(), "scope", number(view.scope));
    json::set(out.get(), "out_of_service", number(view.out));
    json::set(out.get(), "out_of_service_limit", number(view.out_limit));
    json::set(out.get(), "kept_for_rebuild", number(progress.held_nodes));
    json::set(out.get(), "user_jobs_running", number(view.users_running));
    json::set(out.get(), "user_jobs_pending", number(view.users_waiting));
    json::set(out.get(), "user_jobs_seconds_old",
              view.jobs_at == 0 ? std::int64_t{0} : view.now - view.jobs_at);
    return out;
}

Json node_json(const ViewNode& node, std::int64_t now) {
    Json out = json::object();
    json::set(out.get(), "node", node.row.node);
    json::set(out.get(), "rollout", node.row.rollout);
    json::set(out.get(), "step", word_of(node));
    set_time(out.get(), "since", since_of(node));
    json::set(out.get(), "what", what_of(node, now));
    json::set(out.get(), "why", node.row.why);
    json::set(out.get(), "state", node.state);
    json::set(out.get(), "out_of_service", node.out);
    json::set(out.get(), "label", node.label);
    json::set(out.get(), "job", std::int64_t{node.row.job});
    json::set(out.get(), "image_from", node.row.image_from);
    json::set(out.get(), "image_to", node.row.image_to);
    json::set(out.get(), "request", node.attempt ? node.attempt->request : std::string());
    set_time(out.get(), "started", node.row.started);
    set_time(out.get(), "ended", node.row.ended);
    Json jobs = json::array();
    for (const auto& job : node.jobs) {
        Json one = json::object();
        json::set(one.get(), "job", std::int64_t{job.id});
        json::set(one.get(), "user", job.user);
        set_time(one.get(), "end", job.end);
        json_array_append_new(jobs.get(), one.release());
    }
    json::set(out.get(), "jobs", std::move(jobs));
    return out;
}

}  // namespace

std::string json_of(const View& view) {
    Json out = json::object();
    json::set(out.get(), "now", view.now);
    json::set(out.get(), "cluster", view.cluster);
    json::set(out.get(), "rollout", view.rollout ? rollout_of(*view.rollout) : Json(json_null()));
    json::set(out.get(), "progress", progress_json(view, progress_of(view)));
    json::set(out.get(), "breaker",
              view.breaker ? Json(json_string(view.breaker->reason.c_str())) : Json(json_null()));
    Json quarantined = json::array();
    for (const auto& image : view.quarantined)
        json_array_append_new(quarantined.get(), json_string(image.image.c_str()));
    json::set(out.get(), "quarantined", std::move(quarantined));
    Json barriers = json::array();
    for (const auto& barrier : view.barriers)
        json_array_append_new(barriers.get(), barrier_json(barrier).release());
    json::set(out.get(), "barriers", std::move(barriers));
    Json nodes = json::array();
    for (const auto* list : {&view.nodes, &view.others})
        for (const auto& node : *list)
            json_array_append_new(nodes.get(), node_json(node, view.now).release());
    json::set(out.get(), "status", std::move(nodes));
    return json::dump(out.get());
}

}  // namespace cohort
