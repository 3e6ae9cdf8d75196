// SPDX-License-Identifier: GPL-2.0-or-later
//
// What Slurm's processes export and plugins ask for, as far as a test needs it: an allocator that
// knows its own memory, and calls that find no controller until a test says so.
#pragma once

#include <cstddef>
#include <string>

namespace host {

void* allocate(std::size_t bytes);
bool owns(const void* memory);
// Aborts the test for memory that did not come from allocate(): Slurm would corrupt its heap.
void release(void* memory);
std::size_t outstanding();
// From now on: n1 and n2 of one revision, n3 and n4 of another, without jobs and reservations; the
// plugin's files lie beside STATE_SAVE_LOCATION. Empty: no controller again.
void answer_as_a_cluster(const std::string& state_save_location);

}  // namespace host
