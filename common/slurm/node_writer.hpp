// SPDX-License-Identifier: GPL-2.0-or-later
//
// The one writer of node states, reasons, Extra and features.
//
// Out of service is FAIL, then DOWN in a second call (Slurm refuses both in one): the only state
// that survives ResumeTimeout, a new boot with ReturnToService=2, restart and reconfigure. Every
// reason begins with "cohort: "; a drain or FAIL without it is never cleared. Node Comment is never
// touched. Each function is one or a few RPCs (Slurm's MessageTimeout each), thread-safe, and needs
// SlurmUser, root or an operator. Writes are read back.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cluster.hpp"
#include "common/result.hpp"

namespace cohort::slurm {

// Takes NODE out of service with "cohort: REASON" and keeps the reason in its Extra too. An
// administrator's own drain or FAIL is kept with its reason; then only Extra is written.
Status take_out(const std::string& node, std::string_view reason);

// Gives back a node that we took out, or drained: RESUME, then the reason in Extra is cleared.
// Does nothing (and says so by Errc::denied) when the present reason is not ours, and while a hold
// is on the node.
Status give_back(const std::string& node);

// Gives a node that Slurm powers back to power saving, to be woken again: what is powering up is
// powered down by force (its jobs are requeued), what was given up at ResumeTimeout is resumed. A
// node that an administrator, or we, keep out stays as it is.
Status back_to_power_saving(const std::string& node);

// Planned waiting: DRAIN with "cohort: REASON". Kills the job of a CONFIGURING node: never use it
// on one. An administrator's own drain is kept; slurmd's own "Prolog error" gets our reason.
Status drain(const std::string& node, std::string_view reason);

// The reason alone ("cohort: REASON", or none when empty); the state stays. Never of a node whose
// drain or FAIL is not ours.
Status write_reason(const std::string& node, std::string_view reason);

// A drain that only release() lifts: it stands in Extra too, so that a boot, a rebuild or a new
// reason do not end it. BY says whose it is ("barrier 3"). A node that is out already stays as it
// is.
Status hold(const std::string& node, const std::string& by);

// Takes the hold away and gives the node back. Errc::denied: an administrator has drained it since.
Status release(const std::string& node);

// Re-read, change, write, read back: EDIT gets the record as it is now and changes it. When the
// record changes, Extra and both feature lists go out in ONE update. Retried when somebody else
// wrote in between. Refuses (Errc::invalid) an Extra that is not ours.
Status edit_record(const std::string& node, const std::function<void(NodeRecord&)>& edit);

// Deletes the record of a dynamic node. Errc::busy: it has jobs or is in a reservation (Slurm
// refuses that itself); Errc::denied: it is no dynamic node (22.05 would delete one of slurm.conf
// too).
Status delete_node(const std::string& node);

// Both feature lists of NODES, which must have the same FEATURES.
Status write_features(const std::vector<std::string>& nodes, const std::string& features);

}  // namespace cohort::slurm
