// SPDX-License-Identifier: GPL-2.0-or-later
//
// The arguments of the plugstack.conf line, as a value.
//
//   profile=required|off      off: nothing is injected; the gate compares the image's stamp
//   profile_dir=DIR           /run/flox-task-profile
//   path=prepend|append       must agree with the sealed path_precedence when that is set
//   base_path=DIR:DIR...      what a task without PATH gets besides the profile's entries
//   containers=skip|inject    skip: inside pyxis and OCI containers the image's own PATH stays
//   expect_revision=REV       rev_<16hex> or all 64 digits: the only revision that may run here
//   stamp_file=FILE           the site's stamp (profile=off); unset: /etc/os-release
// Strict: a word that is not key=value, an unknown key, a key given twice and a bad value are
// refused, each with a sentence that names it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort::spank {

enum class Order { prepend, append };

struct Arguments {
    bool profile_required = true;
    std::string profile_dir = "/run/flox-task-profile";
    std::optional<Order> order;  // unset: as sealed, else prepend
    std::string base_path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
    bool skip_containers = true;
    std::string expect_revision;  // empty: none expected
    std::string stamp_file;
};

Result<Arguments> parse_arguments(const std::vector<std::string_view>& words);

}  // namespace cohort::spank
