// SPDX-License-Identifier: GPL-2.0-or-later
//
// Loads each plugin of plugins.table three times into this process, which plays Slurm's: it starts,
// answers, ends without leaving a thread behind, and takes its strings from Slurm's allocator only.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_version.h>
}

#include "common/slurm/compat.hpp"
#include "tests/load/host.hpp"
#include "tests/load/spank_host.hpp"

namespace {

int failures = 0;

void expect(bool ok, const std::string& what) {
    if (ok) return;
    std::fprintf(stderr, "FAIL: %s\n", what.c_str());
    ++failures;
}

struct Row {
    std::string file, kind;
    std::vector<std::string> symbols;
};

std::vector<Row> read_table(const char* path) {
    std::vector<Row> rows;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        Row row;
        if (!(words >> row.file >> row.kind) || row.file[0] == '#') continue;
        for (std::string symbol; words >> symbol;) row.symbols.push_back(symbol);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::size_t threads() {
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        static_cast<void>(entry);
        ++n;
    }
    return n;
}

// A thread that was joined is listed for a moment longer.
bool threads_become(std::size_t wanted) {
    for (int i = 0; i < 500 && threads() != wanted; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return threads() == wanted;
}

// With slurm.conf, which nobody reads, and cohort.conf, which is missing until a test writes it.
const std::string& folder() {
    static const std::string made = [] {
        std::string pattern = std::filesystem::temp_directory_path() / "load_test.XXXXXX";
        if (!::mkdtemp(pattern.data())) std::abort();
        return pattern;
    }();
    return made;
}

template <class F>
F function(void* library, const char* name) {
    return reinterpret_cast<F>(::dlsym(library, name));
}

job_desc_msg_t description() {
    job_desc_msg_t job;
    std::memset(&job, 0, sizeof job);
    job.reboot = NO_VAL16;
    job.priority = job.min_nodes = job.het_job_offset = job.user_id = job.time_limit = NO_VAL;
    job.requeue = NO_VAL16;
    return job;
}

using Submit = int (*)(job_desc_msg_t*, std::uint32_t, char**);

void show_variables(Submit submit, const Row& row) {
    job_desc_msg_t job = description();
    job.spank_job_env = static_cast<char**>(host::allocate(4 * sizeof(char*)));
    const char* given[] = {"COHORT_REBUILD=1", "OTHER=1", "SPANK_COHORT_REBUILD=yes",
                           "COHORT_REBUILDER=1"};
    for (std::size_t i = 0; i < 4; ++i) job.spank_job_env[i] = slurm_xstrdup(given[i]);
    job.spank_job_env_size = 4;
    char* message = nullptr;
    expect(submit(&job, 1000, &message) == 0, row.file + ": a user's job passes");
    expect(message == nullptr, row.file + ": a user's job gets no message");
    expect(job.spank_job_env_size == 2 && std::strcmp(job.spank_job_env[0], "OTHER=1") == 0 &&
               std::strcmp(job.spank_job_env[1], "COHORT_REBUILDER=1") == 0,
           row.file + ": both spellings of COHORT_REBUILD are taken away, nothing else");
    for (std::uint32_t i = 0; i < job.spank_job_env_size; ++i) host::release(job.spank_job_env[i]);
    host::release(job.spank_job_env);
}

// What Slurm itself never sends; a user's own program can.
void show_broken_variables(Submit submit, const Row& row) {
    for (const std::uint16_t reboot : {std::uint16_t{NO_VAL16}, std::uint16_t{1}}) {
        job_desc_msg_t job = description();
        job.reboot = reboot;
        job.spank_job_env_size = 3;
        char* message = nullptr;
        expect((submit(&job, 1000, &message) == 0) == (reboot != 1),
               row.file + ": a number of variables without any");
        expect(!job.spank_job_env, row.file + ": and none is made up");
        host::release(message);
        message = nullptr;
        job.spank_job_env = static_cast<char**>(host::allocate(3 * sizeof(char*)));
        job.spank_job_env[1] = slurm_xstrdup("SPANK_COHORT_REBUILD=1");
        job.spank_job_env[2] = slurm_xstrdup("OTHER=1");
        expect((submit(&job, 1000, &message) == 0) == (reboot != 1),
               row.file + ": a variable that is NULL");
        bool other = false;
        for (std::uint32_t i = 0; i < job.spank_job_env_size; ++i) {
            const char* left = job.spank_job_env[i];
            expect(!left || !std::strstr(left, "COHORT_REBUILD"), row.file + ": ours behind it");
            other = other || (left && std::strcmp(left, "OTHER=1") == 0);
            host::release(job.spank_job_env[i]);
        }
        expect(other, row.file + ": the others stay");
        host::release(message);
        host::release(job.spank_job_env);
    }
}

void show_refusal(Submit submit, const Row& row) {
    job_desc_msg_t job = description();
    job.reboot = 1;
    job.admin_comment = slurm_xstrdup("kept");
    char* message = nullptr;
    const int rc = submit(&job, 0, &message);
    expect(rc != 0, row.file + ": a rebuild job is refused before the cluster was read");
    expect(message && std::strstr(message, "cohort: "), row.file + ": and its sender is told why");
    expect(message && host::owns(message), row.file + ": in memory that Slurm can free");
    expect(std::strcmp(job.admin_comment, "kept") == 0, row.file + ": the job is left as it was");
    if (message) host::release(message);
    host::release(job.admin_comment);
}

void show_fault(Submit submit, const Row& row, const char* name) {
    for (const bool reboot : {false, true}) {
        job_desc_msg_t job = description();
        job.reboot = reboot ? 1 : NO_VAL16;
        job.name = slurm_xstrdup(name);
        char* message = nullptr;
        const int rc = submit(&job, 0, &message);
        expect((rc != 0) == reboot, row.file +
                                        ": after an exception rebuild jobs are refused and "
                                        "others pass (" +
                                        name + ")");
        if (message) host::release(message);
        host::release(job.name);
    }
}

using Field = char* job_desc_msg_t::*;
constexpr std::pair<Field, const char*> texts[] = {
    {&job_desc_msg_t::account, "research"},
    {&job_desc_msg_t::admin_comment, "{\"cohort\":{\"kind\":\"rebuild\",\"node\":\"n1\"}}"},
    {&job_desc_msg_t::array_inx, "1-3"},
    {&job_desc_msg_t::exc_nodes, "n3"},
    {&job_desc_msg_t::features, "gpu|x"},
    {&job_desc_msg_t::job_id_str, "7_[1-2]"},
    {&job_desc_msg_t::licenses, "a"},
    {&job_desc_msg_t::name, "job"},
    {&job_desc_msg_t::partition, "main,other"},
    {&job_desc_msg_t::prefer, "x"},
    {&job_desc_msg_t::qos, "normal"},
    {&job_desc_msg_t::req_nodes, "n1,n2"},
    {&job_desc_msg_t::reservation, "r"},
};

void release_texts(job_desc_msg_t& job) {
    for (const auto& [field, text] : texts) {
        static_cast<void>(text);
        host::release(job.*field);
        job.*field = nullptr;
    }
}

// job_modify takes a message from Slurm 23.02 on; an argument too many does no harm here.
using Modify = int (*)(job_desc_msg_t*, void*, std::uint32_t, char**);

// Every pointer of a job_desc_msg_t may be null, every number 0 or NO_VAL, for root and for users.
void show_empty_jobs(Submit submit, Modify modify, const Row& row, bool warm) {
    job_desc_msg_t zero;
    std::memset(&zero, 0, sizeof zero);
    for (const std::uint32_t uid : {0u, 1000u})
        for (job_desc_msg_t job : {zero, description()}) {
            char* message = nullptr;
            expect(submit(&job, uid, &message) == 0, row.file + ": an empty submission passes");
            if (message) host::release(message);
            message = nullptr;
            job_desc_msg_t change = zero;
            change.reboot = NO_VAL16;
            // A number that is 0 is given, and a warm guard does not know the job.
            expect(modify(&change, nullptr, uid, &message) == 0 || (warm && uid != 0),
                   row.file + ": an empty change");
            if (message) host::release(message);
            release_texts(change);
            release_texts(job);
        }
}

// Every rebuild job (of more than one node, where the cluster is known); and a user's comment that
// would make one.
bool is_refused(bool change, bool reboot, std::uint32_t uid, Field missing) {
    if (!change) return reboot;
    return uid != 0 && missing != &job_desc_msg_t::admin_comment;
}

// Every pointer of a job_desc_msg_t that is read may be null although all others are there.
void show_missing_texts(Submit submit, Modify modify, const Row& row, bool warm) {
    for (const auto& [missing, its_text] : texts)
        for (const std::uint32_t uid : {0u, 1000u})
            for (const bool change : {false, true})
                for (const std::uint16_t reboot : {std::uint16_t{NO_VAL16}, std::uint16_t{1}}) {
                    job_desc_msg_t job = description();
                    job.reboot = reboot;
                    for (const auto& [field, text] : texts)
                        if (field != missing) job.*field = slurm_xstrdup(text);
                    char* message = nullptr;
                    const int rc =
                        change ? modify(&job, nullptr, uid, &message) : submit(&job, uid, &message);
                    // A warm guard may refuse the change of a job that it does not know.
                    const bool refused = is_refused(change, reboot == 1, uid, missing);
                    expect((rc != 0) == refused || (warm && change && uid != 0),
                           row.file + ": a job without one of its texts (" + its_text + ")");
                    if (message) host::release(message);
                    release_texts(job);
                }
}

// Waits until the plugin has read the cluster; then two nodes of it are bound to one revision.
bool becomes_warm(Submit submit) {
    for (int i = 0; i < 500; ++i) {
        job_desc_msg_t job = description();
        job.min_nodes = job.max_nodes = 2;
        char* message = nullptr;
        const int rc = submit(&job, 1000, &message);
        const bool bound = rc == 0 && job.features && std::strchr(job.features, '|');
        host::release(message);
        release_texts(job);
        if (bound) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

void show_accepted(Submit submit, const Row& row) {
    job_desc_msg_t job = description();
    job.reboot = 1;
    job.req_nodes = slurm_xstrdup("n1");
    job.spank_job_env_size = 3;
    char* message = nullptr;
    expect(submit(&job, 0, &message) == 0, row.file + ": a rebuild job without any other text");
    expect(job.spank_job_env && job.spank_job_env_size == 1 &&
               std::strcmp(job.spank_job_env[0], "COHORT_REBUILD=1") == 0,
           row.file + ": its variable is the only one, whatever their number was said to be");
    host::release(message);
    if (job.spank_job_env) host::release(job.spank_job_env[0]);
    host::release(job.spank_job_env);
    release_texts(job);
}

// As above, with a configuration and a picture of the cluster to judge by.
void show_warm(Submit submit, Modify modify, const Row& row) {
    const std::string conf = folder() + "/cohort.conf";
    std::ofstream(conf).close();
    host::answer_as_a_cluster(folder() + "/state");
    expect(becomes_warm(submit), row.file + ": the cluster was read");
    show_variables(submit, row);
    show_broken_variables(submit, row);
    show_empty_jobs(submit, modify, row, true);
    show_missing_texts(submit, modify, row, true);
    show_accepted(submit, row);
    expect(becomes_warm(submit), row.file + ": it is still known");
    host::answer_as_a_cluster("");
    std::filesystem::remove(conf);
}

void use_job_submit(void* library, const Row& row) {
    const auto* version = static_cast<const std::uint32_t*>(::dlsym(library, "plugin_version"));
    const auto* type = static_cast<const char*>(::dlsym(library, "plugin_type"));
    expect(*version == SLURM_VERSION_NUMBER, row.file + ": built for these headers");
    expect(std::strcmp(type, "job_submit/cohort") == 0, row.file + ": its type");
    const auto submit = function<Submit>(library, "job_submit");
    const std::size_t before = threads();
    expect(function<int (*)()>(library, "init")() == 0, row.file + ": init");
    expect(threads_become(before + 1), row.file + ": one thread");
    show_variables(submit, row);
    show_broken_variables(submit, row);
    show_refusal(submit, row);
    show_empty_jobs(submit, function<Modify>(library, "job_modify"), row, false);
    show_missing_texts(submit, function<Modify>(library, "job_modify"), row, false);
    show_warm(submit, function<Modify>(library, "job_modify"), row);
    if (row.file.find("faults") != std::string::npos) {
        show_fault(submit, row, "cohort-test-throw");
        show_fault(submit, row, "cohort-test-throw-int");
    }
    function<int (*)()>(library, "fini")();
    expect(threads_become(before), row.file + ": its thread ended with it");
    expect(host::outstanding() == 0, row.file + ": nothing of Slurm's memory is left over");
}

// Only at submission may init refuse: in slurmstepd Slurm 22.05 calls the task that never ran a
// success. The gates write on the node and are shown by the unit and system tests.
void use_spank(void* library, const Row& row) {
    const auto* version = static_cast<const unsigned int*>(::dlsym(library, "plugin_version"));
    expect(*version == SLURM_VERSION_NUMBER, row.file + ": built for these headers");
    using Hook = int (*)(void*, int, char**);
    const auto init = function<Hook>(library, "slurm_spank_init");
    const auto post_opt = function<Hook>(library, "slurm_spank_init_post_opt");
    std::string good = "path=append", bad = "pathh=append";
    char *good_argv[] = {good.data()}, *bad_argv[] = {bad.data()};
    for (const int context : {host::srun, host::sbatch, host::slurmstepd}) {
        host::play(context);
        expect(init(nullptr, 1, good_argv) == 0, row.file + ": good arguments pass everywhere");
        expect(init(nullptr, 1, bad_argv) == (context == host::slurmstepd ? 0 : -1),
               row.file + ": bad arguments are refused at submission only");
    }
    host::play(host::srun);
    expect(post_opt(nullptr, 1, bad_argv) == 0, row.file + ": init_post_opt never fails");
}

void load(const Row& row) {
    void* library = ::dlopen(row.file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        expect(false, row.file + ": " + ::dlerror());
        return;
    }
    for (const auto& symbol : row.symbols)
        expect(::dlsym(library, symbol.c_str()) != nullptr, row.file + ": " + symbol + " is there");
    if (row.kind == "job_submit") use_job_submit(library, row);
    if (row.kind == "spank") use_spank(library, row);
    expect(::dlclose(library) == 0, row.file + ": unloads");
}

}  // namespace

int main() {
    const char* srcdir = std::getenv("srcdir");
    const std::string table = std::string(srcdir ? srcdir : ".") + "/tests/load/plugins.table";
    const auto rows = read_table(table.c_str());
    expect(!rows.empty(), "no plugins in " + table);
    ::setenv("SLURM_CONF", (folder() + "/slurm.conf").c_str(), 1);
    for (const auto& row : rows)
        for (int i = 0; i < 3; ++i) load(row);
    std::filesystem::remove_all(folder());
    if (failures == 0) std::printf("%zu plugins, three times each\n", rows.size());
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
