// rt/barrier.h -- process-private barriers.
#pragma once
#include "rt/waiting.h"

namespace gmpt::rt {

bool barrier_is_ours(const pthread_barrier_t* b);
int barrier_wait(pthread_barrier_t* b);   // 0 or PTHREAD_BARRIER_SERIAL_THREAD
int barrier_destroy(pthread_barrier_t* b);

}  // namespace gmpt::rt
