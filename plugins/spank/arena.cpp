// SPDX-License-Identifier: GPL-2.0-or-later
//
// The plugin's own memory, when its C++ library is in it: freed pieces of ours in slurmstepd's heap
// would be what each forked task's malloc() takes first, and each of their pages a copy (measured:
// three faults a task in _int_malloc). A step's look at the node takes some 100 KB; nothing is
// given back before the plugin is unloaded: the processes are short-lived, and in the tasks the
// hooks allocate nothing. Beyond the region malloc() serves. One thread (Slurm calls hooks one
// after the other).
//
// The C++ library keeps 72 KB by for exceptions when memory is out; Slurm loads each plugin twice.
// Taken from the heap those would be 36 more pages for each fork: they come from here (linked with
// --wrap), where a page that nobody wrote is no page.
#include <cstddef>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace {

constexpr std::size_t region_bytes = 1024 * 1024;
constexpr std::size_t alignment = alignof(std::max_align_t);
constexpr std::size_t large = 32 * 1024;
char* region = nullptr;
std::size_t used = 0;

char* map_region() {
    void* found = ::mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found != MAP_FAILED) return static_cast<char*>(found);
    used = region_bytes;
    return nullptr;
}

bool is_ours(const void* p) {
    const auto* c = static_cast<const char*>(p);
    return region && c >= region && c < region + region_bytes;
}

// Null: the region has no room for it.
void* piece_of_region(std::size_t size) {
    if (!region && used == 0) region = map_region();
    const std::size_t wanted = (size + alignment - 1) / alignment * alignment;
    if (!region || wanted < size || wanted > region_bytes - used) return nullptr;
    void* piece = region + used;
    used += wanted;
    return piece;
}

// By its priority after the destructors of everything that may lie in it.
__attribute__((destructor(101))) void unmap_region() {
    if (region) ::munmap(region, region_bytes);
    region = nullptr;
    used = region_bytes;
}

}  // namespace

extern "C" {
void* __real_malloc(std::size_t size);
void __real_free(void* p);

void* __wrap_malloc(std::size_t size) {
    if (size >= large)
        if (void* piece = piece_of_region(size)) return piece;
    return __real_malloc(size);
}

void __wrap_free(void* p) {
    if (!is_ours(p)) __real_free(p);
}
}

void* operator new(std::size_t size) {
    if (void* piece = piece_of_region(size)) return piece;
    if (void* piece = std::malloc(size ? size : 1)) return piece;
    throw std::bad_alloc();
}

void operator delete(void* p) noexcept {
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
    operator delete(p);
}
