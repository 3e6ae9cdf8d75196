// SPDX-License-Identifier: GPL-2.0-or-later
// Retry-After, dates, URLs and page links.
#include "common/openstack/retry.hpp"
#include "common/openstack/url.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace cohort::openstack;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text(data, size);
    if (const auto wait = parse_retry_after(text, std::chrono::system_clock::now()))
        fuzz::must(wait->count() >= 0, "a wait is not negative");
    (void)parse_iso_millis(text);
    if (const auto url = parse_url(text)) {
        fuzz::must(url->authority.find('@') == std::string::npos, "no user name in a URL");
        fuzz::must(parse_url(url->text()).has_value(), "a URL stays one");
        (void)version_in(unversioned(text));
    }
    const std::string next = next_page("https://nova.example/v2.1/servers", text);
    fuzz::must(next.empty() || next.starts_with("https://nova.example/v2.1/servers?"),
               "a page stays on its host");
    fuzz::must(encode(text).find_first_of(" /?&#\n") == std::string::npos,
               "an encoded value is safe");
    return 0;
}
