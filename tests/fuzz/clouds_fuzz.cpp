// SPDX-License-Identifier: GPL-2.0-or-later
// clouds.yaml: the text, or two texts (after a line "=====") of clouds.yaml and secure.yaml.
#include "common/openstack/clouds.hpp"
#include "common/openstack/keystone.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace cohort;
using namespace cohort::openstack;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view all = fuzz::text(data, size);
    constexpr std::string_view mark = "=====\n";
    const auto at = all.find(mark);
    CloudTexts texts;
    texts.clouds = all.substr(0, at);
    if (at != std::string_view::npos) texts.secure = all.substr(at + mark.size());
    texts.home = "/root";
    const auto config = parse_cloud(texts, "");
    if (!config) {
        fuzz::must(!config.error().message.empty(), "an error has words");
        return 0;
    }
    fuzz::must(
        tokens_url(config->auth_url) || !tokens_url(config->auth_url).error().message.empty(),
        "a URL is judged");
    const auto body = sign_in_body(*config);
    if (!body)
        fuzz::must(body.error().code == Errc::invalid, "a missing key is a bad configuration");
    return 0;
}
