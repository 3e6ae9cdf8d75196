// SPDX-License-Identifier: GPL-2.0-or-later
//
// parse_flat_json() and jansson agree: on a table of texts, and on thousands of texts that differ
// from a good one by a few bytes. Where they may differ is said in flat_json.hpp.
#include <array>
#include <random>

#include "common/flat_json.hpp"
#include "common/json.hpp"
#include "tests/unit/unit.hpp"

namespace {

using namespace cohort;

// What jansson makes of TEXT, when it is an object of strings.
std::optional<FlatJson> oracle(const std::string& text) {
    const auto parsed = json::parse(text, "text");
    if (!parsed || !json_is_object(parsed->get())) return std::nullopt;
    FlatJson members;
    const char* key = nullptr;
    json_t* value = nullptr;
    json_object_foreach(parsed->get(), key, value) {
        if (!json_is_string(value)) return std::nullopt;
        members[key] = json::string(parsed->get(), key);
    }
    return members;
}

std::string shown(const std::optional<FlatJson>& object) {
    if (!object) return "refused";
    std::string text;
    for (const auto& [key, value] : *object) text += fmt::format("<{}>=<{}>", key, value);
    return text;
}

std::optional<FlatJson> ours(const std::string& text) {
    const auto object = parse_flat_json(text, "text");
    if (!object) return std::nullopt;
    return *object;
}

void agree(const std::string& text) {
    const auto wanted = shown(oracle(text)), got = shown(ours(text));
    unit::expect(got == wanted, fmt::format("{}: got {}, jansson: {}", text, got, wanted));
}

const char* const sample =
    R"({"revision":"rev_0123456789abcdef","request":"r \"q\" \\ \/\b\f\n\r\t","stamp":"\u0001\u00e9\u20ac"})";

}  // namespace

int main() {
    return unit::run(
        "flat_json",
        {
            {"objects of strings are read as jansson reads them",
             [] {
                 for (const char* text :
                      {R"({})", R"( { } )", R"({"a":"b"})", "\t{\r\n\"a\" : \"b\" , \"c\":\"\"}\n",
                       R"({"":"x"})", "{\"a\":\"\xc3\xa9\"}", sample}) {
                     unit::expect(oracle(text).has_value(), text);
                     agree(text);
                 }
                 unit::expect_equal(value_of(*ours(sample), "stamp"),
                                    std::string("\x01\xc3\xa9\xe2\x82\xac"));
                 unit::expect_equal(value_of(*ours(sample), "absent"), std::string());
             }},
            {"what jansson refuses is refused, and values that are no strings",
             [] {
                 for (const char* text : {"",
                                          " ",
                                          "x",
                                          "{",
                                          "}",
                                          "[]",
                                          R"("a")",
                                          R"({"a"})",
                                          R"({"a":})",
                                          R"({"a":"b")",
                                          R"({"a":"b",})",
                                          R"({,"a":"b"})",
                                          R"({"a":"b"}})",
                                          R"({"a":"b"} x)",
                                          R"({"a":"b" "c":"d"})",
                                          R"({"a":"b","a":"b"})",
                                          R"({'a':'b'})",
                                          R"({a:"b"})",
                                          R"({"a":"\x"})",
                                          R"({"a":"\u00"})",
                                          R"({"a":"\u00g0"})",
                                          R"({"a":"\u-001"})",
                                          R"({"a":"\u0000"})",
                                          R"({"a":"\ud800"})",
                                          R"({"a":"\udc00x"})",
                                          "{\"a\":\"\n\"}",
                                          R"({"a":"\)",
                                          R"({"a":"b)",
                                          R"({"a":1})",
                                          R"({"a":null})",
                                          R"({"a":{}})",
                                          R"({"a":["b"]})"}) {
                     unit::expect(!oracle(text), text);
                     agree(text);
                 }
                 agree(std::string("{\"a\":\"\0\"}", 9));
             }},
            {"a surrogate pair is refused: nothing of ours writes one",
             [] { unit::expect(!ours(R"({"a":"\ud83d\ude00"})"), "pair"); }},
            {"the place is told, never the text",
             [] {
                 const auto error = parse_flat_json(R"({"a":"secret","b":1})", "/f").error();
                 unit::expect_equal(error.message,
                                    std::string("/f: not a JSON object of strings at byte 18"));
                 unit::expect(error.code == Errc::invalid, "code");
             }},
            {"20,000 damaged texts: the same answer as jansson's",
             [] {
                 std::mt19937 random(1);
                 const auto below = [&](std::size_t n) { return random() % n; };
                 constexpr std::string_view bytes = "{}[]:,\"\\/bnrtu0019aefx \n\t\x01";
                 int accepted = 0;
                 for (int i = 0; i < 20000; ++i) {
                     std::string text = sample;
                     for (auto changes = 1 + below(3); changes > 0; --changes) {
                         const auto at = below(text.size());
                         switch (below(3)) {
                             case 0:
                                 text[at] = bytes[below(bytes.size())];
                                 break;
                             case 1:
                                 text.erase(at, 1 + below(4));
                                 break;
                             default:
                                 text.insert(at, 1, bytes[below(bytes.size())]);
                         }
                     }
                     agree(text);
                     accepted += ours(text).has_value();
                 }
                 unit::expect(accepted > 1000 && accepted < 19000, std::to_string(accepted));
             }},
        });
}
