// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/spank/injection.hpp"

#include <unordered_set>

namespace cohort::spank {
namespace {

// Unlike text::split() this keeps blanks: a directory's name may begin with one.
std::vector<std::string_view> entries_of(std::string_view path) {
    std::vector<std::string_view> entries;
    while (!path.empty()) {
        const auto colon = path.find(':');
        if (colon != 0) entries.push_back(path.substr(0, colon));
        if (colon == std::string_view::npos) break;
        path.remove_prefix(colon + 1);
    }
    return entries;
}

class PathBuilder {
  public:
    void add(std::string_view entry) {
        if (entry.empty() || !seen_.insert(entry).second) return;
        if (!text_.empty()) text_ += ':';
        text_ += entry;
    }
    std::string take() { return std::move(text_); }

  private:
    std::unordered_set<std::string_view> seen_;
    std::string text_;
};

std::string join_colon(const std::vector<std::string>& entries) {
    std::string text;
    for (const auto& entry : entries) {
        if (!text.empty()) text += ':';
        text += entry;
    }
    return text;
}

}  // namespace

Order order_of(const Arguments& arguments, const Profile& profile) {
    if (arguments.order) return *arguments.order;
    const auto sealed = profile.settings.find("path_precedence");
    return sealed != profile.settings.end() && sealed->second == "append" ? Order::append
                                                                          : Order::prepend;
}

std::string merge_path(const std::vector<std::string>& entries, std::string_view current,
                       Order order) {
    const std::unordered_set<std::string_view> ours(entries.begin(), entries.end());
    PathBuilder path;
    if (order == Order::prepend)
        for (const auto& entry : entries) path.add(entry);
    // Entries of ours move to their place: where the first injection put them must not matter.
    for (const auto entry : entries_of(current))
        if (!ours.contains(entry)) path.add(entry);
    if (order == Order::append)
        for (const auto& entry : entries) path.add(entry);
    return path.take();
}

std::vector<Change> compose(const Profile& profile, const Arguments& arguments,
                            const std::optional<std::string>& current_path) {
    std::vector<Change> changes;
    if (!profile.path.empty()) {
        const Order order = order_of(arguments, profile);
        std::string_view current = current_path ? std::string_view(*current_path) : "";
        if (entries_of(current).empty()) current = arguments.base_path;
        changes.emplace_back("PATH", merge_path(profile.path, current, order));
        changes.emplace_back("FLOX_TASK_PATH", join_colon(profile.path));
        changes.emplace_back("FLOX_TASK_PATH_POLICY",
                             order == Order::prepend ? "prepend" : "append");
    }
    for (const auto& variable : profile.vars) changes.push_back(variable);
    return changes;
}

}  // namespace cohort::spank
