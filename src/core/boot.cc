// core/boot.cc -- first and last things.
//
// Invariants
//   B1  Until boot() no kernel state of the process is touched: no threads, no FS, no handlers.
//   B2  The initial thread's rseq area, robust list and clear_child_tid belong to the kernel thread, which
//       from now on runs many Gs; they are taken away from the main thread's block.
#include "core/boot.h"

#include "arch/context.h"
#include "base/mem.h"
#include "base/options.h"
#include "core/cputime.h"
#include "core/m_start.h"
#include "core/netpoll.h"
#include "core/ownm.h"
#include "core/realclock.h"
#include "core/preempt.h"
#include "core/privatep.h"
#include "core/signal.h"
#include "core/spawn.h"
#include "core/waitq.h"
#include "os/clock.h"
#include "os/cpu.h"
#include "os/fs.h"
#include "os/libc.h"
#include "os/tcb.h"

namespace gmpt::core {

namespace {

Atomic<u32> is_awake;
i32 m0_tid_word;
struct RobustHead { void* list; i64 off; void* pending; } m0_robust{&m0_robust, -32, nullptr};
constexpr u32 kRseqSig = 0x53053053;

bool make_ps() {
  u32 n = options.procs ? static_cast<u32>(options.procs) : os::default_procs();
  size_t each = align_up(sizeof(P), size_t{128});
  u8* mem = static_cast<u8*>(os::map(n * each));
  if (!mem) return false;
  sched.n_procs = n;
  for (u32 i = n; i-- > 0;) {
    P* p = reinterpret_cast<P*>(mem + i * each);  // all zero is a valid P but for the empty timer heap
    p->timers.next.store_relaxed(kNever);
    p->id = i;
    sched.ps[i] = p;
    p_idle_put_locked(p);
  }
  return true;
}

void detach_kernel_state(G* g) {
  i64 rseq = os::libc_rseq_offset();
  uptr area = g->fs + static_cast<uptr>(rseq);
  if (rseq && static_cast<i32>(*reinterpret_cast<u32*>(area + 4)) >= 0) {
    os::sys(334 /* rseq */, area, 32, 1 /* UNREGISTER */, kRseqSig);
    *reinterpret_cast<i32*>(area + 4) = -1;
  }
  os::sys(__NR_set_tid_address, &m0_tid_word);
  os::sys(__NR_set_robust_list, &m0_robust, sizeof m0_robust);
}

}  // namespace

bool awake() { return is_awake.load_acquire() != 0; }

const char* boot(i64 g_word, G** main_g) {
  *main_g = nullptr;
  os::clock_init();
  sched.pid = os::getpid();
  sched.boot_ns = os::now_ns();
  sched.last_poll.store_relaxed(1);  // nobody is blocked in the netpoller, also before there is one
  cpu_tsc0 = arch::rdtsc();
  if (const char* missing = os::tcb_init(g_word)) return missing;
  if (!os::fs_init(options.fs)) return "a way to set the FS base";
  if (!netpoll_boot()) return "epoll";
  preempt_boot();
  if (!make_ps()) return "memory";
  drop_parents_stacks();
  if (os::gettid() == sched.pid) {
    M* m = adopt_m0();
    G* g = g_adopt_main();
    if (!m || !g) return "memory";
    detach_kernel_state(g);
    g->stack_hi = ~uptr{0};
    os::sigprocmask(2, nullptr, &g->sigmask);
    os::sigaltstack(nullptr, &g->altstack);
    if (g->altstack.flags & 2) g->altstack.size = 0;
    m->kmask = kernel_mask(g->sigmask);
    m->curg = g;
    g->m = m;
    m->cur_fs = g->fs;
    cpu_in(m, g);
    os::sigaltstack(&m->sigstack, nullptr);
    P* p = p_idle_get_locked();
    m->p = p;
    p->word.store_release(reinterpret_cast<u64>(m) | kUserTag);
    *main_g = g;
  }
  return nullptr;
}

void booted(G* main_g) {
  signals_boot(main_g);
  if (main_g) {
    mask_counted(0, main_g->sigmask);
    M* m = main_g->m;
    os::fs_take(main_g->fs);
    os::set_mask(m->kmask);
    m->in_rt = 0;
  }
  is_awake.store_release(1);
  start_sysmon();
}

void before_fork(G* g) {
  // Signals are blocked by libc inside fork; a fault on the trap would then kill. The claim of the P is
  // given up as for any long call: fork of a big process takes milliseconds.
  os::fs_give(g->fs);
}

void after_fork_parent(G* g) { os::fs_take(g->fs); }

void after_fork_child(G* g) {
  is_awake.store_release(0);
  os::fs_give(g->fs);  // also after a fork that libc made by itself, without before_fork()
  signals_child(g);
  os::gs_set(0);
  fds_shared();
  netpoll_child();
  waitq_reset();
  spawn_reset();
  m_reset();
  private_ps_child();
  template_child();
  real_clock_child();
  os::reset_global_locks();
  cpu_exact.store_relaxed(0);
  memset(static_cast<void*>(&sched), 0, sizeof sched);
}

}  // namespace gmpt::core
