// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reboot/wanted.hpp"

#include "rebootprog/rollout/rollout_journal.hpp"

namespace cohort {

Result<Wanted> wanted_by(Result<Desired> file, const std::optional<Pin>& pin) {
    if (!file && file.error().code != Errc::not_found) return tl::unexpected(file.error());
    const std::string image = file ? file->image_id : std::string();
    const bool pinned = pin && (pin->open || pin->file_image == image);
    if (!file && !pinned) return tl::unexpected(file.error());
    Wanted wanted{file ? std::move(*file) : Desired{}, image, 0};
    if (pinned) {
        wanted.desired.image_id = pin->image;
        wanted.rollout = pin->rollout;
    }
    return wanted;
}

Result<Wanted> wanted_of(const Journal& journal, const Settings& settings,
                         const std::string& node) {
    auto pin = RolloutJournal(journal).pin(node);
    if (!pin) return tl::unexpected(pin.error());
    return wanted_by(read_desired(settings, node), *pin);
}

}  // namespace cohort
