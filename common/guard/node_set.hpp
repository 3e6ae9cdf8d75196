// SPDX-License-Identifier: GPL-2.0-or-later
//
// A set of nodes by their position in a snapshot: one bit each, so that a verdict over ten thousand
// nodes is a few hundred machine words.
//
// Sets of one snapshot have one size; combining sets of different sizes is a programming error that
// reads and writes only what both have. A plain value: copy it across threads.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::guard {

class NodeSet {
  public:
    NodeSet() = default;
    explicit NodeSet(std::size_t nodes, bool full = false)
        : size_(nodes), words_((nodes + 63) / 64, full ? ~std::uint64_t{0} : 0) {
        trim();
    }

    std::size_t size() const { return size_; }
    void add(std::size_t node) {
        if (node < size_) words_[node / 64] |= std::uint64_t{1} << (node % 64);
    }
    bool has(std::size_t node) const {
        return node < size_ && (words_[node / 64] >> (node % 64) & 1) != 0;
    }

    NodeSet& operator&=(const NodeSet& other) {
        return combine(other, [](std::uint64_t a, std::uint64_t b) { return a & b; });
    }
    NodeSet& operator|=(const NodeSet& other) {
        return combine(other, [](std::uint64_t a, std::uint64_t b) { return a | b; });
    }
    NodeSet& operator-=(const NodeSet& other) {
        return combine(other, [](std::uint64_t a, std::uint64_t b) { return a & ~b; });
    }
    friend NodeSet operator&(NodeSet a, const NodeSet& b) { return a &= b; }
    friend NodeSet operator|(NodeSet a, const NodeSet& b) { return a |= b; }
    friend NodeSet operator-(NodeSet a, const NodeSet& b) { return a -= b; }
    bool operator==(const NodeSet&) const = default;

    std::size_t count() const {
        std::size_t n = 0;
        for (const auto word : words_) n += static_cast<std::size_t>(std::popcount(word));
        return n;
    }
    std::size_t count_common(const NodeSet& other) const {
        std::size_t n = 0;
        for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i)
            n += static_cast<std::size_t>(std::popcount(words_[i] & other.words_[i]));
        return n;
    }
    bool empty() const {
        for (const auto word : words_)
            if (word) return false;
        return true;
    }
    bool meets(const NodeSet& other) const {
        for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i)
            if (words_[i] & other.words_[i]) return true;
        return false;
    }
    bool within(const NodeSet& other) const {
        for (std::size_t i = 0; i < words_.size(); ++i)
            if (words_[i] & ~(i < other.words_.size() ? other.words_[i] : 0)) return false;
        return true;
    }

    template <class F>
    void for_each(F&& f) const {
        for (std::size_t i = 0; i < words_.size(); ++i)
            for (auto word = words_[i]; word; word &= word - 1)
                f(i * 64 + static_cast<std::size_t>(std::countr_zero(word)));
    }

  private:
    template <class F>
    NodeSet& combine(const NodeSet& other, F&& f) {
        for (std::size_t i = 0; i < words_.size(); ++i)
            words_[i] = f(words_[i], i < other.words_.size() ? other.words_[i] : 0);
        return *this;
    }
    void trim() {
        if (size_ % 64 && !words_.empty()) words_.back() &= (std::uint64_t{1} << (size_ % 64)) - 1;
    }

    std::size_t size_ = 0;
    std::vector<std::uint64_t> words_;
};

}  // namespace cohort::guard
