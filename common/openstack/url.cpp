// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/url.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort::openstack {
namespace {

bool is_version(std::string_view piece) {
    if (piece.size() < 2 || piece.front() != 'v') return false;
    piece.remove_prefix(1);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return digit(piece.front()) && digit(piece.back()) &&
           std::all_of(piece.begin(), piece.end(), [&](char c) { return digit(c) || c == '.'; });
}

std::vector<std::string> pieces_of(std::string_view path) {
    return text::split(path, '/');
}

std::string path_of(const std::vector<std::string>& pieces) {
    std::string path;
    for (const auto& piece : pieces) path += "/" + piece;
    return path;
}

// Position of the version in PIECES: the last one, or the last but one before a project id.
std::optional<std::size_t> version_at(const std::vector<std::string>& pieces) {
    for (std::size_t back = 1; back <= 2 && back <= pieces.size(); ++back)
        if (is_version(pieces[pieces.size() - back])) return pieces.size() - back;
    return std::nullopt;
}

}  // namespace

std::string Url::text() const {
    return origin() + path + (query.empty() ? "" : "?" + query);
}

std::optional<Url> parse_url(std::string_view s) {
    for (const char c : s)
        if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return std::nullopt;
    const auto scheme_end = s.find("://");
    if (scheme_end == std::string_view::npos) return std::nullopt;
    Url url;
    url.scheme = text::lower(s.substr(0, scheme_end));
    if (url.scheme != "http" && url.scheme != "https") return std::nullopt;
    s.remove_prefix(scheme_end + 3);
    s = s.substr(0, s.find('#'));
    const auto authority_end = std::min(s.find_first_of("/?"), s.size());
    url.authority = text::lower(s.substr(0, authority_end));
    if (url.authority.empty() || url.authority.find_first_of("@\\") != std::string::npos)
        return std::nullopt;
    s.remove_prefix(authority_end);
    const auto question = s.find('?');
    url.path = s.substr(0, question);
    if (question != std::string_view::npos) url.query = s.substr(question + 1);
    return url;
}

std::string join_url(std::string_view base, std::string_view tail) {
    while (!tail.empty() && tail.front() == '/') tail.remove_prefix(1);
    const auto url = parse_url(base);
    if (!url) return fmt::format("{}/{}", base, tail);
    return url->origin() + path_of(pieces_of(url->path)) + "/" + std::string(tail);
}

std::string unversioned(std::string_view s) {
    const auto url = parse_url(s);
    if (!url) return std::string(s);
    auto pieces = pieces_of(url->path);
    if (const auto at = version_at(pieces)) pieces.resize(*at);
    return url->origin() + path_of(pieces);
}

std::string version_in(std::string_view s) {
    const auto url = parse_url(s);
    if (!url) return {};
    const auto pieces = pieces_of(url->path);
    const auto at = version_at(pieces);
    return at ? pieces[*at] : std::string();
}

std::string next_page(std::string_view page, std::string_view link) {
    auto next = parse_url(page);
    link = link.substr(0, link.find('#'));
    const auto question = link.find('?');
    if (!next || question == std::string_view::npos || question + 1 == link.size()) return {};
    next->query = link.substr(question + 1);
    // What cannot be part of a URL is no link.
    return parse_url(next->text()) ? next->text() : std::string();
}

std::string encode(std::string_view value) {
    std::string out;
    for (const char c : value) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
        if (plain)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return out;
}

}  // namespace cohort::openstack
