// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/run_command.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/text.hpp"

extern char** environ;

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_words = 300;
constexpr std::size_t kept_errors = 4096;

struct Pipe {
    UniqueFd reader, writer;
    bool open() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return false;
        reader.reset(ends[0]);
        writer.reset(ends[1]);
        return true;
    }
};

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (auto& word : words) all.push_back(word.data());
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> environment_of(const Command& command) {
    std::vector<std::string> all;
    for (char** one = environ; *one; ++one) {
        const std::string_view line(*one);
        const auto name = line.substr(0, line.find('='));
        if (std::ranges::none_of(command.environment,
                                 [&](const auto& own) { return own.first == name; }))
            all.emplace_back(line);
    }
    for (const auto& [name, value] : command.environment) all.push_back(name + "=" + value);
    return all;
}

Result<pid_t> start(const Command& command, int out, int err) {
    auto words = command.words;
    auto variables = environment_of(command);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, words[0].c_str(), &actions, &attributes,
                                     pointers(words).data(), pointers(variables).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0)
        return fail(Errc::failed,
                    fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
    return child;
}

// Both ends until they close; Errc::busy at the deadline.
Status read_both(const Command& command, int out, int err, CommandResult& result) {
    const auto until = Clock::now() + command.limit;
    pollfd ends[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
    std::string* texts[] = {&result.output, &result.errors};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        if (left.count() <= 0)
            return fail(Errc::busy, fmt::format("{} did not end within {}", command.words[0],
                                                text::duration(command.limit)));
        if (::poll(ends, 2, static_cast<int>(std::min<long>(left.count(), 1000))) < 0 &&
            errno != EINTR)
            return fail(Errc::failed, fmt::format("poll: {}", std::strerror(errno)));
        for (int i = 0; i < 2; ++i) {
            if (ends[i].fd < 0 || ends[i].revents == 0) continue;
            char buffer[65536];
            const ssize_t n = ::read(ends[i].fd, buffer, sizeof buffer);
            if (n > 0) texts[i]->append(buffer, static_cast<std::size_t>(n));
            if (n == 0 || (n < 0 && errno != EINTR)) ends[i].fd = -1;
        }
        if (result.output.size() > command.max_bytes)
            return fail(Errc::failed, fmt::format("{} wrote more than {} bytes", command.words[0],
                                                  command.max_bytes));
        if (result.errors.size() > 2 * kept_errors)
            result.errors.erase(0, result.errors.size() - kept_errors);
    }
    return {};
}

}  // namespace

std::string CommandResult::complaint() const {
    return errors.empty() ? fmt::format("exit status {}", status)
                          : fmt::format("exit status {}: {}", status, errors);
}

Result<CommandResult> run_command(const Command& command) {
    if (command.words.empty()) return fail(Errc::invalid, "no program is named");
    Pipe out, err;
    if (!out.open() || !err.open()) return fail(Errc::failed, "cannot make a pipe");
    auto child = start(command, out.writer.get(), err.writer.get());
    if (!child) return tl::unexpected(child.error());
    out.writer.reset();
    err.writer.reset();
    CommandResult result;
    auto read = read_both(command, out.reader.get(), err.reader.get(), result);
    if (!read) ::kill(-*child, SIGKILL);
    int status = 0;
    while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!read) return tl::unexpected(read.error());
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.errors = text::one_line(text::trim(result.errors), most_words);
    return result;
}

}  // namespace cohort
