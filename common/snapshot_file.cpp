// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/snapshot_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include <fmt/core.h>

#include "common/json.hpp"

namespace cohort {
namespace {

// Names, states and labels need no escaping in practice, so 10,000 nodes must not pay for a JSON
// tree; what does need it goes through jansson.
void append_text(std::string& out, std::string_view s) {
    const bool plain = s.find_first_of("\"\\") == std::string_view::npos &&
                       std::all_of(s.begin(), s.end(), [](char c) { return c >= ' ' && c < 127; });
    if (plain) {
        out.append("\"").append(s).append("\"");
        return;
    }
    const Json value(json_stringn(s.data(), s.size()));
    if (!value) {  // not UTF-8
        out += "\"?\"";
        return;
    }
    char* text = json_dumps(value.get(), JSON_ENCODE_ANY);
    out += text ? text : "\"?\"";
    std::free(text);
}

}  // namespace

std::string render_snapshot_body(const std::vector<Node>& nodes,
                                 const std::vector<RebuildJob>& rebuild_jobs) {
    std::string out = "\"rebuild_jobs\":[";
    out.reserve(nodes.size() * 72 + rebuild_jobs.size() * 80 + 64);
    for (const auto& job : rebuild_jobs) {
        if (&job != &rebuild_jobs.front()) out += ',';
        fmt::format_to(std::back_inserter(out), "{{\"job\":{},\"node\":", job.job_id);
        append_text(out, job.node);
        fmt::format_to(std::back_inserter(out), ",\"pending\":{},\"held\":{}}}", job.pending,
                       job.held);
    }
    out += "],\"nodes\":[";
    for (const auto& node : nodes) {
        out += &node == &nodes.front() ? "\n[" : ",\n[";
        append_text(out, node.name);
        out += ',';
        append_text(out, node.state.text());
        out += ',';
        append_text(out, node.record.revision);
        out += node.record.withdrawn() ? ",true]" : ",false]";
    }
    out += "]";
    return out;
}

std::string render_snapshot(const SnapshotHeader& header, std::string_view body) {
    std::string out = fmt::format(
        "{{\"generation\":{},\"started\":{:.3f},\"written\":{:.3f},\"slurmctld\":{},\"host\":",
        header.generation, header.started, header.written, header.process);
    append_text(out, header.host);
    out += ",\"configuration\":";
    append_text(out, header.configuration);
    const auto& hooks = header.hooks;
    fmt::format_to(
        std::back_inserter(out),
        ",\"hooks\":{{\"calls\":{},\"seconds\":{:.6f},\"median_us\":{:.1f},\"p99_us\":{:.1f},"
        "\"max_us\":{:.1f}}}",
        hooks.calls, hooks.seconds, hooks.median_us, hooks.p99_us, hooks.max_us);
    out += ",\"fault\":";
    append_text(out, header.fault);
    fmt::format_to(std::back_inserter(out), ",\"breaker\":{},\"open\":[", header.breaker_open);
    for (const auto& node : header.open_nodes) {
        if (&node != &header.open_nodes.front()) out += ',';
        append_text(out, node);
    }
    out += "],";
    out += body;
    out += "}\n";
    return out;
}

Result<SnapshotFile> parse_snapshot(std::string_view text, std::string_view name) {
    const auto root = json::parse(text, name);
    if (!root) return tl::unexpected(root.error());
    const json_t* top = root->get();
    const json_t* nodes = json::get(top, "nodes");
    const auto generation = json::integer(top, "generation");
    if (!generation || !json_is_array(nodes))
        return fail(Errc::invalid, fmt::format("{} is no snapshot of slurm-cohort", name));
    SnapshotFile file;
    file.header.generation = static_cast<std::uint64_t>(*generation);
    file.header.started = json_number_value(json::get(top, "started"));
    file.header.written = json_number_value(json::get(top, "written"));
    file.header.process = json::integer(top, "slurmctld").value_or(0);
    file.header.host = json::string(top, "host");
    file.header.configuration = json::string(top, "configuration");
    file.header.fault = json::string(top, "fault");
    file.header.breaker_open = json::boolean(top, "breaker", false);
    const json_t* hooks = json::get(top, "hooks");
    const auto of_hooks = [&](const char* key) { return json_number_value(json::get(hooks, key)); };
    file.header.hooks = {static_cast<std::uint64_t>(json::integer(hooks, "calls").value_or(0)),
                         of_hooks("seconds"), of_hooks("median_us"), of_hooks("p99_us"),
                         of_hooks("max_us")};
    std::size_t i = 0;
    const json_t* item = nullptr;
    const auto text_at = [&](std::size_t column) -> std::string {
        const char* s = json_string_value(json_array_get(item, column));
        return s ? s : "";
    };
    json_array_foreach(nodes, i, item) {
        file.nodes.push_back(
            {text_at(0), text_at(1), text_at(2), json_is_true(json_array_get(item, 3))});
    }
    json_array_foreach(json::get(top, "open"), i, item) {
        if (const char* node = json_string_value(item)) file.header.open_nodes.emplace_back(node);
    }
    json_array_foreach(json::get(top, "rebuild_jobs"), i, item) {
        file.rebuild_jobs.push_back(
            {static_cast<std::uint32_t>(json::integer(item, "job").value_or(0)),
             json::string(item, "node"), json::boolean(item, "held", false),
             json::boolean(item, "pending", false)});
    }
    return file;
}

}  // namespace cohort
