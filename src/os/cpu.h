// os/cpu.h -- how many Ps by default: CPUs by affinity, capped by the cgroup's CPU quota; XSAVE facts.
#pragma once
#include "base/base.h"

namespace gmpt::os {

u32 default_procs();       // at least 1; a quota never lowers it below 2 unless affinity does
struct Xsave { u64 mask; u32 size; };
Xsave xsave_info();        // enabled features and the size of a standard-format area; size 0 = no XSAVE

}  // namespace gmpt::os
