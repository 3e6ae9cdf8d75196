// SPDX-License-Identifier: GPL-2.0-or-later
//
// libmd's (on every Debian machine: dpkg uses it), not libcrypto's: loading and initialising that
// one in srun and again in slurmstepd cost every job step milliseconds, more than reading the whole
// profile does.
#include "common/sha256.hpp"

#include <array>
#include <cstdint>

#include <sys/types.h>

extern "C" {
#include <sha2.h>
}

namespace cohort {

std::string sha256_hex(std::string_view data) {
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
    std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
    SHA256Final(digest.data(), &context);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (const std::uint8_t byte : digest) {
        hex += digits[byte >> 4];
        hex += digits[byte & 0xf];
    }
    return hex;
}

}  // namespace cohort
