// SPDX-License-Identifier: GPL-2.0-or-later
//
// How long a verdict takes with a snapshot of ten thousand nodes in two revisions. Prints the
// median and the 99th percentile per kind of request, by the wall clock and by the thread's own
// (which other programs on the machine do not stretch), and fails when the latter passes 50 us.
// Run by `make bench`, never by `make check`: a time is no proof on a busy machine.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <time.h>

#include "common/guard/verdict.hpp"

using namespace cohort;
using namespace cohort::guard;

namespace {

constexpr std::size_t node_count = 10000, rounds = 20000;
constexpr double limit_us = 50;

const std::string a = "rev_" + std::string(16, 'a'), b = "rev_" + std::string(16, 'b');

std::shared_ptr<const Snapshot> cluster() {
    auto s = std::make_shared<Snapshot>();
    Partition all{"all", {}, true}, half{"half", {}};
    for (std::size_t i = 0; i < node_count; ++i) {
        Node node;
        node.name = fmt::format("n{}", i);
        node.state.base = i % 3 ? NodeState::Base::idle : NodeState::Base::allocated;
        node.cpus = 64;
        node.record.revision = i % 2 ? a : b;
        node.active_features = (i % 4 ? "cpu," : "gpu,") + node.record.revision;
        all.nodes.push_back(node.name);
        if (i < node_count / 2) half.nodes.push_back(node.name);
        s->nodes.push_back(std::move(node));
    }
    s->partitions = {all, half};
    s->index();
    return s;
}

struct Kind {
    const char* name;
    Request request;
};

std::vector<Kind> kinds() {
    Request plain, features, both, list, tasks;
    plain.min_nodes = plain.max_nodes = 16;
    features = plain, features.features = "gpu|cpu";
    both = features, both.prefer = "gpu", both.partition = "all,half";
    list = plain, list.required = {"n1", "n3", "n5"};
    for (int i = 0; i < 100; ++i) list.excluded.push_back(fmt::format("n{}", 100 + i));
    tasks.tasks = tasks.cpus = 100000;
    return {{"16 nodes", plain},
            {"features", features},
            {"features, prefer, two partitions", both},
            {"node list and 100 excluded", list},
            {"100000 tasks", tasks}};
}

double thread_us() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

double part(std::vector<double>& times, double share) {
    std::sort(times.begin(), times.end());
    return times[static_cast<std::size_t>(static_cast<double>(times.size() - 1) * share)];
}

}  // namespace

int main() {
    using Clock = std::chrono::steady_clock;
    const auto snapshot = cluster();
    const auto began = Clock::now();
    const GuardView view(snapshot, {{"all", snapshot->partitions[0].nodes, {}}});
    const std::chrono::duration<double, std::milli> built = Clock::now() - began;
    std::printf("view of %zu nodes built in %.1f ms\n", node_count, built.count());
    bool good = true;
    for (const auto& kind : kinds()) {
        std::vector<double> wall, own;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < rounds; ++i) {
            const auto start = Clock::now();
            const double cpu = thread_us();
            const auto verdict = judge(kind.request, {}, &view);
            own.push_back(thread_us() - cpu);
            wall.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
            kept += verdict.message.size();
        }
        std::printf("%-36s median %6.1f us  p99 %6.1f us  (wall: %6.1f, %6.1f)%s\n", kind.name,
                    part(own, 0.5), part(own, 0.99), part(wall, 0.5), part(wall, 0.99),
                    kept == 0 ? "  (nothing bound)" : "");
        good = good && part(own, 0.99) <= limit_us;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
