// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the slurmd of a dynamic node is started with. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/result.hpp"

namespace cohort {

// `-Z --conf "KEY=VALUE ... Feature=a,b,rev_<16hex>"`, as a shell or systemd's EnvironmentFile
// reads it. CONF: the site's own "KEY=VALUE KEY=VALUE"; a key without a value is left out (Slurm
// refuses it), its Feature= list is kept, FEATURES are added, REVISION (may be empty) is the only
// revision name. "-Z" alone when nothing is left. Refuses words without '=' and characters that
// would end the quotes.
Result<std::string> slurmd_arguments(std::string_view revision, std::string_view conf,
                                     std::string_view features);

}  // namespace cohort
