// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/profile_store.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.hpp"

namespace cohort {
namespace {

constexpr mode_t directory_mode = 0755;
constexpr mode_t file_mode = 0444;

void call(const StepHook& step, std::string_view verb, std::string_view name) {
    if (step) step(fmt::format("{} {}", verb, name));
}

tl::unexpected<Error> errno_failure(std::string_view what, std::string_view name, int error) {
    return fail(Errc::invalid, fmt::format("cannot {} {}: {}", what, name, std::strerror(error)));
}

struct DirectoryCloser {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
};
using DirectoryStream = std::unique_ptr<DIR, DirectoryCloser>;

std::string temporary_name(std::string_view name) {
    return fmt::format(".{}.tmp", name);
}

// CALL for every name but . and ..; stops at the first failure.
Status for_each_name(int dir, const std::function<Status(std::string_view)>& each) {
    UniqueFd own(::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own) return errno_failure("open", "the directory", errno);
    const DirectoryStream stream(::fdopendir(own.get()));
    if (!stream) return errno_failure("list", "the directory", errno);
    own.release();
    while (const dirent* entry = ::readdir(stream.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (auto fine = each(name); !fine) return fine;
    }
    return {};
}

Status check_directory(int dir, uid_t owner) {
    struct stat st {};
    if (::fstat(dir, &st) != 0) return errno_failure("stat", "the directory", errno);
    if (st.st_uid != owner)
        return fail(Errc::invalid,
                    fmt::format("the directory belongs to uid {}, not to {}", st.st_uid, owner));
    if ((st.st_mode & 07777) != directory_mode)
        return fail(Errc::invalid, fmt::format("the directory has mode {:04o}, not {:04o}",
                                               st.st_mode & 07777, directory_mode));
    return {};
}

// What tells one written file from another at the same name.
bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec &&
           a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

Result<std::string> read_sealed(int dir, const std::string& name, uid_t owner, struct stat& st) {
    // O_NONBLOCK: a FIFO in the file's place must not hang a job's launch.
    UniqueFd fd(::openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!fd && errno == ELOOP)
        return fail(Errc::invalid, fmt::format("{} is a symbolic link", name));
    if (!fd && errno == ENOENT) return fail(Errc::invalid, fmt::format("{} is missing", name));
    if (!fd || ::fstat(fd.get(), &st) != 0) return errno_failure("open", name, errno);
    if (!S_ISREG(st.st_mode))
        return fail(Errc::invalid, fmt::format("{} is not a regular file", name));
    if (st.st_uid != owner)
        return fail(Errc::invalid,
                    fmt::format("{} belongs to uid {}, not to {}", name, st.st_uid, owner));
    if ((st.st_mode & 07777) != file_mode)
        return fail(Errc::invalid, fmt::format("{} has mode {:04o}, not {:04o}", name,
                                               st.st_mode & 07777, file_mode));
    if (st.st_nlink != 1)
        return fail(Errc::invalid, fmt::format("{} has a second name (hard link)", name));
    return read_fd(fd.get(), name, max_profile_file);
}

Result<Profile> read_open_directory(int dir, uid_t owner, const StepHook& step) {
    if (auto fine = check_directory(dir, owner); !fine) return tl::unexpected<Error>(fine.error());
    const std::string seal_file(seal_name);
    struct stat sealed {
    }, other{};
    call(step, "read", seal_name);
    const auto seal = read_sealed(dir, seal_file, owner, sealed);
    if (!seal && ::faccessat(dir, seal_file.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return fail(Errc::invalid, "revision is missing: the profile was not completed");
    if (!seal) return tl::unexpected<Error>(seal.error());
    const auto known = for_each_name(dir, [](std::string_view name) -> Status {
        if (is_profile_file(name)) return {};
        return fail(Errc::invalid, fmt::format("{} does not belong into a profile", name));
    });
    ProfileFiles files;
    Status read = known;
    for (const auto name : profile_file_names) {
        if (!read) break;
        call(step, "read", name);
        auto content = read_sealed(dir, std::string(name), owner, other);
        if (content)
            files.emplace(name, std::move(*content));
        else
            read = tl::unexpected<Error>(content.error());
    }
    call(step, "compare", seal_name);
    // Before any other judgement: half of the old and half of the new is no damage.
    if (::fstatat(dir, seal_file.c_str(), &other, AT_SYMLINK_NOFOLLOW) != 0 ||
        !same_file(sealed, other))
        return fail(Errc::busy, "the profile was rewritten while it was read");
    if (!read) return tl::unexpected<Error>(read.error());
    return open_profile(files, *seal);
}

Result<UniqueFd> open_directory(const std::string& path) {
    UniqueFd dir(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (dir) return dir;
    const int error = errno;
    if (error == ENOENT) return fail(Errc::not_found, "there is no such directory");
    struct stat st {};
    if (::lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode))
        return fail(Errc::invalid, "the directory is a symbolic link");
    return errno_failure("open", "the directory", error);
}

Status write_sealed(int dir, std::string_view name, std::string_view content,
                    const StepHook& step) {
    const std::string temporary = temporary_name(name);
    call(step, "create", name);
    UniqueFd fd(::openat(dir, temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file_mode));
    if (!fd) return errno_failure("create", temporary, errno);
    call(step, "write", name);
    while (!content.empty()) {
        const ssize_t n = ::write(fd.get(), content.data(), content.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_failure("write", temporary, errno);
        content.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fchmod(fd.get(), file_mode) != 0) return errno_failure("chmod", temporary, errno);
    call(step, "sync", name);
    if (::fsync(fd.get()) != 0) return errno_failure("sync", temporary, errno);
    call(step, "rename", name);
    if (::renameat(dir, temporary.c_str(), dir, std::string(name).c_str()) != 0)
        return errno_failure("rename", temporary, errno);
    return {};
}

// What an earlier, killed write left. A file of somebody else is not ours to remove.
Status remove_leftovers(int dir) {
    return for_each_name(dir, [dir](std::string_view name) -> Status {
        if (is_profile_file(name)) return {};
        const bool ours = name.starts_with('.') && name.ends_with(".tmp") &&
                          is_profile_file(name.substr(1, name.size() - 5));
        if (!ours)
            return fail(Errc::invalid,
                        fmt::format("{} does not belong into a profile: remove it", name));
        if (::unlinkat(dir, std::string(name).c_str(), 0) != 0)
            return errno_failure("remove", name, errno);
        return {};
    });
}

Status write_all_files(int dir, const ProfileFiles& files, const StepHook& step) {
    call(step, "unlink", seal_name);
    if (::unlinkat(dir, std::string(seal_name).c_str(), 0) != 0 && errno != ENOENT)
        return errno_failure("remove", seal_name, errno);
    call(step, "sync", "directory");
    if (::fsync(dir) != 0) return errno_failure("sync", "the directory", errno);
    if (auto done = remove_leftovers(dir); !done) return done;
    for (const auto name : profile_file_names)
        if (auto done = write_sealed(dir, name, files.find(name)->second, step); !done) return done;
    if (auto done = write_sealed(dir, seal_name, make_seal(files), step); !done) return done;
    call(step, "sync", "directory");
    if (::fsync(dir) != 0) return errno_failure("sync", "the directory", errno);
    return {};
}

Result<bool> write_in_directory(const ProfileFiles& files, const ProfileDirectory& where,
                                const StepHook& step) {
    if (auto made = make_directories(where.path, directory_mode); !made)
        return tl::unexpected<Error>(made.error());
    auto dir = open_directory(where.path);
    if (!dir) return tl::unexpected<Error>(dir.error());
    if (auto fine = check_directory(dir->get(), where.owner); !fine)
        return tl::unexpected<Error>(fine.error());
    if (::flock(dir->get(), LOCK_EX) != 0) return errno_failure("lock", "the directory", errno);
    // A restarted container or a second boot step must not disturb the steps that read.
    if (const auto present = read_open_directory(dir->get(), where.owner, nullptr))
        if (const auto same = profile_files(*present); same && *same == files) return false;
    if (auto done = write_all_files(dir->get(), files, step); !done)
        return tl::unexpected<Error>(done.error());
    return true;
}

}  // namespace

Result<Profile> read_profile(const ProfileDirectory& where, const StepHook& step) {
    const auto dir = open_directory(where.path);
    if (!dir) return fail(where.path, dir.error());
    auto profile = read_open_directory(dir->get(), where.owner, step);
    if (!profile) return fail(where.path, profile.error());
    return profile;
}

Result<bool> write_profile(const Profile& profile, const ProfileDirectory& where,
                           const StepHook& step) {
    const auto files = profile_files(profile);
    if (!files) return fail(where.path, files.error());
    auto written = write_in_directory(*files, where, step);
    if (!written) return fail(where.path, written.error());
    return written;
}

}  // namespace cohort
