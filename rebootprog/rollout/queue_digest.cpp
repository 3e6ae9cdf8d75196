// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/queue_digest.hpp"

#include <chrono>
#include <ctime>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/json.hpp"
#include "common/log.hpp"
#include "common/rebuild_mark.hpp"
#include "common/slurm/load.hpp"

namespace cohort {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t slow_ms = 100;
// cohort-advance.timer makes a step ten seconds after the last.
constexpr std::int64_t oldest_seconds = 15;
constexpr std::size_t most_bytes = std::size_t{64} << 20;

std::string path_of(const std::string& state_dir) {
    return state_dir + "/queue";
}

std::uint32_t number(const json_t* j, const char* key) {
    return static_cast<std::uint32_t>(json::integer(j, key).value_or(0));
}

Json json_of(const QueueDigest::UserJob& job) {
    Json j = json::object();
    json::set(j.get(), "id", std::int64_t{job.id});
    json::set(j.get(), "uid", std::int64_t{job.user_id});
    json::set(j.get(), "start", job.start);
    json::set(j.get(), "end", job.end);
    json::set(j.get(), "nodes", job.nodes);
    return j;
}

Json json_of(const QueueDigest::RebuildJob& job) {
    Json j = json::object();
    json::set(j.get(), "node", job.node);
    json::set(j.get(), "id", std::int64_t{job.id});
    json::set(j.get(), "submitted", job.submitted);
    json::set(j.get(), "by_hand", job.by_hand);
    json::set(j.get(), "pending", job.pending);
    json::set(j.get(), "held", job.held);
    return j;
}

template <class Record>
Json list_of(const std::vector<Record>& records) {
    Json list = json::array();
    for (const auto& one : records) json_array_append_new(list.get(), json_of(one).release());
    return list;
}

}  // namespace

QueueDigest digest_of(const std::vector<Job>& jobs) {
    QueueDigest digest;
    for (const auto& job : jobs) {
        // A rebuild job that has ended carries its mark still, and is no user's.
        if (const auto mark = parse_mark(job.admin_comment)) {
            const bool by_hand = mark->rollout == 0;
            if (job.active() && (by_hand || !job.pending || !job.held()))
                digest.rebuilds.push_back(
                    {mark->node, job.id, job.submit_time, by_hand, job.pending, job.held()});
            continue;
        }
        if (job.pending) ++digest.waiting;
        if (job.running)
            digest.users.push_back({job.id, job.user_id, job.start_time, job.end_time, job.nodes});
    }
    return digest;
}

bool worth_keeping(const QueueDigest& digest) {
    return digest.took_ms >= slow_ms;
}

bool stands_in(const QueueDigest& digest, std::int64_t now) {
    return worth_keeping(digest) && digest.at <= now && now - digest.at <= oldest_seconds;
}

Status write_digest(const std::string& state_dir, const QueueDigest& digest) {
    Json j = json::object();
    json::set(j.get(), "at", digest.at);
    json::set(j.get(), "took_ms", digest.took_ms);
    json::set(j.get(), "waiting", std::int64_t{digest.waiting});
    json::set(j.get(), "users", list_of(digest.users));
    json::set(j.get(), "rebuilds", list_of(digest.rebuilds));
    return write_file(path_of(state_dir), json::dump(j.get()) + "\n", 0644);
}

Result<QueueDigest> read_digest(const std::string& state_dir) {
    const std::string path = path_of(state_dir);
    const auto content = read_file(path, most_bytes);
    if (!content) return tl::unexpected(content.error());
    const auto root = json::parse(*content, path);
    if (!root) return tl::unexpected(root.error());
    const json_t* users = json::get(root->get(), "users");
    const json_t* rebuilds = json::get(root->get(), "rebuilds");
    if (!json_is_array(users) || !json_is_array(rebuilds))
        return fail(Errc::invalid, path + " is no digest of the queue");
    QueueDigest digest;
    digest.at = json::integer(root->get(), "at").value_or(0);
    digest.took_ms = json::integer(root->get(), "took_ms").value_or(0);
    digest.waiting = number(root->get(), "waiting");
    for (std::size_t i = 0; i < json_array_size(users); ++i) {
        const json_t* one = json_array_get(users, i);
        digest.users.push_back({number(one, "id"), number(one, "uid"),
                                json::integer(one, "start").value_or(0),
                                json::integer(one, "end").value_or(0), json::string(one, "nodes")});
    }
    for (std::size_t i = 0; i < json_array_size(rebuilds); ++i) {
        const json_t* one = json_array_get(rebuilds, i);
        digest.rebuilds.push_back(
            {json::string(one, "node"), number(one, "id"),
             json::integer(one, "submitted").value_or(0), json::boolean(one, "by_hand", false),
             json::boolean(one, "pending", false), json::boolean(one, "held", false)});
    }
    return digest;
}

Result<std::vector<Job>> load_jobs_for_all(const std::string& state_dir) {
    const std::int64_t at = std::time(nullptr);
    const auto began = steady_clock::now();
    auto jobs = slurm::load_jobs();
    if (!jobs) return jobs;
    QueueDigest digest = digest_of(*jobs);
    digest.at = at;
    digest.took_ms = duration_cast<milliseconds>(steady_clock::now() - began).count();
    if (!worth_keeping(digest)) return jobs;
    if (auto kept = write_digest(state_dir, digest); !kept)
        log::warning("the digest of the queue is not kept: {}", kept.error().message);
    return jobs;
}

}  // namespace cohort
