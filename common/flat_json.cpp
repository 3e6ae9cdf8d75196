// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/flat_json.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace cohort {
namespace {

std::optional<std::string> utf8(unsigned code) {
    const auto tail = [](unsigned bits) { return static_cast<char>(0x80 | (bits & 0x3f)); };
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff)) return std::nullopt;
    if (code < 0x80) return std::string(1, static_cast<char>(code));
    if (code < 0x800) return std::string{static_cast<char>(0xc0 | (code >> 6)), tail(code)};
    return std::string{static_cast<char>(0xe0 | (code >> 12)), tail(code >> 6), tail(code)};
}

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::optional<FlatJson> object() {
        FlatJson members;
        if (!take('{')) return std::nullopt;
        for (bool more = !take('}'); more;) {
            auto key = string();
            if (!key || !take(':')) return std::nullopt;
            auto value = string();
            if (!value || !members.emplace(std::move(*key), std::move(*value)).second)
                return std::nullopt;
            more = take(',');
            if (!more && !take('}')) return std::nullopt;
        }
        skip_space();
        if (at_ != text_.size()) return std::nullopt;
        return members;
    }
    // Bytes read so far.
    std::size_t place() const { return at_; }

  private:
    void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
    bool take(char wanted) {
        skip_space();
        if (at_ == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }
    std::optional<std::string> string() {
        if (!take('"')) return std::nullopt;
        std::string value;
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '"') return value;
            if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
            if (c != '\\') {
                value += c;
            } else if (const auto meant = escaped()) {
                value += *meant;
            } else {
                return std::nullopt;
            }
        }
        return std::nullopt;
    }
    // What follows a backslash.
    std::optional<std::string> escaped() {
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        if (at_ == text_.size()) return std::nullopt;
        const char letter = text_[at_++];
        if (letter == 'u') return code_unit();
        const auto index = letters.find(letter);
        if (index == std::string_view::npos) return std::nullopt;
        return std::string(1, meanings[index]);
    }
    std::optional<std::string> code_unit() {
        const auto digits = text_.substr(at_, 4);
        unsigned code = 0;
        const auto end = digits.data() + digits.size();
        const auto [stop, error] = std::from_chars(digits.data(), end, code, 16);
        if (digits.size() != 4 || error != std::errc() || stop != end) return std::nullopt;
        at_ += digits.size();
        return utf8(code);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

Result<FlatJson> parse_flat_json(std::string_view text, std::string_view name) {
    Reader reader(text);
    if (auto object = reader.object()) return std::move(*object);
    return fail(Errc::invalid,
                fmt::format("{}: not a JSON object of strings at byte {}", name, reader.place()));
}

std::string value_of(const FlatJson& object, std::string_view key) {
    const auto member = object.find(key);
    return member == object.end() ? std::string() : member->second;
}

}  // namespace cohort
