// SPDX-License-Identifier: GPL-2.0-or-later
//
// The task profile on disk: written so that a crash at any moment leaves the old complete one or
// one that is refused; read so that nothing but root's own complete work is believed.
//
// Directory 0755 and files 0444 of root, no links, no other file in it. The writer removes the seal
// first and writes it last. The reader works on descriptors, once through, and refuses
// (Errc::busy) when the seal was replaced meanwhile. Errors begin with the directory. Writers of
// one directory take turns (flock); readers take no lock.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "common/profile.hpp"
#include "common/result.hpp"

namespace cohort {

// Where, and to whom it has to belong (a test says its own).
struct ProfileDirectory {
    std::string path = "/run/flox-task-profile";
    uid_t owner = 0;
};

// Called before each step ("unlink revision", "create path", "rename path", ...): a test ends the
// process there, or changes a file under the reader.
using StepHook = std::function<void(std::string_view step)>;

// Errc::not_found: no profile directory. Errc::busy: rewritten while it was read, read again.
// Errc::invalid: damaged or not trusted.
Result<Profile> read_profile(const ProfileDirectory& where = {}, const StepHook& step = nullptr);

// Writes and seals PROFILE. A profile that is there, valid and the same stays untouched: false.
Result<bool> write_profile(const Profile& profile, const ProfileDirectory& where = {},
                           const StepHook& step = nullptr);

}  // namespace cohort
