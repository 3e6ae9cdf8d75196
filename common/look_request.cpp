// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/look_request.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include "common/file.hpp"

namespace cohort {
namespace {

std::string path_in(const std::string& state_dir) {
    return state_dir + "/look";
}

}  // namespace

Status ask_for_a_look(const std::string& state_dir) {
    const std::string path = path_in(state_dir);
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (fd.get() >= 0 && ::futimens(fd.get(), nullptr) == 0) return {};
    return fail(Errc::failed, fmt::format("cannot touch {}: {}", path, std::strerror(errno)));
}

std::int64_t last_asked_for_a_look(const std::string& state_dir) {
    struct stat st {};
    if (state_dir.empty() || ::stat(path_in(state_dir).c_str(), &st) != 0) return 0;
    return std::int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
}

}  // namespace cohort
