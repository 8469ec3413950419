// core/m_start.h -- making Ms.
#pragma once
#include "core/sched.h"

namespace gmpt::core {

constexpr u64 kMCloneFlags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x80000 | 0x100000;

bool new_m(P* p, bool spinning);     // a kernel thread that begins with p; false: none to be had
bool spare_m();                      // one that goes to rest at once, for a time in which none can be started
u32 spares_coming();                 // asked for, and not there yet
void spare_made(M* m, bool there);   // its kernel thread was started, or could not be
M* make_m();                         // memory and stacks; n_ms is the caller's to count
bool clone_m(M* m);                  // its kernel thread
void m_begins(M* m);                 // there, first of all
void drop_m(M* m);                   // it has none (any more); reused once m->gone is 1
void no_m_for(M* m);                 // m cannot be started: as new_m's false, later
M* m_of_caller();                     // null: not an M. A kernel thread of libc's making inherits the GS base of one
M* adopt_m0();                       // the calling kernel thread becomes an M (boot only)
void run_pinned_elsewhere(G* g);     // on g0: g may run on its own M only; the caller gets another P later
void m_reset();                      // forked child
void stop_pinned(M* m);              // on g0: m waits until its G is to run

}  // namespace gmpt::core
