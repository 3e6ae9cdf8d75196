// SPDX-License-Identifier: GPL-2.0-or-later
// Host lists, as slurmctld gives them to cohort-reboot and administrators to scohort.
#include <algorithm>
#include <cctype>

#include "common/slurm/hostlist.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace cohort;

namespace {

bool is_plain(const std::string& name) {
    return std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto names = slurm::expand_hosts(fuzz::text(data, size));
    if (!names) {
        fuzz::must(!names.error().message.empty(), "an error has words");
        return 0;
    }
    fuzz::must(names->size() <= 1U << 18, "as many as Slurm can have");
    if (!std::ranges::all_of(*names, is_plain)) return 0;
    // Slurm's own writing of the same nodes is read as the same nodes.
    auto again = slurm::expand_hosts(slurm::compress_hosts(*names));
    fuzz::must(again.has_value() || names->empty(), "what was written is read");
    if (!again) return 0;
    std::ranges::sort(*names);
    std::ranges::sort(*again);
    fuzz::must(*names == *again, "the same nodes");
    return 0;
}
