// SPDX-License-Identifier: GPL-2.0-or-later
//
// Tables for people (libsmartcols: fits the terminal) and the same as JSON.
#pragma once

#include <string>
#include <vector>

namespace cohort {

struct Table {
    std::string name;  // of the JSON array
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
};

// Prints to standard output. Errors of the library end in plain, unaligned lines.
void print_table(const Table& table, bool json);

}  // namespace cohort
