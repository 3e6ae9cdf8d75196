// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/site/process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.hpp"

namespace cohort {
namespace {

tl::unexpected<Error> errno_failure(std::string_view what) {
    return fail(Errc::failed, fmt::format("{}: {}", what, std::strerror(errno)));
}

Status standard_descriptors_to_null() {
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null) return errno_failure("cannot open /dev/null");
    for (int fd = 0; fd <= 2; ++fd)
        if (::dup2(null.get(), fd) < 0) return errno_failure("cannot redirect to /dev/null");
    return {};
}

}  // namespace

Status reopen_descriptors() {
    while (true) {
        const int fd = ::open("/dev/null", O_RDWR);
        if (fd < 0) return errno_failure("cannot open /dev/null");
        if (fd > 2) {
            ::close(fd);
            return {};
        }
    }
}

void reset_signals() {
    sigset_t all;
    sigemptyset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    for (const int signal : {SIGPIPE, SIGHUP}) ::signal(signal, SIG_IGN);
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD})
        ::signal(signal, SIG_DFL);
}

void complete_environment() {
    if (!std::getenv("PATH")) ::setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    ::umask(077);
}

Result<Role> detach() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_failure("cannot make a pipe");
    UniqueFd reader(ends[0]), writer(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) return errno_failure("cannot fork");
    if (child > 0) {
        writer.reset();
        char byte = 0;
        ssize_t n;
        while ((n = ::read(reader.get(), &byte, 1)) < 0 && errno == EINTR) {
        }
        if (n != 1) return fail(Errc::failed, "the detached process died at its start");
        return Role::caller;
    }
    reader.reset();
    if (::setsid() < 0) std::_Exit(1);
    if (::chdir("/") != 0) std::_Exit(1);
    if (!standard_descriptors_to_null()) std::_Exit(1);
    const char byte = 1;
    if (::write(writer.get(), &byte, 1) != 1) std::_Exit(1);
    return Role::detached;
}

}  // namespace cohort
