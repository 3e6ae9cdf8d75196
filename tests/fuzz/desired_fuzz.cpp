// SPDX-License-Identifier: GPL-2.0-or-later
// reboot_vars and hostvars: the same text as YAML and as JSON.
#include "common/openstack/answers.hpp"
#include "rebootprog/cloud/desired.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace cohort;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const char* file : {"n1.yml", "n1.json"}) {
        const auto desired = parse_desired(fuzz::text(data, size), file);
        if (!desired) {
            fuzz::must_be_one_line(desired.error().message);
            fuzz::must(desired.error().message.find(file) != std::string::npos, "names the file");
            continue;
        }
        fuzz::must(!desired->image_id.empty(), "an image is named");
        fuzz::must(desired->image_id.find("{{") == std::string::npos, "a template is refused");
        fuzz::must(desired->image_id.find('\n') == std::string::npos, "a value is one line");
        fuzz::must(desired->instance_id.empty() || openstack::is_uuid(desired->instance_id),
                   "an instance is a UUID");
    }
    return 0;
}
