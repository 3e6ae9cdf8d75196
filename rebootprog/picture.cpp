// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/picture.hpp"

#include <chrono>

#include "common/file.hpp"

namespace cohort {
namespace {

constexpr std::size_t most_bytes = 64UL << 20;
constexpr double heartbeat = 10;

}  // namespace

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Result<SnapshotFile> read_picture(const std::string& state_dir) {
    const std::string path = state_dir + "/" + std::string(snapshot_file_name);
    const auto text = read_file(path, most_bytes);
    if (!text) return tl::unexpected(text.error());
    return parse_snapshot(*text, path);
}

bool is_fresh(const SnapshotHeader& header, const Settings& settings, double now) {
    return now - header.written <=
           heartbeat + static_cast<double>(settings.stale_after.count()) / 1000;
}

std::string active_elsewhere(const std::string& state_dir, const Settings& settings,
                             const std::string& host, double now) {
    const auto picture = read_picture(state_dir);
    if (!picture || !is_fresh(picture->header, settings, now)) return {};
    return picture->header.host == host ? std::string() : picture->header.host;
}

std::string standby_for(const Site& site) {
    if (site.slurm.controllers.size() < 2) return {};
    return active_elsewhere(site.state_dir, site.settings(), host_name(), seconds_now());
}

}  // namespace cohort
