// core/park.h -- ending a claimed wait: shared by everything that wakes.
#pragma once
#include "core/wait.h"
#include "core/g.h"

namespace gmpt::core {

// After w->claim(): a parked G goes on *l (to be readied outside the caller's lock), a kernel thread is
// woken at once. True if the claim was won. For a kernel thread the queue's lock keeps w alive.
bool wake_claimed(Waiter* w, Waiter::Claim c, GList* l);

}  // namespace gmpt::core
