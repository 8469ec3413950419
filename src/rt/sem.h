// rt/sem.h -- process-private semaphores. Results are POSIX error numbers.
#pragma once
#include <limits.h>

#include "rt/waiting.h"

namespace gmpt::rt {

constexpr u64 kSemWaiter = u64{1} << 32;

inline Atomic<u64>& sem_word(sem_t* s) { return as_atomic(reinterpret_cast<u64*>(s)); }
inline u32 sem_value(u64 d) { return static_cast<u32>(d); }
inline bool sem_is_ours(const sem_t* s) { return reinterpret_cast<const u32*>(s)[2] == 0; }

// Takes one, and `less` waiters off the count with it.
inline bool sem_take(sem_t* s, u64 less = 0) {
  u64 d = sem_word(s).load_relaxed();
  while (sem_value(d))
    if (GMPT_LIKELY(sem_word(s).cas_acquire(d, d - 1 - less))) return true;  // [sem]
  return false;
}

int sem_wait_slow(sem_t* s, Limit limit);
int sem_post_slow(sem_t* s);

// On a G.
inline int sem_wait(sem_t* s, Limit limit = {}) {
  if (GMPT_UNLIKELY(limit.bad())) return EINVAL;  // glibc looks even if the semaphore is free
  cancellation_point();                           // even if it does not wait
  return GMPT_LIKELY(sem_take(s)) ? 0 : sem_wait_slow(s, limit);
}

// On any thread.
inline int sem_post(sem_t* s) {
  u64 d = sem_word(s).load_relaxed();
  for (;;) {
    if (GMPT_UNLIKELY(d >= kSemWaiter)) return sem_post_slow(s);
    if (sem_value(d) == SEM_VALUE_MAX) return EOVERFLOW;
    if (GMPT_LIKELY(sem_word(s).cas_release(d, d + 1))) return 0;  // [sem]
  }
}

}  // namespace gmpt::rt
