// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/site/site_command.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_sentence = 300;
constexpr std::size_t kept_errors = 4096;
constexpr std::size_t most_errors_at_once = std::size_t{1} << 20;  // more than a pipe holds

struct Pipe {
    UniqueFd reader, writer;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return fail(Errc::unreachable, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    Pipe made{UniqueFd(ends[0]), UniqueFd(ends[1])};
    ::fcntl(made.reader.get(), F_SETFL, O_NONBLOCK);
    return made;
}

std::vector<std::string> clean_environment() {
    std::vector<std::string> environment;
    for (const char* name : {"PATH", "HOME", "SLURM_CONF"})
        if (const char* value = std::getenv(name))
            environment.push_back(fmt::format("{}={}", name, value));
    environment.emplace_back("LANG=C.UTF-8");
    return environment;
}

// What posix_spawn needs, freed in the right order.
class Spawn {
  public:
    Spawn(int output, int errors) {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_adddup2(&actions_, output, 1);
        ::posix_spawn_file_actions_adddup2(&actions_, errors, 2);
        ::posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~Spawn() {
        ::posix_spawnattr_destroy(&attributes_);
        ::posix_spawn_file_actions_destroy(&actions_);
    }
    Spawn(const Spawn&) = delete;
    Spawn& operator=(const Spawn&) = delete;

    Result<pid_t> start(std::vector<std::string> argv, std::vector<std::string> environment) {
        if (environment.empty()) environment = clean_environment();
        std::vector<char*> arguments, variables;
        for (auto& word : argv) arguments.push_back(word.data());
        for (auto& word : environment) variables.push_back(word.data());
        arguments.push_back(nullptr);
        variables.push_back(nullptr);
        pid_t child = 0;
        const int error = ::posix_spawnp(&child, argv[0].c_str(), &actions_, &attributes_,
                                         arguments.data(), variables.data());
        if (error == 0) return child;
        return fail(Errc::unreachable,
                    fmt::format("{} cannot be started: {}", argv[0], std::strerror(error)));
    }

  private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

class Child {
  public:
    Child(pid_t pid, Pipe output, Pipe errors, std::size_t most)
        : pid_(pid),
          pidfd_(
              static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),  // glibc 2.36 has no C++ header
          output_(std::move(output.reader)),
          errors_(std::move(errors.reader)),
          most_(most) {}

    CommandEnd wait(Clock::time_point until) {
        bool over = false;
        while (!over && !end_.too_much) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
            if (left <= 0) {
                end_.timed_out = true;
                break;
            }
            pollfd looks[] = {
                {pidfd_.get(), POLLIN, 0}, {output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}};
            (void)::poll(looks, 3, static_cast<int>(std::min<std::int64_t>(left, 60000)));
            over = looks[0].revents != 0;
            read(output_, end_.output, most_);
            end_.too_much = end_.output.size() > most_;
            read(errors_, end_.errors, most_errors_at_once);
            if (end_.errors.size() > kept_errors)
                end_.errors.erase(0, end_.errors.size() - kept_errors);
        }
        reap();
        return std::move(end_);
    }

  private:
    // A child of its own that goes on may hold the pipe: what is there now is all.
    void read(UniqueFd& from, std::string& into, std::size_t most) {
        char buffer[4096];
        while (from) {
            const ssize_t n = ::read(from.get(), buffer, sizeof buffer);
            if (n == 0) from.reset();
            if (n <= 0) return;
            into.append(buffer, static_cast<std::size_t>(n));
            if (into.size() > most) return;
        }
    }

    void reap() {
        if (end_.timed_out || end_.too_much) ::kill(-pid_, SIGKILL);
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        if (end_.timed_out || end_.too_much) return;
        if (WIFEXITED(status)) end_.exit_status = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
    }

    pid_t pid_;
    UniqueFd pidfd_, output_, errors_;
    std::size_t most_;
    CommandEnd end_;
};

bool names_a_secret(const std::string& lower) {
    for (const char* word :
         {"passw", "secret", "token", "authorization", "bearer", "api_key", "apikey", "credential"})
        if (lower.find(word) != std::string::npos) return true;
    return false;
}

}  // namespace

Result<CommandEnd> run_site_command(const std::vector<std::string>& argv,
                                    std::chrono::seconds limit, std::size_t most_bytes,
                                    std::vector<std::string> environment) {
    const auto until = Clock::now() + limit;
    auto output = make_pipe(), errors = make_pipe();
    if (!output) return tl::unexpected(output.error());
    if (!errors) return tl::unexpected(errors.error());
    auto pid =
        Spawn(output->writer.get(), errors->writer.get()).start(argv, std::move(environment));
    if (!pid) return tl::unexpected(pid.error());
    output->writer.reset();
    errors->writer.reset();
    return Child(*pid, std::move(*output), std::move(*errors), most_bytes).wait(until);
}

Result<std::vector<std::string>> fill_in(std::string_view template_text,
                                         const std::map<std::string, std::string>& values) {
    std::vector<std::string> filled;
    for (std::string word : text::words(template_text)) {
        std::size_t at = 0;
        while ((at = word.find('{', at)) != std::string::npos) {
            const auto end = word.find('}', at);
            if (end == std::string::npos) break;
            const std::string name = word.substr(at + 1, end - at - 1);
            const auto known = values.find(name);
            const std::string value = known == values.end() ? "" : known->second;
            const bool control = std::ranges::any_of(
                value, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
            if (control || (at == 0 && value.starts_with('-')))
                return fail(Errc::invalid,
                            fmt::format("'{}' cannot be a {}", text::one_line(value, 80), name));
            word.replace(at, end - at + 1, value);
            at += value.size();
        }
        filled.push_back(std::move(word));
    }
    return filled;
}

std::string last_words(std::string_view text) {
    std::string last;
    for (const auto& line : text::split(text, '\n'))
        if (!text::trim(line).empty()) last = line;
    std::string told;
    bool hide = false;
    for (const auto& word : text::words(last)) {
        const bool secret = names_a_secret(text::lower(word));
        const auto sign = word.find_first_of("=:");
        std::string shown = hide ? "***" : word;
        if (!hide && secret && sign != std::string::npos && sign + 1 < word.size())
            shown = word.substr(0, sign + 1) + "***";
        // "token abc", "Authorization: Bearer abc"
        hide = (secret && (sign == std::string::npos || sign + 1 == word.size())) ||
               (hide && text::iequals(word, "basic"));
        told += (told.empty() ? "" : " ") + shown;
    }
    return text::one_line(told, longest_sentence);
}

}  // namespace cohort
