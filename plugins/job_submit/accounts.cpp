// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/accounts.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::size_t most_listed = 8;
constexpr int deepest_tree = 64;  // a loop in the parents must not hang a hook

// The one of DENIED that ACCOUNT is or lies below; "" = none.
std::string denied_by(const AccountBook* book, const std::vector<std::string>& denied,
                      std::string account) {
    for (int depth = 0; !account.empty() && depth < deepest_tree; ++depth) {
        for (const auto& name : denied)
            if (text::lower(name) == account) return name;
        account = book ? book->parent(account) : "";
    }
    return {};
}

std::string list(const std::vector<std::string>& names) {
    std::vector<std::string> some(names.begin(),
                                  names.begin() + std::min(names.size(), most_listed));
    return text::join(some, ", ") + (names.size() > most_listed
                                         ? fmt::format(" and {} more", names.size() - most_listed)
                                         : "");
}

AccountAnswer refuse(const AccountBook* book, const std::vector<std::string>& denied,
                     const AccountBook::User* user, const std::string& account,
                     const std::string& by, bool is_default) {
    AccountAnswer answer;
    answer.refused = true;
    answer.message = fmt::format(
        "cohort: account {}{} is paused{}: it gets no new jobs. Its running jobs go on.", account,
        is_default ? " (your default)" : "",
        text::lower(by) == account ? "" : fmt::format(", as all of {} are", by));
    std::vector<std::string> others;
    if (user)
        std::ranges::copy_if(user->accounts, std::back_inserter(others), [&](const auto& name) {
            return denied_by(book, denied, name).empty();
        });
    answer.message += others.empty()
                          ? "\nAsk the cluster's administrators when it will be opened again."
                          : fmt::format("\nYour other accounts (-A NAME): {}.", list(others));
    return answer;
}

// Slurm's own error will be "Invalid account or account/partition combination specified".
std::string explain(const AccountBook& book, const AccountBook::User* user,
                    const std::string& account) {
    if (!book.enforced()) return {};
    if (!user)
        return "cohort: you have no account on this cluster, so no job can be charged. Ask the "
               "cluster's administrators for one.";
    if (account.empty())
        return fmt::format(
            "cohort: you have no default account: name one with -A. Yours: {}.\n"
            "An administrator sets it with: sacctmgr modify user NAME set DefaultAccount=ACCOUNT",
            list(user->accounts));
    if (std::ranges::find(user->accounts, account) == user->accounts.end())
        return fmt::format("cohort: you may not use account {}. Yours (-A NAME): {}.", account,
                           list(user->accounts));
    return {};
}

}  // namespace

AccountBook::AccountBook(const Accounting& accounting, bool enforced)
    : operators_(accounting.operators.begin(), accounting.operators.end()), enforced_(enforced) {
    for (const auto& one : accounting.associations) {
        std::string account = text::lower(one.account);
        if (one.user.empty()) {
            parents_[std::move(account)] = text::lower(one.parent);
            continue;
        }
        User& user = users_[one.user_id];
        if (one.standard) user.standard = account;
        if (std::ranges::find(user.accounts, account) == user.accounts.end())
            user.accounts.push_back(std::move(account));
    }
}

const AccountBook::User* AccountBook::user(std::uint32_t user_id) const {
    const auto found = users_.find(user_id);
    return found == users_.end() ? nullptr : &found->second;
}

std::string AccountBook::parent(const std::string& account) const {
    const auto found = parents_.find(account);
    return found == parents_.end() ? "" : found->second;
}

AccountAnswer judge_account(const AccountBook* book, const std::vector<std::string>& denied,
                            std::uint32_t user_id, std::string_view account) {
    const std::string named = text::lower(account);
    const auto* user = book ? book->user(user_id) : nullptr;
    const std::string charged = !named.empty() ? named : user ? user->standard : "";
    const std::string by = denied_by(book, denied, charged);
    if (!by.empty()) return refuse(book, denied, user, charged, by, named.empty());
    AccountAnswer answer;
    // A user without associations may be one whom slurmctld cannot resolve: Slurm decides.
    if (book && (!named.empty() || charged.empty())) answer.message = explain(*book, user, named);
    return answer;
}

}  // namespace cohort
