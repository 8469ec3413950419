// rt/rlimit.h -- limits of the process that reach the library's kernel threads.
#pragma once
#include <sys/resource.h>

namespace gmpt::rt {

// Before this process sets its limit on processes to `next`; null changes nothing.
void before_nproc_limit(const struct rlimit* next);

}  // namespace gmpt::rt
