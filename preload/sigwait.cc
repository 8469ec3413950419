// preload/sigwait.cc -- waiting for signals, and the jumps that restore a mask, libc names.
//
// What it is
//   A signal that all threads block pends in the kernel, because every M blocks it (core/signal.h); so sigwait
//   is the kernel's call with the P on offer. Signals queued here for a thread that waits there end its
//   wait by a kick, and it takes them from the queue, siginfo and all.
#include "base/mem.h"
#include "core/boot.h"
#include "core/signal.h"
#include "core/sigqueue.h"
#include "os/clock.h"
#include "preload/interpose.h"
#include "rt/thread.h"
#include "rt/usermem.h"

using namespace gmpt;

namespace {

u64 bits(const sigset_t* s) { u64 v; memcpy(&v, s, 8); return v; }

// The kernel's wait. A signal that came to this M for another thread is marked. Our own signal is blocked and waited for with the rest, so that a kick ("something was queued
// for you") that comes just before the wait is not lost.
i64 kernel_wait(u64 set, os::SigInfo* info, const struct timespec* t) {
  u64 urg = os::sig_bit(core::preempt_sig);
  set |= urg;
  core::sys_begin();
  core::M* m = core::mm();
  m->kmask |= urg;  // should a handler move this G meanwhile, execute() puts the mask right
  os::sigprocmask(0, &urg, nullptr);
  i64 r = os::sys(__NR_rt_sigtimedwait, &set, info, t, 8);
  m = core::mm();
  if (r > 0) core::mark_owner(m, info);
  m->kmask &= ~urg;
  m->preempt_sent.store_release(0);
  os::sigprocmask(1, &urg, nullptr);
  core::sys_end();
  return r;
}

// A signal that is another thread's came here because the kernel knows only Ms and the process (core/sigsend.cc).
bool another_s(core::G* g, os::SigInfo* si) {
  if (GMPT_LIKELY(si->code != SI_TIMER && !si->pad)) return false;
  core::Rt visit(g);
  bool passed = core::pass_on(g, *si);
  si->pad = 0;
  return passed;
}

// libc tells who sent to the thread as who sent to the process.
int took(const os::SigInfo& si, siginfo_t* info) {
  if (!info) return si.signo;
  memcpy(info, &si, sizeof si);
  if (info->si_code == SI_TKILL) info->si_code = SI_USER;
  return si.signo;
}

int timed(const sigset_t* set, siginfo_t* info, const struct timespec* t) {
  core::G* g = rt::self();
  if (!rt::readable(set, 8) || (t && !rt::readable(t, sizeof *t)) || (info && !rt::writable(info, sizeof *info))) return static_cast<int>(rt::ret(-EFAULT));
  if (t && (t->tv_nsec < 0 || t->tv_nsec >= 1000000000 || t->tv_sec < 0)) return static_cast<int>(rt::ret(-EINVAL));
  u64 deadline = t ? rt::deadline_rel(t) : kNever;
  rt::cancellation_point();
  for (;;) {
    os::SigInfo si;
    if (core::sigwait_begin(g, bits(set), &si)) {
      if (another_s(g, &si)) continue;
      return took(si, info);
    }
    // A request that came before acts here; one that comes later ends the kernel's wait.
    if (core::cancel_due(g)) g->sigwait.store_release(0);
    rt::cancellation_point();
    u64 now = os::now_ns();
    struct timespec left = {0, 0};
    if (deadline > now) {
      left.tv_sec = static_cast<time_t>((deadline - now) / kSec);
      left.tv_nsec = static_cast<long>((deadline - now) % kSec);
    }
    u32 before = g->handled.load_relaxed();
    i64 r = kernel_wait(bits(set), &si, t ? &left : nullptr);
    core::sigwait_end(g, bits(set));
    if (r > 0 && another_s(g, &si)) continue;
    bool kick = r == core::preempt_sig && (!sigismember(set, static_cast<int>(r)) || (si.code == SI_TKILL && si.kill.pid == core::sched.pid));
    if (r > 0 && !kick) took(si, info);
    rt::cancellation_point();
    if (kick) continue;  // look at the queue again
    if (r != -EINTR || g->handled.load_relaxed() != before) return static_cast<int>(rt::ret(r));
  }
}

// Until a handler ran.
int wait_for_handler(core::G* g) {
  u32 before = g->handled.load_relaxed();
  for (;;) {
    rt::cancellation_point();
    {
      core::Rt visit(g);
      if (g->handled.load_relaxed() == before) {
        core::Wait w(g);
        w.block(kNever, core::Why::kPause, nullptr);
      }
    }
    if (g->handled.load_relaxed() != before) return static_cast<int>(rt::ret(-EINTR));
  }
}

void jump_mask(struct __jmp_buf_tag* env) {
  rt::tls_syscall_frame = 0;
  if (!env->__mask_was_saved || !rt::on() || !rt::self()) return;
  // sigsetjmp saved the kernel's mask of an M: the thread's, but for what we never block.
  u64 m = bits(&env->__saved_mask);
  core::change_mask(rt::self(), 2, &m);
  m = core::kernel_mask(m);
  memcpy(&env->__saved_mask, &m, 8);
}

}  // namespace

