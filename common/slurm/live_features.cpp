// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/live_features.hpp"

#include <algorithm>

#include "common/slurm/compat.hpp"

namespace cohort::slurm {

bool features_are_live(const std::vector<std::string>& names) noexcept {
    if (!compat::reconfigure_keeps_process || !&active_feature_list || !active_feature_list)
        return true;
    std::size_t found = 0;
    using List = decltype(assoc_mgr_info_msg_t::qos_list);  // a name that differs between versions
    auto* iterator = slurm_list_iterator_create(static_cast<List>(active_feature_list));
    while (const auto* one = static_cast<const CohortNodeFeature*>(slurm_list_next(iterator))) {
        if (one->magic != cohort_feature_magic) {  // not the list that we know
            found = names.size();
            break;
        }
        if (one->name && std::ranges::find(names, one->name) != names.end()) ++found;
    }
    slurm_list_iterator_destroy(iterator);
    return found >= names.size();
}

}  // namespace cohort::slurm
