// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/published.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/flat_json.hpp"
#include "common/json.hpp"
#include "common/revision.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_bytes = 4096;
constexpr std::size_t max_sentence = 400;
constexpr mode_t file_mode = 0644;
constexpr mode_t directory_mode = 0755;

std::string published_path(const RuntimeDirectory& where) {
    return where.path + "/published";
}
std::string refused_path(const RuntimeDirectory& where) {
    return where.path + "/refused";
}
std::string jobs_path(const RuntimeDirectory& where) {
    return where.path + "/jobs";
}
std::string job_path(std::uint32_t job_id, const RuntimeDirectory& where) {
    return fmt::format("{}/{}", jobs_path(where), job_id);
}

bool trusted(const struct stat& st, uid_t owner) {
    return S_ISREG(st.st_mode) && st.st_uid == owner && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// O_NONBLOCK: a FIFO in the file's place must not hang a job's launch.
Result<std::string> read_trusted(const std::string& path, uid_t owner) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd)
        return fail(errno == ENOENT ? Errc::not_found : Errc::invalid,
                    fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    struct stat st {};
    if (::fstat(fd.get(), &st) != 0 || !trusted(st, owner))
        return fail(
            Errc::invalid,
            fmt::format("{} is not a regular file that only uid {} can write", path, owner));
    return read_fd(fd.get(), path, max_bytes);
}

Status remove_file(const std::string& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return fail(Errc::failed, fmt::format("cannot remove {}: {}", path, std::strerror(errno)));
}

Status write_in(const RuntimeDirectory& where, const std::string& path, std::string_view content) {
    if (auto made = make_directories(where.path, directory_mode); !made) return made;
    return write_file(path, content, file_mode);
}

}  // namespace

Result<Published> read_published(const RuntimeDirectory& where) {
    const std::string path = published_path(where);
    const auto content = read_trusted(path, where.owner);
    if (!content) return tl::unexpected<Error>(content.error());
    const auto object = parse_flat_json(*content, path);
    if (!object) return tl::unexpected<Error>(object.error());
    Published published{value_of(*object, "revision"), value_of(*object, "request"),
                        value_of(*object, "boot_id"), value_of(*object, "stamp")};
    if (!is_revision_name(published.revision) || published.boot_id.empty())
        return fail(Errc::invalid, fmt::format("{} names no revision or no boot", path));
    return published;
}

Status write_published(const Published& published, const RuntimeDirectory& where) {
    if (!is_revision_name(published.revision))
        return fail(Errc::invalid, fmt::format("'{}' is not the name of a revision, it cannot be "
                                               "published",
                                               published.revision));
    if (published.boot_id.empty())
        return fail(Errc::invalid, "a revision cannot be published without the id of this boot");
    Json object = json::object();
    json::set(object.get(), "revision", published.revision);
    json::set(object.get(), "request", published.request);
    json::set(object.get(), "boot_id", published.boot_id);
    if (!published.stamp.empty()) json::set(object.get(), "stamp", published.stamp);
    return write_in(where, published_path(where), json::dump(object.get()) + "\n");
}

Status remove_published(const RuntimeDirectory& where) {
    return remove_file(published_path(where));
}

Result<std::string> current_boot_id() {
    const auto content = read_file("/proc/sys/kernel/random/boot_id", 128);
    if (!content) return content;
    return std::string(text::trim(*content));
}

Status write_refused(std::string_view sentence, const RuntimeDirectory& where) {
    if (read_refused(where)) return {};
    return write_in(where, refused_path(where), text::one_line(sentence, max_sentence) + "\n");
}

Result<std::string> read_refused(const RuntimeDirectory& where) {
    const auto content = read_trusted(refused_path(where), where.owner);
    if (!content) return content;
    return text::one_line(text::trim(*content), max_sentence);
}

Status clear_refused(const RuntimeDirectory& where) {
    return remove_file(refused_path(where));
}

Status mark_rebuild_job(std::uint32_t job_id, const RuntimeDirectory& where) {
    if (auto made = make_directories(jobs_path(where), directory_mode); !made) return made;
    return write_file(job_path(job_id, where), "", file_mode);
}

bool is_rebuild_job(std::uint32_t job_id, const RuntimeDirectory& where) {
    struct stat st {};
    return ::lstat(job_path(job_id, where).c_str(), &st) == 0 && trusted(st, where.owner);
}

void unmark_rebuild_job(std::uint32_t job_id, const RuntimeDirectory& where) {
    ::unlink(job_path(job_id, where).c_str());
}

}  // namespace cohort
