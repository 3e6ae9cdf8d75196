// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/json.hpp"

#include <cstdlib>

#include <fmt/core.h>

namespace cohort::json {

Result<Json> parse(std::string_view text, std::string_view name) {
    json_error_t error{};
    Json value(json_loadb(text.data(), text.size(), JSON_REJECT_DUPLICATES, &error));
    // error.text can quote the input, which may be a secret: only the place is told.
    if (!value)
        return fail(Errc::invalid, fmt::format("{}: not valid JSON at line {}, column {}", name,
                                               error.line, error.column));
    return value;
}

std::string dump(const json_t* j) {
    char* text = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text) return {};
    std::string out(text);
    std::free(text);
    return out;
}

Json object() {
    return Json(json_object());
}
Json array() {
    return Json(json_array());
}

void set(json_t* object, const char* key, std::string_view value) {
    json_object_set_new(object, key, json_stringn(value.data(), value.size()));
}
void set(json_t* object, const char* key, std::int64_t value) {
    json_object_set_new(object, key, json_integer(value));
}
void set(json_t* object, const char* key, Json value) {
    json_object_set_new(object, key, value.release());
}

const json_t* get(const json_t* object, const char* key) {
    return json_is_object(object) ? json_object_get(object, key) : nullptr;
}

std::string string(const json_t* object, const char* key) {
    const json_t* value = get(object, key);
    if (!json_is_string(value)) return {};
    return {json_string_value(value), json_string_length(value)};
}

std::optional<std::int64_t> integer(const json_t* object, const char* key) {
    const json_t* value = get(object, key);
    if (!json_is_integer(value)) return std::nullopt;
    return json_integer_value(value);
}

bool boolean(const json_t* object, const char* key, bool otherwise) {
    const json_t* value = get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

}  // namespace cohort::json
