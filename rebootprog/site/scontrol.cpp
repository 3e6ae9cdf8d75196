// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/site/scontrol.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/text.hpp"

extern char** environ;

namespace cohort {
namespace {

constexpr std::size_t most_words = 300;

Status scontrol(std::vector<std::string> words) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Errc::failed, "cannot make a pipe");
    UniqueFd reader(ends[0]), writer(ends[1]);
    words.insert(words.begin(), "scontrol");
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
        ::posix_spawn_file_actions_adddup2(&actions, writer.get(), fd);
    pid_t child = 0;
    const int error =
        ::posix_spawnp(&child, "scontrol", &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return fail(Errc::failed, fmt::format("cannot start scontrol: {}", std::strerror(error)));
    writer.reset();
    const auto said = read_fd(reader.get(), "scontrol", 1 << 16);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return fail(Errc::failed, fmt::format("{}: {}", text::join(words, " "),
                                          text::one_line(said.value_or("no answer"), most_words)));
}

}  // namespace

Status reboot_when_idle(const std::string& node, const std::string& reason) {
    return scontrol({"reboot", "ASAP", "nextstate=DOWN", "reason=" + reason, node});
}

Status cancel_reboot(const std::string& node) {
    return scontrol({"cancel_reboot", node});
}

}  // namespace cohort
