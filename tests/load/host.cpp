// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/load/host.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

// Exported although the rest of the build hides its symbols; prototypes as far as they matter here.
#define HOST extern "C" __attribute__((visibility("default")))
#define NO_CONTROLLER(name)   \
    HOST int name(...) {      \
        errno = ECONNREFUSED; \
        return -1;            \
    }
#define NOTHING(name)      \
    HOST void* name(...) { \
        return nullptr;    \
    }

namespace host {
namespace {

std::mutex mutex;
std::set<const void*>& blocks() {
    static auto* all = new std::set<const void*>;
    return *all;
}

void log(const char* level, const char* format, va_list arguments) {
    std::fprintf(stderr, "slurm %s: ", level);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
}

}  // namespace

void* allocate(std::size_t bytes) {
    void* memory = std::calloc(1, bytes ? bytes : 1);
    const std::lock_guard lock(mutex);
    blocks().insert(memory);
    return memory;
}

bool owns(const void* memory) {
    const std::lock_guard lock(mutex);
    return blocks().count(memory) != 0;
}

void release(void* memory) {
    if (!memory) return;
    {
        const std::lock_guard lock(mutex);
        if (blocks().erase(memory) == 0) {
            std::fprintf(stderr, "FAIL: Slurm would free memory that is not its own\n");
            std::abort();
        }
    }
    std::free(memory);
}

std::size_t outstanding() {
    const std::lock_guard lock(mutex);
    return blocks().size();
}

}  // namespace host

HOST void* slurm_xcalloc(std::size_t count, std::size_t size, bool, bool, const char*, int,
                         const char*) {
    return host::allocate(count * size);
}
HOST void slurm_xfree(void** memory) {
    host::release(*memory);
    *memory = nullptr;
}
HOST char* slurm_xstrdup(const char* text) {
    if (!text) return nullptr;
    auto* copy = static_cast<char*>(host::allocate(std::strlen(text) + 1));
    std::strcpy(copy, text);
    return copy;
}
HOST void slurm_info(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    host::log("info", format, arguments);
    va_end(arguments);
}
HOST void slurm_verbose(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    host::log("verbose", format, arguments);
    va_end(arguments);
}
HOST int slurm_error(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    host::log("error", format, arguments);
    va_end(arguments);
    return -1;
}
HOST char* slurm_strerror(int) {
    static char text[] = "no controller in this test";
    return text;
}

// Commas only. The caller frees a name, as with Slurm's.
HOST void* slurm_hostlist_create(const char* text) {
    return new std::string(text ? text : "");
}
HOST char* slurm_hostlist_shift(void* list) {
    auto& rest = *static_cast<std::string*>(list);
    if (rest.empty()) return nullptr;
    const auto comma = rest.find(',');
    char* name = ::strdup(rest.substr(0, comma).c_str());
    rest.erase(0, comma == std::string::npos ? comma : comma + 1);
    return name;
}
HOST void slurm_hostlist_destroy(void* list) {
    delete static_cast<std::string*>(list);
}

// A controller's table that says: active.
extern "C" {
__attribute__((visibility("default"))) void* part_list = &part_list;
}

NO_CONTROLLER(slurm_load_job)
NO_CONTROLLER(slurm_load_assoc_mgr_info)
NO_CONTROLLER(slurm_update_node)
NO_CONTROLLER(slurm_update_job2)
NO_CONTROLLER(slurm_kill_job)
NO_CONTROLLER(slurm_requeue)
NO_CONTROLLER(slurm_notify_job)
NO_CONTROLLER(slurm_delete_node)
NO_CONTROLLER(slurm_bit_ffs)
NOTHING(slurm_hostlist_push_host)
NOTHING(slurm_hostlist_ranged_string)
NOTHING(slurm_list_iterator_create)
NOTHING(slurm_list_iterator_destroy)
NOTHING(slurm_list_next)
NOTHING(slurm_init)
NOTHING(slurm_init_job_desc_msg)
NOTHING(slurm_init_update_node_msg)
NOTHING(slurm_free_ctl_conf)
NOTHING(slurm_free_conf)
NOTHING(slurm_free_node_info_msg)
NOTHING(slurm_free_partition_info_msg)
NOTHING(slurm_free_reservation_info_msg)
NOTHING(slurm_free_job_info_msg)
NOTHING(slurm_free_job_array_resp)
NOTHING(slurm_free_assoc_mgr_info_msg)
