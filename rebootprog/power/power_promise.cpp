// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/power/power_promise.hpp"

#include "rebootprog/reboot/wanted.hpp"

namespace cohort {

bool is_asleep(const Node& node) {
    return node.state.power_saving && !node.state.powering_up && !node.record.want &&
           node.record.root.empty();
}

bool has_promise(const Node& node) {
    return is_asleep(node) && node.extra_is_ours && !node.record.revision.empty();
}

Result<std::string> promised_label(
    const Journal& journal, const Settings& settings, const std::string& node,
    const std::function<Result<ImageState>(const std::string&)>& image) {
    const auto wanted = wanted_of(journal, settings, node);
    if (!wanted) return tl::unexpected(wanted.error());
    const auto found = image(wanted->desired.image_id);
    if (!found) return tl::unexpected(found.error());
    return found->label();
}

Result<std::string> Promises::of(const std::string& node) {
    const auto backend = backends_.of(node);
    if (!backend) return tl::unexpected(backend.error());
    return promised_label(journal_, backends_.settings(node), node, [&](const std::string& id) {
        const std::pair key{*backend, id};
        const auto known = images_.find(key);
        if (known != images_.end()) return known->second;
        return images_.emplace(key, (*backend)->image(id)).first->second;
    });
}

}  // namespace cohort
