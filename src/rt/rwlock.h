// rt/rwlock.h -- process-private read-write locks. Results are POSIX error numbers.
#pragma once
#include "rt/waiting.h"

namespace gmpt::rt {

inline bool rwlock_is_ours(const pthread_rwlock_t* rw) { return rw->__data.__shared == 0; }

int rwlock_rdlock(pthread_rwlock_t* rw, Limit limit = {});
int rwlock_wrlock(pthread_rwlock_t* rw, Limit limit = {});
int rwlock_tryrdlock(pthread_rwlock_t* rw);
int rwlock_trywrlock(pthread_rwlock_t* rw);
int rwlock_unlock(pthread_rwlock_t* rw);

}  // namespace gmpt::rt
