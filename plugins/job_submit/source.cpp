// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/source.hpp"

#include "common/text.hpp"

namespace cohort {

Result<Accounting> ClusterSource::accounting() {
    return Accounting{};
}

Result<Node> ClusterSource::node(const std::string& name) {
    return fail(Errc::not_found, "no node " + name);
}

Status ClusterSource::write_features(const std::vector<std::string>&, const std::string&) {
    return {};
}

Result<std::vector<Job>> ClusterSource::records_of(std::uint32_t) {
    return jobs();
}

Status ClusterSource::change_job(const guard::JobChange&) {
    return {};
}

Result<std::vector<std::string>> ClusterSource::expand(std::string_view list) {
    return text::split(list, ',');
}

}  // namespace cohort
