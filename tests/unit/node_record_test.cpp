// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/node_record.hpp"

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

NodeRecord full() {
    NodeRecord record;
    record.root = "0123456789abcdef";
    record.want = Want{.image = "5f2b6c4e-0000-4000-8000-000000000000",
                       .stamp = "lab/v2",
                       .revision = "rev_0123456789abcdef",
                       .action = "rebuild",
                       .request = "req-5f2b6c4e-0000-4000-8000-000000000000",
                       .at = 1700000000,
                       .from = "rev_fedcba9876543210",
                       .root = "fedcba9876543210",
                       .result = ""};
    return record;
}

}  // namespace

int main() {
    return unit::run(
        "node_record",
        {
            {"an empty Extra is an empty record",
             [] { unit::expect(*parse_extra("") == NodeRecord{}, "empty"); }},
            {"a record survives writing and reading",
             [] {
                 auto written = merge_extra("", full());
                 unit::expect(written.has_value() && written->size() <= max_extra_bytes, "written");
                 unit::expect(*parse_extra(*written) == full(), *written);
             }},
            {"other keys are kept",
             [] {
                 auto written = merge_extra(R"({"rack":"A3","cohort_out":"x"})", NodeRecord{});
                 unit::expect_equal(*written, std::string(R"({"rack":"A3"})"));
             }},
            {"an Extra that is not a JSON object is never overwritten",
             [] {
                 for (const char* extra : {"rack A3", "[1]", "7", "{\"a\":", "{\"a\":1,\"a\":2}"}) {
                     unit::expect(!parse_extra(extra).has_value(), extra);
                     unit::expect(!merge_extra(extra, full()).has_value(), extra);
                 }
             }},
            {"a revision that is none of ours reads as unlabelled",
             [] {
                 unit::expect_equal(parse_extra(R"({"cohort_rev":"rev_x|y"})")->revision,
                                    std::string());
             }},
            {"wrong types read as absent",
             [] {
                 auto r = parse_extra(R"({"cohort_rev":7,"cohort_want":"x","cohort_root":null})");
                 unit::expect(r.has_value() && *r == NodeRecord{}, "absent");
             }},
            {"a long failure is shortened to fit 512 bytes",
             [] {
                 auto record = full();
                 record.want->result = "failed: " + std::string(2000, 'x');
                 record.out_reason = std::string(2000, 'y');
                 auto written = merge_extra("", record);
                 unit::expect(written.has_value() && written->size() <= max_extra_bytes, "fits");
                 unit::expect(parse_extra(*written)->want->has_failed(), "still failed");
             }},
            {"what does not fit at all is an error, not a cut",
             [] {
                 const std::string big = "{\"x\":\"" + std::string(490, 'z') + "\"}";
                 unit::expect(!merge_extra(big, full()).has_value(), "error");
             }},
            {"features: the site's own are kept in order, one revision",
             [] {
                 unit::expect_equal(
                     merge_features("gpu,rev_0123456789abcdef,ib", "rev_fedcba9876543210"),
                     std::string("gpu,ib,rev_fedcba9876543210"));
                 unit::expect_equal(merge_features("rev_0123456789abcdef", ""), std::string());
                 unit::expect_equal(merge_features("rev_mine", ""), std::string("rev_mine"));
             }},
            {"only reasons with our prefix are ours",
             [] {
                 unit::expect(is_our_reason("cohort: x"), "ours");
                 unit::expect(!is_our_reason("cohorts: x") && !is_our_reason("ECC error"),
                              "foreign");
             }},
        });
}
