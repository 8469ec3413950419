// rt/key.cc -- which keys have destructors, and running them when a G ends.
//
// What it is
//   pthread_getspecific works on the control block and needs nothing from us. glibc runs destructors in
//   code that only its own threads reach, so the destructor of each key is remembered here. The real
//   key is made with the real destructor, for threads that are not Gs.
//
// Invariants
//   An entry is written before the key is returned, and cleared before the key is deleted.
#include "rt/key.h"

#include <limits.h>

namespace gmpt::rt {

namespace {
Atomic<void (*)(void*)> destructors[PTHREAD_KEYS_MAX];
Atomic<u32> used[PTHREAD_KEYS_MAX];
Atomic<u32> high;  // one above the highest key ever made

void raise_high(u32 n) {
  u32 h = high.load_acquire();
  while (h < n && !high.cas_acq_rel(h, n)) { }
}
}  // namespace

int key_create(pthread_key_t* key, void (*destructor)(void*)) {
  pthread_key_t k;
  int e = os::real().pthread_key_create(&k, destructor);
  if (e) return e;
  destructors[k].store_release(destructor);
  used[k].store_release(1);
  raise_high(k + 1);
  *key = k;
  return 0;
}

int key_delete(pthread_key_t key) {
  if (key < PTHREAD_KEYS_MAX) {
    used[key].store_release(0);
    destructors[key].store_release(nullptr);
  }
  return os::real().pthread_key_delete(key);
}

// POSIX: rounds while any value is left, at most PTHREAD_DESTRUCTOR_ITERATIONS; each value is cleared before
// its destructor is called. Values of keys without destructor are cleared too: the block is recycled.
void run_key_destructors() {
  u32 n = high.load_acquire();
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
    bool any = false;
    for (u32 k = 0; k < n; k++) {
      if (!used[k].load_acquire()) continue;
      void (*d)(void*) = destructors[k].load_acquire();
      void* v = pthread_getspecific(k);
      if (!v) continue;
      if (!d) continue;
      pthread_setspecific(k, nullptr);
      d(v);
      any = true;
    }
    if (!any) break;
  }
  for (u32 k = 0; k < n; k++)
    if (used[k].load_acquire() && pthread_getspecific(k)) pthread_setspecific(k, nullptr);
}

}  // namespace gmpt::rt
