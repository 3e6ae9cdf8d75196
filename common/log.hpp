// SPDX-License-Identifier: GPL-2.0-or-later
//
// Log lines, sent to whatever sink the process has chosen.
//
// A program chooses syslog or stderr, a Slurm plugin chooses Slurm's log, a test its own list. The
// sink may be called from any thread at any time and must not throw. Callers never pass secrets,
// tokens or bodies of HTTP answers.
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

namespace cohort::log {

enum class Level { debug, info, warning, error };

using Sink = void (*)(Level, std::string_view line);

// Takes effect at once for all threads; nullptr means: drop everything (the initial state).
void set_sink(Sink sink) noexcept;
void write(Level level, std::string_view line) noexcept;

// Sinks for programs. syslog_sink() uses facility daemon and the identity NAME, which must outlive
// the process (a literal).
Sink stderr_sink() noexcept;
Sink syslog_sink(const char* name) noexcept;
Sink syslog_and_stderr_sink(const char* name) noexcept;

template <class... A>
void debug(fmt::format_string<A...> f, A&&... a) {
    write(Level::debug, fmt::format(f, std::forward<A>(a)...));
}
template <class... A>
void info(fmt::format_string<A...> f, A&&... a) {
    write(Level::info, fmt::format(f, std::forward<A>(a)...));
}
template <class... A>
void warning(fmt::format_string<A...> f, A&&... a) {
    write(Level::warning, fmt::format(f, std::forward<A>(a)...));
}
template <class... A>
void error(fmt::format_string<A...> f, A&&... a) {
    write(Level::error, fmt::format(f, std::forward<A>(a)...));
}

}  // namespace cohort::log
