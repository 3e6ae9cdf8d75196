// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/log.hpp"

#include <atomic>
#include <cstdio>

#include <syslog.h>

namespace cohort::log {
namespace {

std::atomic<Sink> current{nullptr};

int priority(Level level) {
    switch (level) {
        case Level::debug:
            return LOG_DEBUG;
        case Level::info:
            return LOG_INFO;
        case Level::warning:
            return LOG_WARNING;
        case Level::error:
            return LOG_ERR;
    }
    return LOG_ERR;
}

void to_stderr(Level level, std::string_view line) {
    if (level == Level::debug) return;
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void to_syslog(Level level, std::string_view line) {
    ::syslog(priority(level), "%.*s", static_cast<int>(line.size()), line.data());
}

}  // namespace

void set_sink(Sink sink) noexcept {
    current.store(sink);
}

void write(Level level, std::string_view line) noexcept {
    if (Sink sink = current.load()) sink(level, line);
}

Sink stderr_sink() noexcept {
    return to_stderr;
}

Sink syslog_sink(const char* name) noexcept {
    ::openlog(name, LOG_PID, LOG_DAEMON);
    return to_syslog;
}

Sink syslog_and_stderr_sink(const char* name) noexcept {
    ::openlog(name, LOG_PID, LOG_DAEMON);
    return [](Level level, std::string_view line) {
        to_syslog(level, line);
        to_stderr(level, line);
    };
}

}  // namespace cohort::log
