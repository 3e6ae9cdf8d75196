// SPDX-License-Identifier: GPL-2.0-or-later
//
// What journal.cpp and rollout_journal.cpp share: the open database behind its mutex, and rows.
#pragma once

#include <mutex>
#include <vector>

#include "rebootprog/journal/journal.hpp"
#include "rebootprog/journal/sqlite.hpp"

namespace cohort {

struct Journal::State {
    sqlite::Database db;
    mutable std::mutex mutex;
};

namespace sqlite {

// Every row of SELECT through READ, which turns the present one into a value.
template <class Read>
auto all_rows(Statement& select, Read read) -> Result<std::vector<decltype(read(select))>> {
    std::vector<decltype(read(select))> values;
    while (true) {
        auto row = select.step();
        if (!row) return tl::unexpected(row.error());
        if (!*row) return values;
        values.push_back(read(select));
    }
}

}  // namespace sqlite
}  // namespace cohort
