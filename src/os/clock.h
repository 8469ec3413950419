// os/clock.h -- the time, through the vDSO found in the auxiliary vector, without libc.
#pragma once
#include "os/syscall.h"

namespace gmpt::os {

void clock_init();              // finds the vDSO; without one the system call is used
u64 now_ns();                   // CLOCK_MONOTONIC
u64 clock_ns(int clock);        // any clock, by the vDSO where it serves it; 0 on a bad clock
struct Range { uptr lo, hi; };
Range vdso_text();              // for core/preempt: never preempt inside

}  // namespace gmpt::os
