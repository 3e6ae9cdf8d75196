// SPDX-License-Identifier: GPL-2.0-or-later
//
// What Slurm's processes export and plugins ask for, as far as a test needs it: an allocator that
// knows its own memory, and calls that find no controller until a test says so.
#pragma once

#include <cstddef>

namespace host {

void* allocate(std::size_t bytes);
bool owns(const void* memory);
// Aborts the test for memory that did not come from allocate(): Slurm would corrupt its heap.
void release(void* memory);
std::size_t outstanding();
// From now on: n1 and n2 of one revision, n3 and n4 of another, without jobs and reservations.
void answer_as_a_cluster(bool does);

}  // namespace host
