// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/hostlist.hpp"
#include "common/slurm/job_writer.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "plugins/job_submit/source.hpp"

namespace cohort {
namespace {

class SlurmSource final : public ClusterSource {
  public:
    explicit SlurmSource(bool (*is_active)()) : active_(is_active) {}

    bool active() override { return active_(); }
    Result<ControllerConfig> config() override { return slurm::load_controller_config(); }
    Result<std::vector<Node>> nodes() override { return slurm::load_nodes(); }
    Result<std::vector<Partition>> partitions() override { return slurm::load_partitions(); }
    Result<std::vector<Reservation>> reservations() override { return slurm::load_reservations(); }
    Result<std::vector<Qos>> qos() override { return slurm::load_qos(); }
    Result<Accounting> accounting() override { return slurm::load_accounting(); }
    Result<std::vector<Job>> jobs() override { return slurm::load_jobs(); }
    Result<std::vector<Job>> jobs_of(std::uint32_t uid) override {
        return slurm::load_jobs_of(uid);
    }
    Result<Node> node(const std::string& name) override { return slurm::load_node(name); }
    Status write_features(const std::vector<std::string>& nodes,
                          const std::string& features) override {
        return slurm::write_features(nodes, features);
    }
    Result<std::vector<Job>> records_of(std::uint32_t job_id) override {
        return slurm::load_records_of(job_id);
    }
    Status change_job(const guard::JobChange& change) override {
        return slurm::change_job(change.id, {change.features, change.prefer, change.admin_comment,
                                             change.hold, change.release, change.start_now});
    }
    Result<std::vector<std::string>> expand(std::string_view list) override {
        return slurm::expand_hosts(list);
    }
    bool loses_features_silently() override { return slurm::reconfigure_keeps_process(); }

  private:
    bool (*active_)();
};

}  // namespace

std::unique_ptr<ClusterSource> slurm_source(bool (*is_active)()) {
    return std::make_unique<SlurmSource>(is_active);
}

}  // namespace cohort
