// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the views need of all jobs, and when they take what a step of advance has kept.
#include "rebootprog/rollout/queue_digest.hpp"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "common/rebuild_mark.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using unit::expect;
using unit::expect_equal;

namespace {

constexpr std::int64_t now = 1'800'000'000;

Job user_job(std::uint32_t id, bool running) {
    Job job;
    job.id = id;
    job.user_id = 1000;
    job.running = running;
    job.pending = !running;
    job.start_time = now - 60;
    job.end_time = now + 60;
    job.nodes = running ? "n[1-2]" : "";
    return job;
}

Job rebuild_job(std::uint32_t id, const char* node, std::int64_t rollout, bool held) {
    Job job = user_job(id, false);
    job.admin_comment = write_mark("", {node, 100, held ? "rollout" : "", rollout});
    job.priority = held ? 0 : 100;
    job.submit_time = now - 300;
    return job;
}

QueueDigest whole() {
    QueueDigest digest =
        digest_of({user_job(1, true), user_job(2, false), rebuild_job(3, "n3", 7, false)});
    digest.at = now;
    digest.took_ms = 300;
    return digest;
}

struct Folder {
    Folder() : path(std::filesystem::temp_directory_path() / fmt::format("queue.{}", ::getpid())) {
        std::filesystem::create_directories(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
};

std::size_t rebuilds_of(std::vector<Job> jobs) {
    return digest_of(jobs).rebuilds.size();
}

void digest_rules(std::vector<unit::Rule>& rules) {
    rules.push_back(
        {"users' jobs: those that run with their nodes, of the others the number", [] {
             const auto digest =
                 digest_of({user_job(1, true), user_job(2, false), user_job(4, false)});
             expect_equal(digest.waiting, 2U);
             expect(digest.users ==
                        std::vector<QueueDigest::UserJob>{{1, 1000, now - 60, now + 60, "n[1-2]"}},
                    "the job that runs");
         }});
    rules.push_back({"a job that has ended counts nowhere, a rebuild job with its mark too", [] {
                         Job ended = user_job(1, false);
                         ended.pending = false;
                         ended.completed = true;
                         Job rebuilt = rebuild_job(3, "n3", 0, false);
                         rebuilt.pending = false;
                         rebuilt.completed = true;
                         expect(digest_of({ended, rebuilt}) == QueueDigest{}, "an empty digest");
                     }});
    rules.push_back(
        {"of a rollout's rebuild jobs only what is not held: the journal has the rest", [] {
             expect_equal(rebuilds_of({rebuild_job(3, "n3", 7, true)}), 0U);
             expect_equal(rebuilds_of({rebuild_job(3, "n3", 7, false)}), 1U);
         }});
    rules.push_back({"one that was sent by hand, held too", [] {
                         const auto digest = digest_of({rebuild_job(3, "n3", 0, true)});
                         expect(digest.rebuilds ==
                                    std::vector<QueueDigest::RebuildJob>{
                                        {"n3", 3, now - 300, true, true, true}},
                                "it is there");
                         expect_equal(digest.waiting, 0U);
                     }});
}

void keeping_rules(std::vector<unit::Rule>& rules) {
    rules.push_back({"what is written is read again", [] {
                         const Folder folder;
                         const auto digest = whole();
                         expect(write_digest(folder.path, digest).has_value(), "written");
                         const auto read = read_digest(folder.path);
                         expect(read && *read == digest, "the same");
                     }});
    rules.push_back({"half a file, another file and none are told apart from a digest", [] {
                         const Folder folder;
                         expect(read_digest(folder.path).error().code == Errc::not_found, "none");
                         for (const char* text : {"{\"at\":1,\"us", "{}", "[]", ""}) {
                             std::ofstream(folder.path + "/queue") << text;
                             expect(!read_digest(folder.path), text);
                         }
                     }});
    rules.push_back({"a view takes it where reading was slow, for a step and a half", [] {
                         auto digest = whole();
                         expect(stands_in(digest, now), "fresh");
                         expect(stands_in(digest, now + 15), "15 s");
                         expect(!stands_in(digest, now + 16), "16 s");
                         expect(!stands_in(digest, now - 1), "of the future: a clock was set");
                         digest.took_ms = 99;
                         expect(!stands_in(digest, now), "reading again is cheap");
                     }});
}

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    digest_rules(rules);
    keeping_rules(rules);
    return unit::run("queue_digest", std::move(rules));
}
