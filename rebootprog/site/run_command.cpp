// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/site/run_command.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <unistd.h>

#include "common/text.hpp"
#include "rebootprog/site/site_command.hpp"

extern char** environ;

namespace cohort {
namespace {

constexpr std::size_t most_words = 300;

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

}  // namespace

std::string CommandResult::complaint() const {
    return errors.empty() ? fmt::format("exit status {}", status)
                          : fmt::format("exit status {}: {}", status, errors);
}

Result<CommandResult> run_command(const Command& command) {
    if (command.words.empty()) return fail(Errc::invalid, "no program is named");
    auto end =
        run_site_command(command.words, command.limit, command.max_bytes, environment_of(command));
    if (!end) return fail(Errc::failed, end.error().message);
    if (end->timed_out)
        return fail(Errc::busy, fmt::format("{} did not end within {}", command.words[0],
                                            text::duration(command.limit)));
    if (end->too_much)
        return fail(Errc::failed, fmt::format("{} wrote more than {} bytes", command.words[0],
                                              command.max_bytes));
    CommandResult result;
    result.status = end->ended() ? end->exit_status : 128 + end->signal;
    result.output = std::move(end->output);
    result.errors = text::one_line(text::trim(end->errors), most_words);
    return result;
}

}  // namespace cohort
