// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/barrier/barrier.hpp"

namespace cohort {

BarrierStart decide_start(Sameness revision, Openness cohort) {
    if (revision == Sameness::unknown || cohort == Openness::unknown) return BarrierStart::refuse;
    if (revision == Sameness::changed) return BarrierStart::begin;
    return cohort == Openness::open ? BarrierStart::nothing : BarrierStart::recover;
}

}  // namespace cohort
