// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a fuzz target is: libFuzzer's entry, which replay.cpp calls too, and a way to say that a
// property does not hold. A target must do no I/O and keep nothing between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

inline std::string_view text(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// Ends the process, so that the fuzzer keeps the input.
inline void must(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "property broken: %s\n", what);
    std::abort();
}

// What we say to people is one line.
inline void must_be_one_line(const std::string& message) {
    must(!message.empty(), "an error has words");
    must(message.find('\n') == std::string::npos, "an error is one line");
}

}  // namespace fuzz
