// SPDX-License-Identifier: GPL-2.0-or-later
//
// Tables for people (libsmartcols: fits the terminal) and the same as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cohort {

struct Table {
    std::string name;  // of the JSON array
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
};

// Prints to standard output. Errors of the library end in plain, unaligned lines.
// On a terminal the last column, which holds sentences, is wrapped between words.
void print_table(const Table& table, bool json);

// SENTENCE in lines of at most WIDTH bytes, broken between words (a longer word stays whole). 0: as
// it is.
std::string wrap_words(const std::string& sentence, std::size_t width);

}  // namespace cohort
