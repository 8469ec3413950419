// rt/sleep.h -- sleeping on a timer of the P. Results are POSIX error numbers.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

// clock_nanosleep(2) for a G. rem may be null; it is written only for relative sleeps that EINTR ended.
int sleep_until(clockid_t clock, int flags, const struct timespec* t, struct timespec* rem);

// sched_yield(2) for a G: to other Gs, or, if none waits or the kernel decides about this one, to other kernel threads.
void give_turn();

}  // namespace gmpt::rt
