// SPDX-License-Identifier: GPL-2.0-or-later
//
// JSON through jansson: an owner type and typed look-ups that never fail loudly.
//
// A Json owns one reference. Pointers returned by the look-ups are borrowed from their parent.
// Not thread-safe for one object; different objects may live in different threads.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <jansson.h>

#include "common/result.hpp"

namespace cohort {

struct JsonDeleter {
    void operator()(json_t* j) const noexcept { json_decref(j); }
};
using Json = std::unique_ptr<json_t, JsonDeleter>;

namespace json {

// NAME appears in the error ("NAME: line 3: ..."). Duplicate keys are refused.
Result<Json> parse(std::string_view text, std::string_view name);
// One line, keys in insertion order.
std::string dump(const json_t* j);

Json object();
Json array();
void set(json_t* object, const char* key, std::string_view value);
void set(json_t* object, const char* key, std::int64_t value);
// Only a real bool: a string literal must not become "true".
template <std::same_as<bool> B>
void set(json_t* object, const char* key, B value) {
    json_object_set_new(object, key, json_boolean(value));
}
void set(json_t* object, const char* key, Json value);

// Member KEY of OBJECT; nullptr when OBJECT is no object or has no such member.
const json_t* get(const json_t* object, const char* key);
// Empty when absent, null or of another type.
std::string string(const json_t* object, const char* key);
std::optional<std::int64_t> integer(const json_t* object, const char* key);
bool boolean(const json_t* object, const char* key, bool otherwise);

}  // namespace json
}  // namespace cohort
