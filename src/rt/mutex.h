// rt/mutex.h -- mutexes in glibc's layout: lock word 0 free, 1 held, 2 held and waited for.
//
// Results are POSIX error numbers. deadline: monotonic nanoseconds or kNever.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

int mutex_lock(pthread_mutex_t* m, u64 deadline = kNever);
int mutex_trylock(pthread_mutex_t* m);
int mutex_unlock(pthread_mutex_t* m);
bool mutex_is_ours(const pthread_mutex_t* m);  // process-private, not robust and not protecting; others keep the kernel's protocol

void mutex_init_fix(pthread_mutex_t* m, const pthread_mutexattr_t* a);  // after libc's init

// For condition variables: full release of a mutex held by the caller, and taking it back without error
// paths (a recursive count is restored).
int mutex_release_inside(pthread_mutex_t* m, u32* count, Rt& rt);  // the caller is inside the runtime
void mutex_cond_retake(pthread_mutex_t* m, u32 count);

}  // namespace gmpt::rt
