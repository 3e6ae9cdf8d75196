// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/site/picture.hpp"

#include <chrono>
#include <mutex>
#include <tuple>

#include <sys/stat.h>

#include "common/file.hpp"

namespace cohort {
namespace {

constexpr std::size_t most_bytes = 64UL << 20;
constexpr double heartbeat = 10;

std::string path_in(const std::string& state_dir) {
    return state_dir + "/" + std::string(snapshot_file_name);
}

// Tells two versions of the file apart: it is replaced, never written over.
using Version = std::tuple<std::string, dev_t, ino_t, off_t, std::time_t, long>;

Version version_of(const std::string& path) {
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) return {};
    return {path, st.st_dev, st.st_ino, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
}

}  // namespace

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Result<SnapshotFile> read_picture(const std::string& state_dir) {
    const std::string path = path_in(state_dir);
    const auto text = read_file(path, most_bytes);
    if (!text) return tl::unexpected(text.error());
    return parse_snapshot(*text, path);
}

Result<std::shared_ptr<const SnapshotFile>> shared_picture(const std::string& state_dir) {
    static std::mutex mutex;
    static Version held_version;
    static std::shared_ptr<const SnapshotFile> held;
    const std::lock_guard lock(mutex);
    const Version now = version_of(path_in(state_dir));
    if (held && now == held_version) return held;
    auto picture = read_picture(state_dir);
    if (!picture) return tl::unexpected(picture.error());
    // Replaced in between: read again next time.
    held_version = now;
    held = std::make_shared<const SnapshotFile>(std::move(*picture));
    return held;
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
