// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/file.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cohort {
namespace {

tl::unexpected<Error> errno_failure(std::string_view what, const std::string& path, int error) {
    const Errc code = error == ENOENT   ? Errc::not_found
                      : error == EACCES ? Errc::denied
                                        : Errc::failed;
    return fail(code, fmt::format("{} {}: {}", what, path, std::strerror(error)));
}

Status write_all(int fd, std::string_view content, const std::string& path) {
    while (!content.empty()) {
        const ssize_t n = ::write(fd, content.data(), content.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_failure("cannot write", path, errno);
        content.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

void UniqueFd::reset(int fd) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

Result<std::string> read_fd(int fd, const std::string& name, std::size_t max_bytes) {
    std::string content;
    char buffer[16384];
    for (;;) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_failure("cannot read", name, errno);
        if (n == 0) return content;
        content.append(buffer, static_cast<std::size_t>(n));
        if (content.size() > max_bytes)
            return fail(Errc::invalid, fmt::format("{} is larger than {} bytes", name, max_bytes));
    }
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
    // O_NONBLOCK: a FIFO put there by mistake must not hang the caller.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return errno_failure("cannot open", path, errno);
    struct stat st {};
    if (::fstat(fd.get(), &st) != 0) return errno_failure("cannot stat", path, errno);
    if (!S_ISREG(st.st_mode))
        return fail(Errc::invalid, fmt::format("{} is not a regular file", path));
    return read_fd(fd.get(), path, max_bytes);
}

Status write_file(const std::string& path, std::string_view content, mode_t mode) {
    const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
    ::unlink(temporary.c_str());
    UniqueFd fd(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fd) return errno_failure("cannot create", temporary, errno);
    Status written = write_all(fd.get(), content, temporary);
    if (written && ::fchmod(fd.get(), mode) != 0)
        written = errno_failure("cannot set the mode of", temporary, errno);
    if (written && ::fsync(fd.get()) != 0) written = errno_failure("cannot sync", temporary, errno);
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
        written = errno_failure("cannot replace", path, errno);
    if (!written) {
        ::unlink(temporary.c_str());
        return written;
    }
    UniqueFd dir(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (dir) ::fsync(dir.get());
    return {};
}

Status make_directories(const std::string& dir, mode_t mode) {
    std::error_code error;
    const bool made = std::filesystem::create_directories(dir, error);
    if (error) return fail(Errc::failed, fmt::format("cannot create {}: {}", dir, error.message()));
    if (made && ::chmod(dir.c_str(), mode) != 0)
        return errno_failure("cannot set the mode of", dir, errno);
    return {};
}

Result<UniqueFd> try_lock_file(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return errno_failure("cannot open the lock", path, errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    if (errno == EWOULDBLOCK)
        return fail(Errc::busy, fmt::format("{} is locked by another process", path));
    return errno_failure("cannot lock", path, errno);
}

Result<UniqueFd> lock_file(const std::string& path, int seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (;;) {
        auto fd = try_lock_file(path);
        if (fd || fd.error().code != Errc::busy) return fd;
        if (std::chrono::steady_clock::now() >= until) return fd;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace cohort
