// rt/rlimit.cc -- RLIMIT_NPROC: the process says that it needs no more processes, and means threads too.
//
// What it is
//   Programs that have started their threads forbid themselves any more (haproxy does). Ms are started when
//   they are needed, and that may be later: with the threads of all Ms blocked in the kernel nobody would
//   run the others. So one M for each thread that exists, and one for each P, is there before the limit is.
//
// Rejected
//   Keeping the limit from the kernel: it is a promise that the program relies on.
#include "rt/rlimit.h"

#include "core/boot.h"
#include "core/m_start.h"
#include "rt/self.h"

namespace gmpt::rt {

void before_nproc_limit(const struct rlimit* next) {
  G* g = self();
  if (!next || !g || !core::awake()) return;
  struct rlimit now;
  if (os::sys(__NR_prlimit64, 0, RLIMIT_NPROC, 0, &now) < 0 || next->rlim_cur >= now.rlim_cur) return;
  Rt rt(g);
  u32 want = static_cast<u32>(core::sched.n_gs.load_acquire()) + core::sched.n_procs;
  while (core::sched.n_ms.load_acquire() < want && core::spare_m()) {}
}

}  // namespace gmpt::rt
