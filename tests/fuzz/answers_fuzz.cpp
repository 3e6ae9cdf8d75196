// SPDX-License-Identifier: GPL-2.0-or-later
// What nova, glance and keystone may answer: one text for all readers.
#include "common/openstack/answers.hpp"
#include "common/openstack/keystone.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace cohort::openstack;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view body = fuzz::text(data, size);
    if (const auto server = parse_server(body)) {
        fuzz::must(!server->id.empty(), "a server has an id");
        fuzz::must(!(server->volume_backed && !server->image_id.empty()), "a volume has no image");
        fuzz::must(server->fault.find('\n') == std::string::npos, "a fault is one line");
    }
    if (const auto action = parse_action(body)) {
        fuzz::must(!action->succeeded || action->finished, "success is an end");
        fuzz::must(!action->finished || action->succeeded || !action->message.empty(),
                   "a failure has words");
    }
    if (const auto image = parse_image(body)) fuzz::must(!image->id.empty(), "an image has an id");
    (void)parse_servers(body);
    (void)parse_images(body);
    (void)parse_actions(body);
    (void)parse_versions(body);
    (void)parse_token(body, "token");
    const std::string sentence = error_sentence(body);
    fuzz::must(sentence.size() <= 300, "a sentence is short");
    fuzz::must(sentence.find('\n') == std::string::npos, "a sentence is one line");
    return 0;
}
