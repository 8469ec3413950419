// core/sys.h -- the border between program code and the runtime.
//
// What it is
//   enter() claims this M's P, leave() gives the claim up. In between (in_rt = 1) signals and preemption
//   wait and the G does not move unless it parks. Program code outside is always stealable.
//   sys_begin()/sys_end() only announce a system call, so that sysmon may take the P after 20 µs without
//   asking /proc; sys_end() looks whether that happened.
//
// Who may call it
//   A G on its own stack, not nested. Kernel threads that are not Gs use Rt with a null G.
//
// Invariants
//   Between two calls of enter() a G may find itself on another M: never keep an M in a variable over
//   leave(), park() or any program code.
//
// Rejected
//   A plain store made safe by membarrier() in the thief: saves 5 ns an entry here and costs every steal a
//   broadcast interrupt; sysmon would hesitate to take a P back.
#pragma once
#include "core/p.h"
#include "core/sched.h"

namespace gmpt::core {

void enter_slow();   // sys.cc: the P is gone
void leave_slow();   // sys.cc: something pends
void sys_end_slow();

inline void enter() {
  arch::gs_set_in_rt(1);
  M* m = mm();
  P* p = m->p;
  u64 want = reinterpret_cast<u64>(m) | kUserTag;
  if (GMPT_UNLIKELY(!p || !p->word.cas_acquire(want, reinterpret_cast<u64>(m)))) enter_slow();
}

inline void leave() {
  M* m = mm();
  m->p->word.store_release(reinterpret_cast<u64>(m) | kUserTag);
  arch::gs_set_in_rt(0);
  if (GMPT_UNLIKELY(arch::gs_pending())) leave_slow();
}

inline void sys_begin() { arch::gs_begin_sys(); }

inline void sys_end() {
  arch::gs_set_in_sys(0);
  M* m = mm();
  P* p = m->p;
  if (GMPT_UNLIKELY(!p || p->word.load_relaxed() != (reinterpret_cast<u64>(m) | kUserTag))) sys_end_slow();
}

// The calling G stays on its M until unpin(); nests. While it waits, the M waits too.
void pin(G* g);
void unpin(G* g);

// The call will block for long: the P goes to others before it starts.
void sys_begin_blocking();

// A visit of the runtime by a G or, with g == null, by a kernel thread that is none of ours.
class Rt {
 public:
  explicit Rt(G* g) : g_(g) {
    if (g) enter();
    else os::sigprocmask(0 /* SIG_BLOCK */, &all_, &mask_);
  }
  ~Rt() {
    if (g_) leave();
    else os::sigprocmask(2 /* SIG_SETMASK */, &mask_, nullptr);
  }
  Rt(const Rt&) = delete;
  void ready(GList* l) { ready_list(l, g_ != nullptr); }
  G* g() const { return g_; }
  const u64* mask() const { return &mask_; }  // the kernel thread's own, in force while it waits

 private:
  G* g_;
  u64 mask_ = 0;
  static constexpr u64 all_ = ~u64{0};
};

// How a thread waits, G or not. `local` serves kernel threads; a G uses its own.
struct Wait {
  explicit Wait(Rt& rt) : Wait(rt.g()) { mask_ = rt.mask(); }
  explicit Wait(G* g) : w(g ? &g->waiter : &local), g_(g) {
    w->g = g;
    seq = w->arm();
    if (g) g->wait_seq = seq;
  }
  Reason block(u64 deadline, Why why, const void* what) {
    Reason r = g_ ? park(deadline, why, what) : park_kernel(w, seq, deadline, mask_);
    w->finish();
    return r;
  }
  void cancel() { w->finish(); }  // nobody can have claimed, or the claim does not matter
  Waiter* w;
  u32 seq;

 private:
  G* g_;
  const u64* mask_ = nullptr;
  Waiter local;
};

}  // namespace gmpt::core
