// SPDX-License-Identifier: GPL-2.0-or-later
//
// Result<T>: a value or an Error. What this project returns instead of throwing.
//
// An Error is one sentence for a person ("what failed, why, what to do now") and a code for the
// program. Values own their memory and may cross threads.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace cohort {

// What kind of failure, as far as a caller decides by it.
enum class Errc {
    invalid,      // bad input: usage, configuration, a file's content
    not_found,    // it does not exist
    denied,       // refused by policy or permission
    busy,         // try again: a lock is held, a state does not allow it now
    unreachable,  // cloud or Slurm did not answer; nothing was changed
    unsure,       // the request may or may not have been taken
    failed,       // it was tried and did not work
};

struct Error {
    Errc code = Errc::failed;
    std::string message;  // one sentence, no trailing newline
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(Errc code, std::string message) {
    return tl::unexpected<Error>(Error{code, std::move(message)});
}

// The same failure seen from further out: "context: message".
inline tl::unexpected<Error> fail(std::string_view context, const Error& cause) {
    return tl::unexpected<Error>(Error{cause.code, std::string(context) + ": " + cause.message});
}

// Exit codes of every program of the suite (cohort-gate: 0 and 1 only).
namespace exit_code {
constexpr int ok = 0;           // done, or nothing to do
constexpr int some_failed = 1;  // some nodes failed, each is named
constexpr int usage = 2;        // usage or configuration
constexpr int unreachable = 3;  // cloud or Slurm out of reach, nothing changed
constexpr int refused = 4;      // refused by policy
constexpr int try_again = 75;   // a lock is held or a limit passed (EX_TEMPFAIL)
}  // namespace exit_code

// The exit code that belongs to an error which ends a program.
constexpr int exit_code_of(Errc code) {
    switch (code) {
        case Errc::invalid:
            return exit_code::usage;
        case Errc::denied:
            return exit_code::refused;
        case Errc::busy:
            return exit_code::try_again;
        case Errc::unreachable:
            return exit_code::unreachable;
        default:
            return exit_code::some_failed;
    }
}

}  // namespace cohort
