// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/emergency.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/text.hpp"

namespace cohort::guard {
namespace {

std::string path_in(const std::string& dir) {
    return dir + "/" + std::string(off_file_name);
}

std::int64_t seconds(std::chrono::system_clock::time_point t) {
    return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

}  // namespace

bool is_off(const std::string& dir) {
    if (dir.empty() || ::access(path_in(dir).c_str(), F_OK) != 0) return false;
    const auto content = read_file(path_in(dir), 64);
    if (!content) return false;
    const auto until = text::to_number(text::trim(*content));
    return until && static_cast<std::int64_t>(*until) > seconds(std::chrono::system_clock::now());
}

Status turn_off(const std::string& dir, std::chrono::system_clock::time_point until) {
    if (auto made = make_directories(dir, 0755); !made) return made;
    return write_file(path_in(dir), fmt::format("{}\n", seconds(until)), 0644);
}

Status turn_on(const std::string& dir) {
    if (::unlink(path_in(dir).c_str()) == 0 || errno == ENOENT) return {};
    return fail(Errc::failed,
                fmt::format("cannot remove {}: {}", path_in(dir), std::strerror(errno)));
}

}  // namespace cohort::guard
