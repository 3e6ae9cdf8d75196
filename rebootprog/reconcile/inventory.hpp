// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which machines there are, as whoever owns them says: nova, a file, or a site's command.
//
// All or nothing: a source that cannot be read, a line that is not understood, or one item that the
// source itself could not tell, is an error of the whole. An inventory that is wrong in part would
// have living machines taken for gone.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

class Inventory {
  public:
    void add(std::string_view name);
    // By the whole name or by the part before the first dot, in any letter case: when in doubt the
    // machine is there.
    bool has(std::string_view node) const;
    bool empty() const { return names_.empty(); }
    std::size_t size() const { return count_; }

  private:
    std::set<std::string, std::less<>> names_;
    std::size_t count_ = 0;
};

// Lines {"name": "n1", "state": "running"}; an item with "error", or without a name, is an error,
// and one whose state is "gone", "deleted" or "terminated" is not there. With HOSTS a line may be a
// host list too ("n[1-4]"), and # begins a comment. SOURCE appears in errors.
Result<Inventory> parse_inventory(std::string_view text, const std::string& source, bool hosts);

// From the source that Inventory= names; Errc::invalid: none is set. Never empty: an inventory of
// nothing is an error too.
Result<Inventory> load_inventory(const Site& site);

}  // namespace cohort
