// SPDX-License-Identifier: GPL-2.0-or-later
//
// Runs a fuzz target without libFuzzer: on each file of the folders that are named, on the file's
// beginnings, and on a fixed number of changed copies. The same input gives the same run.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace {

constexpr std::size_t changed_copies = 300;
constexpr std::size_t most_beginnings = 400;

std::size_t runs = 0;

void run(const std::string& input) {
    ++runs;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string changed(std::string input, std::minstd_rand& random) {
    static const std::string bytes = "{}[]\",:\n\r\t '!&*<>|#%@-0\\\x00\x7f\xff";
    for (unsigned long n = 1 + random() % 4; n > 0 && !input.empty(); --n) {
        const auto at = static_cast<std::ptrdiff_t>(random() % input.size());
        const char byte = bytes[random() % bytes.size()];
        switch (random() % 4) {
            case 0:
                input[static_cast<std::size_t>(at)] = byte;
                break;
            case 1:
                input.erase(input.begin() + at);
                break;
            case 2:
                input.insert(input.begin() + at, byte);
                break;
            default:
                input.insert(static_cast<std::size_t>(at),
                             input.substr(static_cast<std::size_t>(at), 16));
        }
    }
    return input;
}

void replay(const std::string& content) {
    run(content);
    const std::size_t step = content.size() / most_beginnings + 1;
    for (std::size_t end = 0; end < content.size(); end += step) run(content.substr(0, end));
    std::minstd_rand random(static_cast<unsigned>(content.size()));
    for (std::size_t i = 0; i < changed_copies; ++i) run(changed(content, random));
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::filesystem::path> files;
    for (int i = 1; i < argc; ++i)
        for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
            if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& path : files) {
        std::ifstream in(path, std::ios::binary);
        replay({std::istreambuf_iterator<char>(in), {}});
    }
    std::printf("%zu files, %zu runs\n", files.size(), runs);
    return files.empty() ? 1 : 0;
}
