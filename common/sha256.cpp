// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/sha256.hpp"

#include <array>

#include <fmt/core.h>
#include <openssl/evp.h>

namespace cohort {

std::string sha256_hex(std::string_view data) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
        return {};
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

}  // namespace cohort
