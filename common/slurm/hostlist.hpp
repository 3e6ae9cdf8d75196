// SPDX-License-Identifier: GPL-2.0-or-later
//
// Host list expressions ("n[01-12,20],login1") through Slurm's own parser, so that a name means the
// same here as in slurm.conf. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort::slurm {

// Names in the order of the expression, duplicates kept. Errc::invalid for an expression that
// Slurm's parser refuses or that stands for more than 262144 names; an empty one is an empty list.
Result<std::vector<std::string>> expand_hosts(std::string_view expression);

// "n[1-3]" from names.
std::string compress_hosts(const std::vector<std::string>& names);

}  // namespace cohort::slurm
