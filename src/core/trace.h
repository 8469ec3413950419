// core/trace.h -- what the scheduler tells people: the schedtrace line, the dump of all Gs, the counters.
#pragma once
#include "core/sched.h"

namespace gmpt::core {

void trace_line(u64 now);   // one line to descriptor 2, see gmpthreads(7)
void dump_gs();             // every G: id, tid, state, what it waits for and since when
Stats sum_stats();
void print_stats();

}  // namespace gmpt::core
