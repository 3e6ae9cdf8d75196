// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-node once: a site's own boot step (a playbook, a script), once per disk.
//
// A step that ended well leaves /var/lib/cohort/once/NAME with the identity of the root content: a
// plain reboot does not run it again, a rebuild does (a new disk has no such file; one that came
// with the image names another identity). Until then /run/cohort/steps/NAME says what is the
// matter, join waits for it and refuses the node when it does not get better.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace cohort {

struct OnceOptions {
    std::string name;                  // letters, digits, '-', '_' and '.'
    std::vector<std::string> command;  // argv; no shell
    int tries = 3;
    std::chrono::milliseconds pause = std::chrono::seconds(10);
    std::string state_dir = "/var/lib/cohort/once";
    std::string steps_dir = "/run/cohort/steps";
};

// 0: done, now or earlier on this disk; 1: the last try failed; 2: usage; 75: it runs already.
int node_once(const OnceOptions& options);

// The sentence of a step that has not ended well in this boot; empty: there is none.
std::string unfinished_step(const std::string& steps_dir = OnceOptions{}.steps_dir);

}  // namespace cohort
