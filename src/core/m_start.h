// core/m_start.h -- making Ms.
#pragma once
#include "core/sched.h"

namespace gmpt::core {

bool new_m(P* p, bool spinning);     // a kernel thread that begins with p; false: none to be had
M* adopt_m0();                       // the calling kernel thread becomes an M (boot only)
void run_pinned_elsewhere(G* g);     // on g0: g may run on its own M only; the caller gets another P later
void m_reset();                      // forked child
void stop_pinned(M* m);              // on g0: m waits until its G is to run

}  // namespace gmpt::core
