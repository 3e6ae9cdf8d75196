// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/config_keeper.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_bytes = 1 << 20;

std::optional<std::uint32_t> uid_of(const std::string& name) {
    if (const auto number = text::to_number(name)) return static_cast<std::uint32_t>(*number);
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(16384);
    if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return std::nullopt;
    return found->pw_uid;
}

// What tells one content of a file from another; errno's text when there is none.
std::string signature_of(const std::string& path) {
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) return std::strerror(errno);
    return fmt::format("{}:{}:{}:{}:{}.{}", st.st_dev, st.st_ino, st.st_mode, st.st_size,
                       st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

std::string copy_in(const std::string& dir) {
    return dir + "/cohort.conf.good";
}

}  // namespace

ConfigKeeper::ConfigKeeper(std::string path, UserLookup lookup)
    : path_(std::move(path)), lookup_(lookup ? std::move(lookup) : UserLookup(uid_of)) {}

std::string ConfigKeeper::state_dir() const {
    if (policy_->configuration && !policy_->configuration->site.state_dir.empty())
        return policy_->configuration->site.state_dir;
    return default_dir_;
}

bool ConfigKeeper::changed() {
    const std::string now = signature_of(path_);
    if (now == signature_) return false;
    signature_ = now;
    return true;
}

bool ConfigKeeper::read(const std::string& path, std::string& fault) {
    const auto content = read_file(path, max_bytes);
    if (!content) {
        fault = content.error().message;
        return false;
    }
    auto parsed = parse_configuration(*content, path);
    if (!parsed) {
        fault = parsed.error().message;
        return false;
    }
    Policy policy;
    for (const auto& user : parsed->site.rebuild_users) {
        if (const auto uid = lookup_(user))
            policy.rebuild_uids.push_back(*uid);
        else
            log::error(
                "{}: RebuildUsers names {}, whom this host does not know: nobody is let in "
                "for that name",
                path, user);
    }
    policy.configuration = std::move(*parsed);
    policy.origin = path;
    policy_ = std::make_shared<const Policy>(std::move(policy));
    text_ = *content;
    return true;
}

void ConfigKeeper::look(const std::string& default_dir) {
    const bool dir_is_news = default_dir_ != default_dir;
    default_dir_ = default_dir;
    if (changed()) {
        std::string fault;
        if (read(path_, fault)) {
            copied_ = false;
            log::info("{} is in use", path_);
        } else {
            fall_back(fault);
        }
    } else if (dir_is_news && !policy_->configuration) {
        fall_back(policy_->fault);
    }
}

void ConfigKeeper::fall_back(const std::string& fault) {
    Policy policy = *policy_;
    policy.fault = fault;
    policy_ = std::make_shared<const Policy>(std::move(policy));
    if (policy_->configuration) {
        log::error("{}. Mend it; until then the configuration read before ({}) stays in use", fault,
                   policy_->origin);
        return;
    }
    std::string ignored;
    if (!default_dir_.empty() && read(copy_in(default_dir_), ignored)) {
        Policy copy = *policy_;
        copy.fault = fault;
        policy_ = std::make_shared<const Policy>(std::move(copy));
        log::error("{}. Mend it; until then its last good copy {} is in use", fault, copy.origin);
        return;
    }
    log::error("{}{}. Mend it: until then rebuild jobs are refused; other jobs are not affected",
               fault, default_dir_.empty() ? "" : ", and there is no good copy of an earlier one");
}

void ConfigKeeper::keep_copies() {
    if (copied_ || default_dir_.empty() || !policy_->configuration || !policy_->fault.empty())
        return;
    copied_ = true;
    keep_copy(default_dir_);
    if (state_dir() != default_dir_) keep_copy(state_dir());
}

void ConfigKeeper::keep_copy(const std::string& dir) {
    const std::string path = copy_in(dir);
    if (const auto old = read_file(path, max_bytes); old && *old == text_) return;
    Status kept = make_directories(dir, 0755);
    if (kept) kept = write_file(path, text_, 0644);
    if (kept) return;
    const std::string complaint =
        fmt::format("cannot keep a good copy of {}: {}. Create {} with the owner SlurmUser", path_,
                    kept.error().message, dir);
    if (complaint != complaint_) log::warning("{}", complaint);
    complaint_ = complaint;
}

}  // namespace cohort
