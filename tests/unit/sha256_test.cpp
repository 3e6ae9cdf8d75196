// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/sha256.hpp"

#include <array>
#include <cstdio>
#include <random>

#include <openssl/evp.h>

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

// libcrypto as the other opinion.
std::string oracle(const std::string& data) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha256(), nullptr);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
        std::array<char, 3> two{};
        std::snprintf(two.data(), two.size(), "%02x", digest[i]);
        hex += two.data();
    }
    return hex;
}

}  // namespace

int main() {
    return unit::run(
        "sha256",
        {
            {"the standard's own examples",
             [] {
                 unit::expect_equal(
                     sha256_hex(""),
                     std::string(
                         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
                 unit::expect_equal(
                     sha256_hex("abc"),
                     std::string(
                         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
                 unit::expect_equal(
                     sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                     std::string(
                         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
                 unit::expect_equal(
                     sha256_hex(std::string(1000000, 'a')),
                     std::string(
                         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
             }},
            {"every length up to 300, and some long ones, as libcrypto has it",
             [] {
                 std::mt19937 random(7);
                 for (std::size_t size = 0; size < 70000; size += size < 300 ? 1 : 6977) {
                     std::string data(size, '\0');
                     for (auto& byte : data) byte = static_cast<char>(random());
                     unit::expect_equal(sha256_hex(data), oracle(data));
                 }
             }},
        });
}
