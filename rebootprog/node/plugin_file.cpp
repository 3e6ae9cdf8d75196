// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/plugin_file.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <elf.h>
#include <link.h>

#include <fmt/core.h>

#include "common/file.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_bytes = 256UL << 20;
constexpr std::string_view wanted = "plugin_version";

// Every look into the file is checked against its end.
class Elf {
  public:
    explicit Elf(std::string_view bytes) : bytes_(bytes) {}

    template <class T>
    std::optional<T> at(std::uint64_t offset) const {
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return {};
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof(T));
        return value;
    }

    bool is_ours() const {
        const auto header = at<ElfW(Ehdr)>(0);
        constexpr int word = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
        return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
               header->e_ident[EI_CLASS] == word && header->e_ident[EI_DATA] == ELFDATA2LSB;
    }

    bool text_is(std::uint64_t offset, std::string_view word) const {
        if (offset > bytes_.size()) return false;
        const auto rest = bytes_.substr(offset);
        return rest.size() > word.size() && rest.starts_with(word) && rest[word.size()] == '\0';
    }

    // Where in the file lies what is at ADDRESS in memory?
    std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
        const auto header = at<ElfW(Ehdr)>(0);
        for (unsigned i = 0; header && i < header->e_phnum; ++i) {
            const auto part =
                at<ElfW(Phdr)>(header->e_phoff + std::uint64_t{i} * sizeof(ElfW(Phdr)));
            if (part && part->p_type == PT_LOAD && address >= part->p_vaddr &&
                address - part->p_vaddr < part->p_filesz)
                return part->p_offset + (address - part->p_vaddr);
        }
        return {};
    }

    std::optional<ElfW(Shdr)> section(std::uint64_t index) const {
        const auto header = at<ElfW(Ehdr)>(0);
        if (!header || index >= header->e_shnum) return {};
        return at<ElfW(Shdr)>(header->e_shoff + index * sizeof(ElfW(Shdr)));
    }

    // The address of the dynamic symbol NAME.
    std::optional<std::uint64_t> symbol(std::string_view name) const {
        for (std::uint64_t i = 0; const auto table = section(i); ++i) {
            if (table->sh_type != SHT_DYNSYM) continue;
            const auto names = section(table->sh_link);
            if (!names) return {};
            for (std::uint64_t at_byte = 0; at_byte < table->sh_size;
                 at_byte += sizeof(ElfW(Sym))) {
                const auto one = at<ElfW(Sym)>(table->sh_offset + at_byte);
                if (!one) return {};
                if (one->st_shndx != SHN_UNDEF && text_is(names->sh_offset + one->st_name, name))
                    return one->st_value;
            }
        }
        return {};
    }

  private:
    std::string_view bytes_;
};

}  // namespace

Result<std::uint32_t> plugin_version_of(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    if (!real) return fail(Errc::not_found, fmt::format("there is no {}", path));
    const auto bytes = read_file(real.get(), max_bytes);
    if (!bytes) return tl::unexpected(bytes.error());
    const Elf elf(*bytes);
    const auto no_plugin = [&] {
        return fail(Errc::invalid, fmt::format("{} is no plugin of Slurm", path));
    };
    if (!elf.is_ours()) return no_plugin();
    const auto address = elf.symbol(wanted);
    const auto offset = address ? elf.offset_of(*address) : std::nullopt;
    const auto version = offset ? elf.at<std::uint32_t>(*offset) : std::nullopt;
    if (!version) return no_plugin();
    return *version;
}

}  // namespace cohort
