// rt/rawcall.cc -- fork, signals and thread exit by number.
//
// Invariants
//   A child of raw_fork runs nothing of ours before it has forgotten the parent's Ms and Ps: signals are
//   blocked from before the call until then.
//
// Not here
//   clone with CLONE_VM: a kernel thread of the program's own making is passed on as it is.
#include "rt/rawcall.h"

#include "core/boot.h"
#include "core/netpoll.h"
#include "core/signal.h"
#include "rt/fork.h"
#include "rt/offer.h"
#include "rt/kstate.h"
#include "rt/once.h"
#include "rt/policy.h"
#include "rt/thread.h"
#include "rt/usermem.h"

namespace gmpt::rt {

i64 raw_fork(long nr, long a, long b, long c, long d, long e) {
  G* g = self();
  if (!g) return os::sys(nr, a, b, c, d, e);
  core::fds_shared();
  TrueFs fs;
  u64 all = ~os::sig_bit(os::kSigSegv), old;
  os::sigprocmask(0, &all, &old);
  i64 r = os::sys(nr, a, b, c, d, e);
  if (r == 0) {
    child_begins(g);
    return 0;
  }
  os::sigprocmask(2, &old, nullptr);
  core::fds_shared();
  return r;
}

i64 raw_sigaction(int sig, const void* act, void* old, size_t set_size) {
  if (!core::signals_ours() || sig == os::kSigCancel || sig == os::kSigSetxid) return os::sys(__NR_rt_sigaction, sig, act, old, set_size);
  if (set_size != 8) return -EINVAL;
  auto* in = static_cast<const os::KSigaction*>(act);
  auto* out = static_cast<os::KSigaction*>(old);
  if ((in && !readable(in, sizeof *in)) || (out && !writable(out, sizeof *out))) return -EFAULT;
  core::SigAction now, was;
  if (in) now = core::SigAction{in->handler, in->flags, in->mask};
  i64 r = core::set_action(sig, in ? &now : nullptr, out ? &was : nullptr);
  if (r == 0 && out) *out = os::KSigaction{was.handler, was.flags, nullptr, was.mask};
  return r;
}

i64 raw_sigmask(int how, const u64* set, u64* old, size_t set_size) {
  if (set_size != 8) return -EINVAL;
  if ((set && !readable(set, 8)) || (old && !writable(old, 8))) return -EFAULT;
  if (set && (how < 0 || how > 2)) return -EINVAL;
  u64 s = set ? *set & ~(os::sig_bit(os::kSigCancel) | os::sig_bit(os::kSigSetxid)) : 0;
  u64 was = core::change_mask(self(), how, set ? &s : nullptr);
  if (old) *old = was;
  return 0;
}

i64 raw_queue_signal(pid_t pid, pid_t tid, int sig, const void* info) {
  if (core::awake() && pid == os::getpid() && info && sig > 0 && sig <= 64)
    for (G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next)
      if (g->tid == tid && g->state.load_acquire() != core::GState::kDead) {
        if (!readable(info, sizeof(os::SigInfo))) return -EFAULT;
        os::SigInfo si = *static_cast<const os::SigInfo*>(info);
        si.signo = sig;
        Rt rt(self());
        return core::send_to_g(g, si);
      }
  return os::sys(__NR_rt_tgsigqueueinfo, pid, tid, sig, info);
}

void raw_exit() { thread_exit(nullptr); }

}  // namespace gmpt::rt
