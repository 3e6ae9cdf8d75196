// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/snapshot_writer.hpp"

#include <chrono>

#include <unistd.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::chrono::seconds heartbeat{10};

double epoch_seconds(std::chrono::system_clock::time_point t) {
    return std::chrono::duration<double>(t.time_since_epoch()).count();
}

}  // namespace

void SnapshotWriter::write(const std::string& dir, const Snapshot& snapshot,
                           const std::vector<RebuildJob>& rebuild_jobs, const Policy& policy,
                           bool breaker_open, const std::vector<std::string>& open_nodes,
                           const HookSummary& hooks, Clock::time_point now) {
    if (dir.empty()) return;
    const bool due = now - last_ >= heartbeat || waited_for_;
    std::string body = render_snapshot_body(snapshot.nodes, rebuild_jobs);
    std::string content =
        dir + policy.fault + (breaker_open ? "!" : ".") + text::join(open_nodes, ",") + body;
    if (!due && content == written_) return;
    SnapshotHeader header;
    const auto wall = std::chrono::system_clock::now();
    header.generation = snapshot.generation;
    header.started =
        epoch_seconds(wall - std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                 now - snapshot.started));
    header.written = epoch_seconds(wall);
    header.process = ::getpid();
    header.host = host_name();
    header.configuration = policy.configuration ? policy.origin : "";
    header.fault = policy.fault;
    header.breaker_open = breaker_open;
    header.open_nodes = open_nodes;
    header.hooks = hooks;
    Status written = make_directories(dir, 0755);
    if (written)
        written = write_file(dir + "/" + std::string(snapshot_file_name),
                             render_snapshot(header, body), 0644);
    complain(written, dir);
    last_ = now;
    waited_for_ = false;
    written_ = std::move(content);
}

void SnapshotWriter::complain(const Status& written, const std::string& dir) {
    const std::string complaint = written ? "" : written.error().message;
    if (!complaint.empty() && complaint != complaint_)
        log::error(
            "{}. scohort and cohort-reboot cannot see what this plugin sees: create {} with "
            "the owner SlurmUser, on the file system that all controllers share",
            complaint, dir);
    complaint_ = complaint;
}

}  // namespace cohort
