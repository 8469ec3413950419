// os/futex.cc -- the slow half of the runtime's lock.
#include "os/futex.h"

// Weak: a program that links single rooms may have no such lock.
extern gmpt::os::Lock __start_gmpt_locks[] __attribute__((weak, visibility("hidden")));
extern gmpt::os::Lock __stop_gmpt_locks[] __attribute__((weak, visibility("hidden")));

namespace gmpt::os {

void reset_global_locks() {
  for (Lock* l = __start_gmpt_locks; l < __stop_gmpt_locks; l++) l->reset();
}

GMPT_NOINLINE void Lock::lock_slow() {
  for (int i = 0; i < 4; i++) {  // a holder is gone in under a microsecond unless the kernel took its CPU
    arch::spin(30);
    u32 z = 0;
    if (w_.load_relaxed() == 0 && w_.cas_acquire(z, 1)) return;
  }
  while (w_.exchange_acq_rel(2) != 0) futex_wait(&w_, 2);  // [lock]
}

}  // namespace gmpt::os
