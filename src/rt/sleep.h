// rt/sleep.h -- sleeping on a timer of the P. Results are POSIX error numbers.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

// clock_nanosleep(2) for a G. rem may be null; it is written only for relative sleeps that EINTR ended.
int sleep_until(clockid_t clock, int flags, const struct timespec* t, struct timespec* rem);

}  // namespace gmpt::rt
