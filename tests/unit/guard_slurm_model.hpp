// SPDX-License-Identifier: GPL-2.0-or-later
//
// What Slurm may do with a constraint, as measured on 22.05, 24.11 and 26.05: which sets of nodes
// it could allocate. Written from the measurements and independent of the code under test; where
// versions differ, everything that one of them does is possible. Nodes are bits of an unsigned.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace slurm_model {

using Nodes = unsigned;
using NodesOf = std::function<Nodes(const std::string&)>;

// slurmctld's flat list: a name, the operator behind it, where it stands.
struct Item {
    std::string name;
    char op = 0;
    unsigned count = 0;
    int parentheses = 0;  // which pair; 0: none
    bool brackets = false;
};

inline std::vector<Item> flat(const std::string& text) {
    std::vector<Item> items;
    bool brackets = false;
    int pairs = 0, open = 0;
    Item item;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : '\0';
        if (c == '[' || c == ']') {
            brackets = c == '[';
        } else if (c == '(') {
            open = ++pairs;
        } else if (c == ')') {
            open = 0;
        } else if (c == '*') {
            char* end = nullptr;
            item.count = static_cast<unsigned>(std::strtoul(text.c_str() + i + 1, &end, 10));
            i = static_cast<std::size_t>(end - text.c_str()) - 1;
        } else if (c == '&' || c == '|' || c == '\0') {
            item.op = c;
            if (!item.name.empty()) items.push_back(item);
            item = Item{};
        } else {
            item.parentheses = open;
            item.brackets = brackets;
            item.name += c;
        }
    }
    return items;
}

// An operand: a name or one pair of parentheses.
struct Operand {
    Nodes nodes = 0;
    unsigned count = 0;
    bool brackets = false;
    char before = '&';
};

inline std::vector<Operand> operands(const std::string& text, const NodesOf& nodes_of) {
    std::vector<Operand> out;
    const auto items = flat(text);
    for (std::size_t i = 0; i < items.size(); ++i) {
        const char before = i > 0 ? items[i - 1].op : '&';
        if (i > 0 && items[i].parentheses && items[i].parentheses == items[i - 1].parentheses) {
            if (before == '&') {
                out.back().nodes &= nodes_of(items[i].name);
            } else {
                out.back().nodes |= nodes_of(items[i].name);
            }
            out.back().count = items[i].count;
        } else {
            out.push_back({nodes_of(items[i].name), items[i].count, items[i].brackets, before});
        }
    }
    return out;
}

// Each counted operand gets its nodes, none twice; the rest of SET is free.
inline bool can_count(const std::vector<Operand>& all, std::size_t at, Nodes set) {
    if (at == all.size()) return true;
    const auto choose = [&](auto&& self, Nodes left, unsigned missing, Nodes from) -> bool {
        if (missing == 0) return can_count(all, at + 1, left);
        for (Nodes bit = 1; bit <= from && from; bit <<= 1)
            if ((from & bit) && self(self, left & ~bit, missing - 1, from & ~(bit | (bit - 1))))
                return true;
        return false;
    };
    return choose(choose, set, all[at].count, set & all[at].nodes);
}

// Could a job with this constraint run on exactly SET? With a node list the matching OR of brackets
// is not enforced; with counts nothing but the counts is.
inline bool possible(const std::string& text, Nodes set, Nodes every, bool node_list,
                     const NodesOf& nodes_of) {
    const auto all = operands(text, nodes_of);
    for (const auto& one : all)
        if (one.count) return can_count(all, 0, set);
    Nodes filter = every;
    bool alternatives = false, in_one = false;
    for (const auto& one : all) {
        if (one.brackets) {
            alternatives = true;
            in_one = in_one || (set & ~one.nodes) == 0;
        } else {
            filter = one.before == '&' ? filter & one.nodes : filter | one.nodes;
        }
    }
    return (set & ~filter) == 0 && (!alternatives || in_one || node_list);
}

}  // namespace slurm_model
