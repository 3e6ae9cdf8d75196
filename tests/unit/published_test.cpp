// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/published.hpp"

#include <cstdio>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

// A directory of the test's own, gone with it.
struct Scratch {
    std::string path;
    Scratch() {
        char name[] = "/tmp/cohort-published-XXXXXX";
        path = ::mkdtemp(name);
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    RuntimeDirectory directory() const { return {path + "/run", ::geteuid()}; }
};

const Published sample{"rev_0123456789abcdef", "req-1", "boot-1", "lab/v2"};

void put(const RuntimeDirectory& where, const std::string& name, const std::string& content) {
    std::filesystem::create_directories(where.path);
    std::FILE* f = std::fopen((where.path + "/" + name).c_str(), "w");
    std::fputs(content.c_str(), f);
    std::fclose(f);
}

}  // namespace

int main() {
    return unit::run(
        "published",
        {
            {"what was written is read back",
             [] {
                 const Scratch scratch;
                 unit::expect(write_published(sample, scratch.directory()).has_value(), "write");
                 const auto got = read_published(scratch.directory());
                 unit::expect(got.has_value() && *got == sample, "equal");
                 struct stat st {};
                 ::stat((scratch.directory().path + "/published").c_str(), &st);
                 unit::expect_equal(st.st_mode & 07777, 0644U);
             }},
            {"nothing published is not_found",
             [] {
                 const Scratch scratch;
                 unit::expect(read_published(scratch.directory()).error().code == Errc::not_found,
                              "code");
                 unit::expect(remove_published(scratch.directory()).has_value(),
                              "removing nothing is fine");
             }},
            {"a wrong name and a missing boot id are not written",
             [] {
                 const Scratch scratch;
                 unit::expect(!write_published({"v2", "", "b", ""}, scratch.directory()), "name");
                 unit::expect(!write_published({sample.revision, "", "", ""}, scratch.directory()),
                              "boot");
             }},
            {"links, foreign owners, files that others may write and garbage are refused",
             [] {
                 const Scratch scratch;
                 auto where = scratch.directory();
                 put(where, "published", "{}");
                 unit::expect(read_published(where).error().code == Errc::invalid, "empty object");
                 put(where, "published", "rev_0123456789abcdef");
                 unit::expect(read_published(where).error().code == Errc::invalid, "not JSON");
                 unit::expect(write_published(sample, where).has_value(), "write");
                 ::chmod((where.path + "/published").c_str(), 0666);
                 unit::expect(!read_published(where).has_value(), "0666");
                 ::chmod((where.path + "/published").c_str(), 0644);
                 RuntimeDirectory foreign{where.path, where.owner + 1};
                 unit::expect(!read_published(foreign).has_value(), "owner");
                 std::filesystem::rename(where.path + "/published", where.path + "/real");
                 std::filesystem::create_symlink("real", where.path + "/published");
                 unit::expect(!read_published(where).has_value(), "link");
                 std::filesystem::remove(where.path + "/published");
                 ::mkfifo((where.path + "/published").c_str(), 0644);
                 unit::expect(!read_published(where).has_value(), "FIFO");
             }},
            {"the first refusal stays until it is cleared, as one line",
             [] {
                 const Scratch scratch;
                 const auto where = scratch.directory();
                 unit::expect(read_refused(where).error().code == Errc::not_found, "none");
                 unit::expect(write_refused("no profile\nat all", where).has_value(), "first");
                 unit::expect(write_refused("second", where).has_value(), "second");
                 unit::expect_equal(*read_refused(where), std::string("no profile at all"));
                 unit::expect(clear_refused(where).has_value() && !read_refused(where), "cleared");
                 unit::expect(write_refused(std::string(5000, 'x'), where).has_value(), "long");
                 unit::expect(read_refused(where)->size() <= 400, "cut");
             }},
            {"a rebuild job's mark counts only when it is a file of the owner",
             [] {
                 const Scratch scratch;
                 auto where = scratch.directory();
                 unit::expect(!is_rebuild_job(7, where), "before");
                 unit::expect(mark_rebuild_job(7, where).has_value() && is_rebuild_job(7, where),
                              "marked");
                 unit::expect(!is_rebuild_job(8, where), "another");
                 where.owner += 1;
                 unit::expect(!is_rebuild_job(7, where), "foreign owner");
                 where.owner -= 1;
                 std::filesystem::create_directories(where.path + "/jobs/9");
                 unit::expect(!is_rebuild_job(9, where), "a directory");
                 unmark_rebuild_job(7, where);
                 unit::expect(!is_rebuild_job(7, where), "unmarked");
             }},
            {"this boot has an id",
             [] { unit::expect_equal(current_boot_id().value_or("").size(), std::size_t{36}); }},
        });
}
