// rt/futex.h -- the futex system call for Gs.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

// Arguments and result as of the system call: -errno on failure. `timeout` is val2 for the calls that have one.
i64 futex(u32* addr, int op, u32 val, const struct timespec* timeout, u32* addr2, u32 val3);

// Memory that other processes may see is about to be mapped, or was: what is known of pages is void. Any thread.
void memory_shared();

}  // namespace gmpt::rt
