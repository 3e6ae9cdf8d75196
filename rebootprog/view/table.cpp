// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/view/table.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <libsmartcols.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::size_t least_width = 20;

struct TableFreer {
    void operator()(libscols_table* table) const noexcept { scols_unref_table(table); }
};

void print_plain(const Table& table) {
    for (const auto& row : table.rows) std::printf("%s\n", text::join(row, " | ").c_str());
}

// What is left for the last column; 0: standard output is no terminal.
std::size_t room_for_last(const Table& table) {
    winsize window{};
    if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0) return 0;
    std::size_t used = 0;
    for (std::size_t i = 0; i + 1 < table.columns.size(); ++i) {
        std::size_t widest = table.columns[i].size();
        for (const auto& row : table.rows)
            if (i < row.size()) widest = std::max(widest, row[i].size());
        used += widest + 1;
    }
    const std::size_t width = window.ws_col;
    return width > used + least_width ? width - used : 0;
}

}  // namespace

std::string wrap_words(const std::string& sentence, std::size_t width) {
    if (width == 0) return sentence;
    std::string out;
    std::size_t column = 0;
    for (const auto& word : text::words(sentence)) {
        if (column != 0 && column + 1 + word.size() > width) {
            out += '\n';
            column = 0;
        } else if (column != 0) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    return out;
}

void print_table(const Table& table, bool json) {
    const std::unique_ptr<libscols_table, TableFreer> out(scols_new_table());
    if (!out) return print_plain(table);
    scols_table_set_name(out.get(), table.name.c_str());
    scols_table_enable_json(out.get(), json ? 1 : 0);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        // The last column holds sentences: it takes the room that is left and wraps between words.
        const bool last = i + 1 == table.columns.size();
        const std::string title = json ? text::lower(table.columns[i]) : table.columns[i];
        libscols_column* column = scols_table_new_column(
            out.get(), title.c_str(), last ? 0.5 : 0.05, last ? SCOLS_FL_WRAP : 0);
        if (!column) return print_plain(table);
        if (!last) continue;
        scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, nullptr);
        scols_column_set_safechars(column, "\n");
    }
    const std::size_t room = json ? 0 : room_for_last(table);
    for (const auto& row : table.rows) {
        libscols_line* line = scols_table_new_line(out.get(), nullptr);
        if (!line) return print_plain(table);
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool last = i + 1 == table.columns.size();
            scols_line_set_data(line, i, last ? wrap_words(row[i], room).c_str() : row[i].c_str());
        }
    }
    scols_print_table(out.get());
}

}  // namespace cohort
