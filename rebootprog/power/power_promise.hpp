// SPDX-License-Identifier: GPL-2.0-or-later
//
// The label of a node without a machine: what its next one will publish, as the controller sees it.
//
// It lets the scheduler choose the node; the launch gate judges by what runs. A promise is written
// when a machine is removed, by `scohort adopt`, and again by `scohort advance` whenever the node
// is to run another image while it sleeps. A record with a promise has no root and no wish.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "rebootprog/cloud/backends.hpp"
#include "rebootprog/journal/journal.hpp"

namespace cohort {

// Powered down or about to be, and nothing runs there that has published its label.
bool is_asleep(const Node& node);
// It sleeps, and has such a label.
bool has_promise(const Node& node);

// By the image that NODE is to run now; IMAGE asks its back end.
Result<std::string> promised_label(
    const Journal& journal, const Settings& settings, const std::string& node,
    const std::function<Result<ImageState>(const std::string&)>& image);

// For many nodes: each image is asked for once. JOURNAL and BACKENDS must outlive it.
class Promises {
  public:
    Promises(const Journal& journal, Backends& backends) : journal_(journal), backends_(backends) {}
    Result<std::string> of(const std::string& node);

  private:
    const Journal& journal_;
    Backends& backends_;
    std::map<std::pair<Backend*, std::string>, Result<ImageState>> images_;
};

}  // namespace cohort
