// core/preempt.h -- preemption by signal.
//
// What it is
//   sysmon asks (preempt_m), the signal lands on the M's signal stack, and on_preempt() either sends the
//   interrupted G through gmpt_preempt_landing or leaves it alone.
//
// Invariants
//   R1  A G is moved only if its M is outside the runtime and the PC is in the program or its libraries:
//       not in libc, ld.so, the vDSO (locks and half-done state we do not know) nor in this library.
//   R2  At most one signal is outstanding per M.
//
// Lineage   Go runtime preempt.go; the red zone and the vector state are C's additions.
#pragma once
#include "core/sched.h"

namespace gmpt::core {

void preempt_boot();
bool preempt_reserve();               // room for one more G; false: no memory
bool on_preempt(M* m, os::UContext* uc);   // true: the G is on its way into the runtime
void preempt_forget(G* g);            // g does not go back to where it was preempted
void yield_preempted();               // loop.cc: to the global queue's tail

}  // namespace gmpt::core
