// SPDX-License-Identifier: GPL-2.0-or-later
//
// /run/cohort: what the parts on one node tell each other, gone with the boot.
//
//   published   {"revision","request","boot_id","stamp"}: what join published of this node
//   refused     one line: why the launch gate last refused a job; report puts it on the node
//   jobs/<id>   root-owned, empty: a rebuild job, whose tasks may run without a valid profile
//
// All files belong to root, 0644, replaced atomically. Readers follow no link, and refuse a file
// that somebody else owns or could have written. join writes published; the SPANK plugin writes
// the others; report and join clear refused. Safe to use from any process: no shared state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "common/result.hpp"

namespace cohort {

// Where, and to whom the files have to belong (a test says its own).
struct RuntimeDirectory {
    std::string path = "/run/cohort";
    uid_t owner = 0;
};

struct Published {
    std::string revision;  // "rev_<16hex>", as in the node's Extra and features
    std::string request;   // nova's request id of the attempt that made the node; may be empty
    std::string boot_id;   // the boot it was published in
    std::string stamp;     // the image's own stamp; empty: it carries none
    bool operator==(const Published&) const = default;
};

// Errc::not_found: this boot has published nothing. Errc::invalid: the file is not one of ours.
Result<Published> read_published(const RuntimeDirectory& where = {});
// Refuses a revision that is not a revision name and an empty boot id.
Status write_published(const Published& published, const RuntimeDirectory& where = {});
// Nothing is published any more (leave, a failed check). Absent is fine.
Status remove_published(const RuntimeDirectory& where = {});

// The kernel's id of this boot.
Result<std::string> current_boot_id();

// SENTENCE is made one line of at most 400 bytes. The first refusal stays until it is cleared: the
// later ones of the same fault must not hide it.
Status write_refused(std::string_view sentence, const RuntimeDirectory& where = {});
Result<std::string> read_refused(const RuntimeDirectory& where = {});  // Errc::not_found: none
Status clear_refused(const RuntimeDirectory& where = {});

// Rebuild jobs on this node. The mark is left by the job's prolog and removed by its epilog.
Status mark_rebuild_job(std::uint32_t job_id, const RuntimeDirectory& where = {});
bool is_rebuild_job(std::uint32_t job_id, const RuntimeDirectory& where = {});
void unmark_rebuild_job(std::uint32_t job_id, const RuntimeDirectory& where = {});

}  // namespace cohort
