// SPDX-License-Identifier: GPL-2.0-or-later
//
// URLs as far as a client needs them: endpoints, page links, query values. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort::openstack {

// An absolute http or https URL without user information, query or fragment rules of its own.
struct Url {
    std::string scheme;     // "http" or "https", lower case
    std::string authority;  // host[:port], lower case
    std::string path;       // begins with '/', or empty
    std::string query;      // without '?'

    std::string origin() const { return scheme + "://" + authority; }
    std::string text() const;
};

// Nothing for everything else: relative, another scheme, "user:pass@host", control characters.
std::optional<Url> parse_url(std::string_view text);

// BASE without slashes at its end, then '/' and TAIL. Doubled slashes in BASE's path are dropped.
std::string join_url(std::string_view base, std::string_view tail);

// A service's root: its URL without a version ("/v2.1", "/v3/") and a project id after it.
std::string unversioned(std::string_view url);
// "v2.1" of ".../v2.1" or ".../v2.1/<project>", empty when the URL names no version.
std::string version_in(std::string_view url);

// The address of the page after PAGE: PAGE with the query of LINK, which a service may write as a
// whole URL, as "/path?query" or as "?query". Its host and path are not used: behind a proxy they
// are often wrong (http for https, an inner host name), and a token must not travel to another
// host. Empty when LINK has no query.
std::string next_page(std::string_view page, std::string_view link);

// Percent-encodes everything but letters, digits and "-._~".
std::string encode(std::string_view value);

}  // namespace cohort::openstack
