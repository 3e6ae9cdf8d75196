// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reboot/decide.hpp"

#include "tests/unit/unit.hpp"

using namespace cohort;
using Act = Decision::Act;

namespace {

constexpr const char* wanted = "image-2";

struct Row {
    const char* words;
    ServerState server;
    Act act;
    const char* why;  // a piece of it
    DecisionPolicy policy = {};
};

ServerState server(const char* status, const char* image, const char* task = "") {
    ServerState s;
    s.name = "n1";
    s.status = status;
    s.image = image;
    s.task_state = task;
    return s;
}

ServerState locked(ServerState s, const char* reason) {
    s.locked = true;
    s.locked_reason = reason;
    return s;
}

ServerState volume(ServerState s) {
    s.volume_backed = true;
    s.image.clear();
    return s;
}

const Row rows[] = {
    {"ACTIVE on the image, no task: rebooted, not rebuilt", server("ACTIVE", wanted),
     Act::soft_reboot, "already"},
    {"ACTIVE on another image: rebuilt", server("ACTIVE", "image-1"), Act::rebuild, "differs"},
    {"ACTIVE on the image but the node never proved it: rebuilt",
     server("ACTIVE", wanted),
     Act::rebuild,
     "never proved",
     {false, false, true}},
    {"image matches but ERROR: rebuilt (nova shows the new image after a failed rebuild)",
     server("ERROR", wanted), Act::rebuild, "ERROR"},
    {"ERROR on another image: rebuilt", server("ERROR", "image-1"), Act::rebuild, "differs"},
    {"SHUTOFF on the image: hard reboot, soft is refused by nova", server("SHUTOFF", wanted),
     Act::hard_reboot, "SHUTOFF"},
    {"SHUTOFF on another image: rebuilt", server("SHUTOFF", "image-1"), Act::rebuild, "SHUTOFF"},
    {"rebuilding to the image: adopted", server("REBUILD", wanted, "rebuild_spawning"), Act::adopt,
     "already rebuilding"},
    {"rebuilding, status not yet changed: adopted", server("ACTIVE", wanted, "rebuilding"),
     Act::adopt, "already rebuilding"},
    {"rebuilding to another image: refused", server("REBUILD", "image-3", "rebuilding"),
     Act::refuse, "another image"},
    {"a reboot runs: wait", server("REBOOT", wanted, "reboot_started"), Act::wait, "busy"},
    {"powering off: wait", server("ACTIVE", "image-1", "powering-off"), Act::wait, "busy"},
    {"being deleted: refused", server("ACTIVE", "image-1", "deleting"), Act::refuse, "deleted"},
    {"locked: refused with the reason", locked(server("ACTIVE", "image-1"), "hands off"),
     Act::refuse, "locked (hands off)"},
    {"locked with Unlock=yes: goes on",
     locked(server("ACTIVE", "image-1"), ""),
     Act::rebuild,
     "differs",
     {false, true}},
    {"volume-backed: no image is told, refused", volume(server("ACTIVE", "")), Act::refuse,
     "its image cannot be told and a rebuild would wipe the volume: see AllowVolumeRebuild"},
    {"volume-backed and allowed: rebuilt",
     volume(server("ACTIVE", "")),
     Act::rebuild,
     "differs",
     {true, false}},
    {"PAUSED: refused", server("PAUSED", "image-1"), Act::refuse, "PAUSED"},
    {"SUSPENDED: refused", server("SUSPENDED", wanted), Act::refuse, "SUSPENDED"},
    {"SHELVED_OFFLOADED: refused", server("SHELVED_OFFLOADED", "image-1"), Act::refuse, "SHELVED"},
    {"RESCUE: refused", server("RESCUE", wanted), Act::refuse, "RESCUE"},
    {"VERIFY_RESIZE: refused", server("VERIFY_RESIZE", wanted), Act::refuse, "VERIFY_RESIZE"},
    {"an unknown status: refused, never guessed", server("NEW_WORD", wanted), Act::refuse,
     "NEW_WORD"},
    {"BUILD: wait", server("BUILD", wanted), Act::wait, "BUILD"},
};

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    for (const auto& row : rows)
        rules.push_back({row.words, [&row] {
                             const auto d = decide(row.server, wanted, row.policy);
                             unit::expect_equal(std::string(name_of(d.act)),
                                                std::string(name_of(row.act)));
                             unit::expect_contains(d.why, row.why);
                         }});
    return unit::run("decide", rules);
}
