// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whose jobs an account may get now: DeniedAccounts= (a paused account), and what to tell a user
// for whom Slurm will find no account.
//
// Pure. The book is slurmctld's own copy of the associations, read by the plugin's thread at most
// every `accounts_interval`; without one (no accounting, not read yet) only an account that the job
// names itself is judged. Neither the account nor the QOS of a job is ever written: Slurm fills
// them in after the hook, and DenyOnLimit or a paused QOS is its own affair.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/cluster.hpp"

namespace cohort {

constexpr std::chrono::seconds accounts_interval{15};

class AccountBook {
  public:
    // ENFORCED: AccountingStorageEnforce has associations, so Slurm refuses a job without one.
    AccountBook(const Accounting& accounting, bool enforced);

    struct User {
        std::string standard;               // his default account, "" = none
        std::vector<std::string> accounts;  // each once, in slurmdbd's order
    };
    const User* user(std::uint32_t user_id) const;  // nullptr: no association
    // The account above, "" at the top or for an unknown one.
    std::string parent(const std::string& account) const;
    // AdminLevel operator or higher.
    bool is_operator(std::uint32_t user_id) const { return operators_.contains(user_id); }
    const std::set<std::uint32_t>& operators() const { return operators_; }
    bool enforced() const { return enforced_; }

  private:
    std::unordered_map<std::uint32_t, User> users_;
    std::unordered_map<std::string, std::string> parents_;
    std::set<std::uint32_t> operators_;
    bool enforced_;
};

struct AccountAnswer {
    bool refused = false;
    std::string message;  // lines; also without a refusal: shown beside Slurm's own error
};

// ACCOUNT as the job names it, "" = the user's default. DENIED as in cohort.conf: these accounts
// and all below them. Names compare without case, as in Slurm.
AccountAnswer judge_account(const AccountBook* book, const std::vector<std::string>& denied,
                            std::uint32_t user_id, std::string_view account);

}  // namespace cohort
