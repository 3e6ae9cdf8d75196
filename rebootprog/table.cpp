// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/table.hpp"

#include <cstdio>
#include <memory>

#include <libsmartcols.h>

#include "common/text.hpp"

namespace cohort {
namespace {

struct TableFreer {
    void operator()(libscols_table* table) const noexcept { scols_unref_table(table); }
};

void print_plain(const Table& table) {
    for (const auto& row : table.rows) std::printf("%s\n", text::join(row, " | ").c_str());
}

}  // namespace

void print_table(const Table& table, bool json) {
    const std::unique_ptr<libscols_table, TableFreer> out(scols_new_table());
    if (!out) return print_plain(table);
    scols_table_set_name(out.get(), table.name.c_str());
    scols_table_enable_json(out.get(), json ? 1 : 0);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        // The last column holds sentences: it takes the room that is left and wraps.
        const bool last = i + 1 == table.columns.size();
        const std::string title = json ? text::lower(table.columns[i]) : table.columns[i];
        scols_table_new_column(out.get(), title.c_str(), last ? 0.5 : 0.05,
                               last ? SCOLS_FL_WRAP : 0);
    }
    for (const auto& row : table.rows) {
        libscols_line* line = scols_table_new_line(out.get(), nullptr);
        if (!line) return print_plain(table);
        for (std::size_t i = 0; i < row.size(); ++i) scols_line_set_data(line, i, row[i].c_str());
    }
    scols_print_table(out.get());
}

}  // namespace cohort
