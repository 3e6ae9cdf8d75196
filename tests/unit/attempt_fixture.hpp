// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fakes of the cloud and of Slurm's nodes that record what an attempt asks of them.
#pragma once

#include <cstdlib>
#include <deque>
#include <fstream>

#include <unistd.h>

#include "rebootprog/reboot/attempt.hpp"
#include "tests/unit/unit.hpp"

namespace cohort::fake {

using namespace std::chrono_literals;

struct FakeBackend : Backend {
    std::deque<Result<ServerState>> looks;
    std::deque<Result<std::string>> sends;
    std::deque<Result<ActionState>> actions;
    std::optional<ActionState> newest;
    std::deque<Result<ImageState>> images{ImageState{"image-2", "v2", "lab/v2", true, ""}};
    std::vector<std::string> log;

    template <class T>
    static T next(std::deque<T>& queue) {
        T value = queue.front();
        if (queue.size() > 1) queue.pop_front();
        return value;
    }
    Status probe() override { return {}; }
    Result<std::vector<ServerState>> servers() override { return fail(Errc::invalid, "no list"); }
    Result<ServerState> server(const Target&) override { return next(looks); }
    Result<ImageState> image(const std::string&) override { return next(images); }
    Result<std::string> send(Request request, const std::string&, const std::string&) override {
        const char* names[] = {"rebuild", "rebuild-volume", "soft", "hard", "start", "unlock"};
        log.push_back(names[static_cast<int>(request)]);
        return next(sends);
    }
    Result<ActionState> action(const std::string&, const std::string&) override {
        return next(actions);
    }
    Result<std::optional<ActionState>> newest_action(const std::string&, const std::string&,
                                                     std::int64_t) override {
        return newest;
    }
};

struct FakeDesk : NodeDesk {
    NodeRecord record;
    std::string out_reason;
    std::vector<NodeRecord> writes;
    std::vector<Error> edit_errors;  // of the next edits
    Result<Node> node(const std::string& name) override {
        Node n;
        n.name = name;
        n.record = record;
        return n;
    }
    Status edit(const std::string&, const std::function<void(NodeRecord&)>& change) override {
        if (!edit_errors.empty()) {
            const Error error = edit_errors.front();
            edit_errors.erase(edit_errors.begin());
            return tl::unexpected(error);
        }
        change(record);
        writes.push_back(record);
        return {};
    }
    Status take_out(const std::string&, const std::string& reason) override {
        out_reason = reason;
        return {};
    }
};

inline ServerState active(const char* image) {
    ServerState s;
    s.id = "server-1";
    s.name = "n1";
    s.status = "ACTIVE";
    s.image = image;
    return s;
}

inline ActionState done(bool ok, const char* message = "") {
    return {"req-1", true, ok, message, 1};
}
inline ActionState running() {
    return {"req-1", false, false, "", 1};
}

// One attempt in a folder of its own.
struct Bench {
    FakeBackend backend;
    FakeDesk desk;
    Settings settings;
    std::string dir;
    int cloud_faults = 0;
    std::optional<Journal> journal;
    std::chrono::milliseconds limit{3000};

    Bench() {
        char pattern[] = "/tmp/cohort-unit-XXXXXX";
        dir = mkdtemp(pattern);
        settings.desired_dir = dir;
        std::ofstream(dir + "/n1.yml") << "instance_id: 11111111-1111-4111-8111-111111111111\n"
                                          "image_id: 22222222-2222-4222-8222-222222222222\n";
        desk.record.revision = "rev_0123456789abcdef";
        desk.record.root = "0123456789abcdef";
        backend.looks = {active("image-1")};
        backend.sends = {std::string("req-1")};
        backend.actions = {running(), done(true)};
        journal.emplace(std::move(*Journal::open(dir)));
    }
    ~Bench() {
        if (std::system(("rm -rf " + dir).c_str()) != 0) std::abort();
    }

    AttemptContext context() { return context_with(backend); }
    AttemptContext context_with(Backend& cloud) {
        return {.settings = settings,
                .state_dir = dir,
                .backend = cloud,
                .desk = desk,
                .journal = *journal,
                .deadline = AttemptContext::Clock::now() + limit,
                .cloud_failed = [this](const std::string&) { ++cloud_faults; },
                .cloud_answered = {},
                .first_post = {},
                .poll = 5ms,
                .first_pause = 10ms};
    }
    Outcome run() {
        const auto c = context();
        return run_attempt(c, "n1");
    }
    Attempt last() { return journal->latest_attempt("n1")->value(); }
    std::string sent() {
        std::string all;
        for (const auto& word : backend.log) all += word + " ";
        return all;
    }
};

inline void expect_outcome(Outcome got, Outcome wanted) {
    unit::expect_equal(std::string(name_of(got)), std::string(name_of(wanted)));
}

}  // namespace cohort::fake
