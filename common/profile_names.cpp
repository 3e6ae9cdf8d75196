// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/profile_names.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace cohort {
namespace {

constexpr std::size_t max_name = 128;

constexpr std::string_view reserved_names[] = {
    "PATH",
    "LD_PRELOAD",
    "LD_AUDIT",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "BASH_ENV",
    "ENV",
    "IFS",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "FLOX_ENV_DIRS",
    "FLOX_TASK_PATH",
    "FLOX_TASK_PATH_POLICY",
};

constexpr std::string_view reserved_prefixes[] = {
    "SLURM", "_SLURM", "SPANK", "PMI", "_FLOX_", "KUBERNETES_", "OS_",
};

constexpr std::string_view credential_words[] = {"TOKEN", "SECRET", "PASSWORD", "PASSWD",
                                                 "CREDENTIAL"};

bool is_letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

}  // namespace

bool is_variable_name(std::string_view name) {
    if (name.empty() || name.size() > max_name || !is_letter(name[0])) return false;
    return std::all_of(name.begin(), name.end(),
                       [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_reserved_variable(std::string_view name) {
    for (const auto reserved : reserved_names)
        if (name == reserved) return true;
    for (const auto prefix : reserved_prefixes)
        if (name.starts_with(prefix)) return true;
    std::string shout(name);
    std::transform(shout.begin(), shout.end(), shout.begin(), upper);
    return std::any_of(
        std::begin(credential_words), std::end(credential_words),
        [&](std::string_view word) { return shout.find(word) != std::string::npos; });
}

}  // namespace cohort
