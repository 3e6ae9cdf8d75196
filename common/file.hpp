// SPDX-License-Identifier: GPL-2.0-or-later
//
// Files: an owned descriptor, bounded reads, and writes that are complete or did not happen.
//
// No function follows a symbolic link in the last component. Errors name the file and errno's text.
// Thread-safe: no shared state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include "common/result.hpp"

namespace cohort {

// Owns one file descriptor; -1 is "none".
class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    ~UniqueFd() { reset(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int fd = -1) noexcept;

  private:
    int fd_ = -1;
};

// The whole of a regular file; more than MAX_BYTES is an error, so is a FIFO or a device.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

// Reads what is left of an open descriptor.
Result<std::string> read_fd(int fd, const std::string& name, std::size_t max_bytes);

// Replaces PATH with CONTENT: temporary file beside it, fsync, rename, fsync of the directory. A
// crash leaves the old content or the new. The file belongs to the calling user.
Status write_file(const std::string& path, std::string_view content, mode_t mode);

// Creates DIR and what lacks above it.
Status make_directories(const std::string& dir, mode_t mode);

// An exclusive flock on PATH (created 0600 when absent), held while the descriptor is open and
// freed by the kernel when its process dies. Errc::busy when somebody else holds it.
Result<UniqueFd> try_lock_file(const std::string& path);

// The same, waiting at most SECONDS.
Result<UniqueFd> lock_file(const std::string& path, int seconds);

// The machine's name as the kernel has it; empty when it has none.
std::string host_name();

}  // namespace cohort
