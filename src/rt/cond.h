// rt/cond.h -- condition variables. Results are POSIX error numbers.
#pragma once
#include "rt/mutex.h"

namespace gmpt::rt {

int cond_init(pthread_cond_t* c, const pthread_condattr_t* a);
int cond_destroy(pthread_cond_t* c);
// t == null: no timeout. clock < 0: the one chosen by the attribute.
int cond_wait(pthread_cond_t* c, pthread_mutex_t* m, const struct timespec* t, clockid_t clock);
int cond_signal(pthread_cond_t* c);
int cond_broadcast(pthread_cond_t* c);

// A handler left a wait for good: the stand-in leaves, too. unwound: just now, by cancellation or pthread_exit.
void cond_thread_ends(G* g, bool unwound);

}  // namespace gmpt::rt