GMPT_API int sigtimedwait(const sigset_t* set, siginfo_t* info, const struct timespec* t) {
  GMPT_NOT_A_G(sigtimedwait, set, info, t);
  return timed(set, info, t);
}
GMPT_API int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  GMPT_NOT_A_G(sigwaitinfo, set, info);
  return timed(set, info, nullptr);
}
GMPT_API int sigwait(const sigset_t* set, int* sig) {
  GMPT_NOT_A_G(sigwait, set, sig);
  int r;
  do r = timed(set, nullptr, nullptr); while (r < 0 && errno == EINTR);  // POSIX: not for a handler that ran
  if (r < 0) return errno;
  *sig = r;
  return 0;
}

GMPT_API int sigpending(sigset_t* set) noexcept {
  GMPT_NOT_A_G(sigpending, set);
  int r = os::real().sigpending(set);
  if (r == 0) {
    u64 m = (bits(set) | core::queued_signals(rt::self())) & rt::self()->sigmask;
    memcpy(set, &m, 8);
  }
  return r;
}

GMPT_API int sigsuspend(const sigset_t* set) {
  GMPT_NOT_A_G(sigsuspend, set);
  core::G* g = rt::self();
  if (!rt::readable(set, 8)) return static_cast<int>(rt::ret(-EFAULT));
  u64 want = bits(set);
  u32 before = g->handled.load_relaxed();
  u64 old = core::change_mask(g, 2, &want);  // handlers of what pended run here
  if (g->handled.load_relaxed() == before) wait_for_handler(g);
  core::change_mask(g, 2, &old);
  return static_cast<int>(rt::ret(-EINTR));
}

GMPT_API int pause() {
  GMPT_NOT_A_G(pause);
  return wait_for_handler(rt::self());
}

GMPT_API int pthread_sigqueue(pthread_t t, int sig, const union sigval value) noexcept {
  if (!rt::on() || !core::awake() || !rt::g_of(t)) return os::real().pthread_sigqueue(t, sig, value);
  if (sig < 0 || sig > 64 || sig == os::kSigCancel || sig == os::kSigSetxid) return EINVAL;
  core::G* g = rt::g_of(t);
  if (g->state.load_acquire() == core::GState::kDead) return ESRCH;
  if (sig == 0) return 0;
  os::SigInfo si{};
  si.signo = sig;
  si.code = SI_QUEUE;
  si.kill.pid = os::getpid();
  si.kill.uid = static_cast<u32>(os::sys(__NR_getuid));
  memcpy(&si.kill.value, &value, sizeof value);
  core::Rt visit(rt::self());
  return static_cast<int>(-core::send_to_g(g, si));
}

GMPT_API void siglongjmp(sigjmp_buf env, int v) noexcept {
  jump_mask(env);
  os::real().siglongjmp(env, v);
  __builtin_unreachable();
}
GMPT_API void longjmp(struct __jmp_buf_tag* env, int v) noexcept {
  jump_mask(env);
  os::real().longjmp(env, v);
  __builtin_unreachable();
}
GMPT_API void _longjmp(struct __jmp_buf_tag* env, int v) noexcept {
  rt::tls_syscall_frame = 0;
  os::real()._longjmp(env, v);
  __builtin_unreachable();
}
GMPT_API void __longjmp_chk(struct __jmp_buf_tag* env, int v) noexcept {
  jump_mask(env);
  os::real().__longjmp_chk(env, v);
  __builtin_unreachable();
}
