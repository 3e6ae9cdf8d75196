// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/job_desc.hpp"

#include <cstring>

namespace cohort::slurm {
namespace {

constexpr std::string_view prefix = "SPANK_";

void free_text(char*& text) noexcept {
    void* p = text;
    slurm_xfree(&p);
    text = nullptr;
}

bool is_variable(const char* entry, std::string_view name) noexcept {
    if (!entry) return false;
    std::string_view given(entry, std::strcspn(entry, "="));
    if (given.substr(0, prefix.size()) == prefix) given.remove_prefix(prefix.size());
    return given == name;
}

}  // namespace

void set_text(char*& field, std::string_view text) noexcept {
    free_text(field);
    if (text.empty()) return;
    // The allocator behind slurm_xstrdup, which itself wants an end mark that TEXT may lack.
    auto* copy = static_cast<char*>(
        slurm_xcalloc(1, text.size() + 1, true, false, __FILE__, __LINE__, __func__));
    std::memcpy(copy, text.data(), text.size());
    field = copy;
}

void remove_spank_variable(job_desc_msg_t& job, std::string_view name) noexcept {
    if (!job.spank_job_env) return;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < job.spank_job_env_size; ++i) {
        char* entry = job.spank_job_env[i];
        if (is_variable(entry, name))
            free_text(entry);
        else
            job.spank_job_env[kept++] = entry;
    }
    for (std::uint32_t i = kept; i < job.spank_job_env_size; ++i) job.spank_job_env[i] = nullptr;
    job.spank_job_env_size = kept;
}

void add_spank_variable(job_desc_msg_t& job, std::string_view name, std::string_view value) {
    const std::string entry = std::string(name) + "=" + std::string(value);
    const std::uint32_t size = job.spank_job_env ? job.spank_job_env_size : 0;
    auto** longer = static_cast<char**>(slurm_xcalloc(size + std::size_t{1}, sizeof(char*), true,
                                                      false, __FILE__, __LINE__, __func__));
    for (std::uint32_t i = 0; i < size; ++i) longer[i] = job.spank_job_env[i];
    longer[size] = slurm_xstrdup(entry.c_str());
    void* old = job.spank_job_env;
    slurm_xfree(&old);
    job.spank_job_env = longer;
    job.spank_job_env_size = size + 1;
}

}  // namespace cohort::slurm
