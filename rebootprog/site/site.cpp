// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/site/site.hpp"

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/slurm/load.hpp"

namespace cohort {
namespace {

Result<Configuration> configuration_or_last_good(const std::string& fallback_state_dir) {
    const std::string path = configuration_path();
    auto loaded = load_configuration(path);
    if (loaded) return loaded;
    if (loaded.error().code == Errc::not_found) {
        log::info("{} does not exist: the defaults hold", path);
        return Configuration{};
    }
    auto good = load_configuration(fallback_state_dir + "/cohort.conf.good");
    if (!good) return tl::unexpected(loaded.error());
    log::error("{}; the last good configuration is used until this is mended",
               loaded.error().message);
    return good;
}

// The programs run as root or as SlurmUser; both must be able to work in the folder.
Status prepare_state_dir(const std::string& dir, std::uint32_t owner) {
    if (::access(dir.c_str(), W_OK) == 0) return {};
    if (auto made = make_directories(dir, 0700); !made) return made;
    if (::geteuid() == 0 && ::chown(dir.c_str(), owner, static_cast<gid_t>(-1)) != 0)
        return fail(Errc::failed, fmt::format("cannot give {} to SlurmUser", dir));
    return {};
}

}  // namespace

Status become_slurm_user(const ControllerConfig& slurm) {
    if (::geteuid() == slurm.slurm_user_id) return {};
    if (::geteuid() != 0) return fail(Errc::denied, "scohort is for root and SlurmUser");
    const passwd* user = ::getpwuid(slurm.slurm_user_id);
    if (!user) return fail(Errc::failed, "SlurmUser has no passwd entry");
    if (::initgroups(user->pw_name, user->pw_gid) != 0 || ::setgid(user->pw_gid) != 0 ||
        ::setuid(user->pw_uid) != 0)
        return fail(Errc::failed, "cannot become SlurmUser");
    return {};
}

Result<Site> load_site() {
    auto slurm = slurm::load_controller_config();
    if (!slurm) return tl::unexpected(slurm.error());
    const std::string beside = default_state_dir(slurm->state_save_location);
    auto configuration = configuration_or_last_good(beside);
    if (!configuration) return tl::unexpected(configuration.error());
    Site site{std::move(*configuration), std::move(*slurm), {}};
    site.state_dir = site.settings().state_dir.empty() ? beside : site.settings().state_dir;
    if (auto prepared = prepare_state_dir(site.state_dir, site.slurm.slurm_user_id); !prepared)
        return tl::unexpected(prepared.error());
    return site;
}

}  // namespace cohort
