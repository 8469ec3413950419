// rt/rlimit.cc -- RLIMIT_NPROC: the process says that it needs no more processes, and means threads too.
//
// What it is
//   Programs that have started their threads forbid themselves any more (haproxy does). Ms are started when
//   they are needed, and that may be later: with the threads of all Ms blocked in the kernel nobody would
//   run the others. So one M for each thread that exists, and one for each P, is there before the limit is,
//   and some more for those that are between a thread and their rest.
//
// Rejected
//   Keeping the limit from the kernel: it is a promise that the program relies on.
#include "rt/rlimit.h"

#include "core/boot.h"
#include "core/m_start.h"
#include "os/clock.h"
#include "rt/self.h"

namespace gmpt::rt {

namespace { constexpr u32 kBetween = 4; }

void before_nproc_limit(const struct rlimit* next) {
  G* g = self();
  if (!next || !g || !core::awake()) return;
  struct rlimit now;
  if (os::sys(__NR_prlimit64, 0, RLIMIT_NPROC, 0, &now) < 0 || next->rlim_cur >= now.rlim_cur) return;
  Rt rt(g);
  u32 want = core::sched.n_gs.load_acquire() + 2 * core::sched.n_procs + kBetween;
  while (core::sched.n_ms.load_acquire() < want && core::spare_m()) {}
  for (u64 limit = os::now_ns() + 100 * kMs; core::spares_coming() && os::now_ns() < limit;) os::sys(__NR_sched_yield);
}

}  // namespace gmpt::rt
