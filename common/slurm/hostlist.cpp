// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/hostlist.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <fmt/core.h>

#include "common/slurm/compat.hpp"

namespace cohort::slurm {
namespace {

// More than any Slurm has nodes. Slurm's parser makes all names of n[1-50000]-[1-50000] at once.
constexpr std::uint64_t most_names = 1U << 18;

// How many names TEXT stands for at most: ranges add up in their brackets, brackets multiply,
// commas outside of them add. Counts no further than 2^31 in any step.
std::uint64_t count_names(std::string_view text) {
    constexpr std::uint64_t enough = std::uint64_t{1} << 31;
    std::uint64_t total = 0, item = 1, group = 0, low = 0, number = 0;
    bool in_brackets = false, is_range = false;
    for (const char c : text) {
        if (!in_brackets) {
            in_brackets = c == '[';
            if (c == ',') total = std::min(total + std::exchange(item, 1), enough);
        } else if (c >= '0' && c <= '9') {
            number = std::min(number * 10 + static_cast<std::uint64_t>(c - '0'), enough);
        } else if (c == '-') {
            low = std::exchange(number, 0);
            is_range = true;
        } else if (c == ',' || c == ']') {
            group = std::min(group + (is_range && number > low ? number - low + 1 : 1), enough);
            number = 0;
            is_range = false;
            if (c == ',') continue;
            item = std::min(item * std::exchange(group, 0), enough);
            in_brackets = false;
        }
    }
    return total + item;
}

class HostlistHandle {
  public:
    explicit HostlistHandle(const char* expression) : list_(slurm_hostlist_create(expression)) {}
    HostlistHandle(const HostlistHandle&) = delete;
    HostlistHandle& operator=(const HostlistHandle&) = delete;
    ~HostlistHandle() {
        if (list_) slurm_hostlist_destroy(list_);
    }
    compat::Hostlist get() const { return list_; }

  private:
    compat::Hostlist list_;
};

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view expression) {
    std::vector<std::string> names;
    const std::string text(expression);
    if (text.empty()) return names;
    // Slurm's parser reads white space as a separator in some versions and as a name in others.
    if (text.find_first_of(" \t\n") != std::string::npos)
        return fail(Errc::invalid, fmt::format("'{}' is no host list: it has white space", text));
    if (count_names(text) > most_names)
        return fail(Errc::invalid,
                    fmt::format("'{}' stands for more than {} nodes", text, most_names));
    HostlistHandle list(text.c_str());
    if (!list.get()) return fail(Errc::invalid, fmt::format("'{}' is no host list", text));
    while (char* name = slurm_hostlist_shift(list.get())) {
        names.emplace_back(name);
        std::free(name);
    }
    // Slurm makes names of what it cannot read: "n[1-" becomes "n]", "n1,[,n2" has an empty one.
    for (const auto& name : names)
        if (name.empty() || name.find_first_of("[]") != std::string::npos)
            return fail(Errc::invalid, fmt::format("'{}' is no host list", text));
    if (names.empty()) return fail(Errc::invalid, fmt::format("'{}' is no host list", text));
    return names;
}

std::string compress_hosts(const std::vector<std::string>& names) {
    if (names.empty()) return {};
    HostlistHandle list(nullptr);
    if (!list.get()) return {};
    for (const auto& name : names) slurm_hostlist_push_host(list.get(), name.c_str());
    std::string buffer(256, '\0');
    while (true) {
        const auto size = slurm_hostlist_ranged_string(list.get(), buffer.size(), buffer.data());
        if (size >= 0) {
            buffer.resize(static_cast<std::size_t>(size));
            return buffer;
        }
        if (buffer.size() > (1U << 26)) return {};
        buffer.resize(buffer.size() * 4);
    }
}

}  // namespace cohort::slurm
