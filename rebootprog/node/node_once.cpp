// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_once.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "common/text.hpp"
#include "rebootprog/node/node_facts.hpp"

extern "C" char** environ;

namespace cohort {
namespace {

constexpr std::size_t max_bytes = 4096;
constexpr mode_t directory_mode = 0755;

bool is_step_name(std::string_view name) {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return !name.empty() && name[0] != '.' && name.size() <= 64 &&
           name.find_first_not_of(letters) == std::string_view::npos;
}

// Empty when the command ended well, else how it ended.
std::string run_command(const std::vector<std::string>& command) {
    std::vector<char*> argv;
    for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t child = 0;
    if (const int error = ::posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ))
        return fmt::format("cannot start {}: {}", command[0], std::strerror(error));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return fmt::format("{} cannot be waited for", command[0]);
    if (WIFSIGNALED(status))
        return fmt::format("{} ended by signal {}", command[0], WTERMSIG(status));
    const int code = WEXITSTATUS(status);
    return code == 0 ? std::string() : fmt::format("{}: exit {}", command[0], code);
}

class Step {
  public:
    explicit Step(const OnceOptions& options) : options_(options), identity_(root_identity()) {}

    // A container has no identity: there the file alone counts.
    bool is_done() const {
        const auto kept = read_file(sentinel(), max_bytes);
        return kept && text::trim(*kept) == identity_;
    }

    int run() {
        std::string fault;
        for (int left = std::max(options_.tries, 1); left > 0; --left) {
            tell(fault.empty() ? "has not ended" : fault);
            fault = run_command(options_.command);
            if (fault.empty()) return done();
            log::error("step {}: {}; {} more", options_.name, fault,
                       left == 2 ? "1 try" : fmt::format("{} tries", left - 1));
            if (left > 1) std::this_thread::sleep_for(options_.pause);
        }
        tell(fault);
        return exit_code::some_failed;
    }

  private:
    std::string sentinel() const { return options_.state_dir + "/" + options_.name; }
    std::string mark() const { return options_.steps_dir + "/" + options_.name; }

    void tell(const std::string& what) const {
        auto told = make_directories(options_.steps_dir, directory_mode);
        if (told)
            told = write_file(mark(), fmt::format("boot step {}: {}\n", options_.name, what), 0644);
        if (!told) log::warning("{}", told.error().message);
    }

    int done() const {
        auto kept = make_directories(options_.state_dir, directory_mode);
        if (kept) kept = write_file(sentinel(), identity_ + "\n", 0644);
        if (!kept) {
            log::error("step {}: it ended well, but that cannot be kept: {}", options_.name,
                       kept.error().message);
            return exit_code::some_failed;
        }
        ::unlink(mark().c_str());
        log::info("step {}: done for this disk", options_.name);
        return exit_code::ok;
    }

    const OnceOptions& options_;
    std::string identity_;
};

}  // namespace

int node_once(const OnceOptions& options) {
    if (!is_step_name(options.name)) {
        log::error("'{}' is no name of a step: letters, digits, '-', '_' and '.'", options.name);
        return exit_code::usage;
    }
    if (options.command.empty()) {
        log::error("step {}: no command: cohort-node once {} -- COMMAND [ARGUMENT...]",
                   options.name, options.name);
        return exit_code::usage;
    }
    if (auto made = make_directories(options.state_dir, directory_mode); !made) {
        log::error("step {}: {}", options.name, made.error().message);
        return exit_code::some_failed;
    }
    const auto lock = try_lock_file(options.state_dir + "/." + options.name + ".lock");
    if (!lock) {
        log::error("step {}: {}", options.name, lock.error().message);
        return exit_code_of(lock.error().code);
    }
    Step step(options);
    if (step.is_done()) {
        log::info("step {}: was done on this disk", options.name);
        return exit_code::ok;
    }
    return step.run();
}

std::string unfinished_step(const std::string& steps_dir) {
    std::error_code error;
    std::string first;
    for (const auto& entry : std::filesystem::directory_iterator(steps_dir, error)) {
        const std::string path = entry.path().string();
        const std::string name = entry.path().filename().string();
        if (!is_step_name(name) || name.ends_with(".tmp")) continue;
        if (!first.empty() && path >= first) continue;
        first = path;
    }
    if (first.empty()) return {};
    const auto sentence = read_file(first, max_bytes);
    return sentence ? text::one_line(text::trim(*sentence), 200) : std::string();
}

}  // namespace cohort
