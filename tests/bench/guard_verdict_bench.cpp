// SPDX-License-Identifier: GPL-2.0-or-later
//
// How long a verdict takes with a snapshot of ten thousand nodes in two revisions. Prints the
// median and the 99th percentile per kind of request, and fails when one passes 50 microseconds.
// Run by `make bench`, never by `make check`: a time is no proof on a busy machine.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

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
        std::vector<double> times;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < rounds; ++i) {
            const auto start = Clock::now();
            const auto verdict = judge(kind.request, {}, &view);
            times.push_back(
                std::chrono::duration<double, std::micro>(Clock::now() - start).count());
            kept += verdict.message.size();
        }
        std::sort(times.begin(), times.end());
        const double p50 = times[rounds / 2], p99 = times[rounds * 99 / 100];
        std::printf("%-36s median %6.1f us  p99 %6.1f us%s\n", kind.name, p50, p99,
                    kept == 0 ? "  (nothing bound)" : "");
        good = good && p99 <= limit_us;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
