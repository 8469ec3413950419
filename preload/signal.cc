// preload/signal.cc -- signal actions, masks and thread-directed signals, libc names.
#include "core/signal.h"

#include "base/mem.h"
#include "core/boot.h"
#include "preload/interpose.h"
#include "rt/thread.h"
#include "rt/policy.h"
#include "rt/usermem.h"

using namespace gmpt;

namespace {

u64 bits(const sigset_t* s) { u64 v; memcpy(&v, s, 8); return v; }
void put(sigset_t* s, u64 v) {
  memset(s, 0, sizeof *s);
  memcpy(s, &v, 8);
}

bool ours() { return rt::on() && core::signals_ours(); }
// libc's own two signals are not the program's to touch.
bool internal(int sig) { return sig == os::kSigCancel || sig == os::kSigSetxid; }

int action(int sig, const struct sigaction* sa, struct sigaction* old) {
  if (!ours()) return os::real().sigaction(sig, sa, old);
  if (internal(sig)) return static_cast<int>(rt::ret(-EINVAL));
  core::SigAction in{}, out{};
  if (sa) {
    in.handler = reinterpret_cast<void*>(sa->sa_handler);
    in.flags = static_cast<u64>(static_cast<u32>(sa->sa_flags));
    in.mask = bits(&sa->sa_mask);
  }
  i64 r;
  {
    core::Rt visit(rt::self());
    r = core::set_action(sig, sa ? &in : nullptr, old ? &out : nullptr);
  }
  if (r < 0) return static_cast<int>(rt::ret(r));
  if (old) {
    old->sa_handler = reinterpret_cast<sighandler_t>(out.handler);
    old->sa_flags = static_cast<int>(out.flags & ~os::kSaRestorer);
    put(&old->sa_mask, out.mask);
    old->sa_restorer = nullptr;
  }
  return 0;
}

sighandler_t install(int sig, sighandler_t h, int flags, bool mask_self) {
  struct sigaction sa, old;
  memset(&sa, 0, sizeof sa);
  if (h == SIG_ERR || sig < 1 || sig > 64) {
    errno = EINVAL;
    return SIG_ERR;
  }
  sa.sa_handler = h;
  sa.sa_flags = flags;
  if (mask_self) sigaddset(&sa.sa_mask, sig);
  return action(sig, &sa, &old) < 0 ? SIG_ERR : old.sa_handler;
}

int change(int how, const sigset_t* set, sigset_t* old) {
  u64 s = 0, was;
  if (old && !rt::writable(old, 8)) return EFAULT;
  if (set) {
    if (how < 0 || how > 2) return EINVAL;
    s = bits(set) & ~(os::sig_bit(os::kSigCancel) | os::sig_bit(os::kSigSetxid));
  }
  was = core::change_mask(rt::self(), how, set ? &s : nullptr);
  if (old) put(old, was);
  return 0;
}

os::SigInfo sent(int sig, int code) {
  os::SigInfo si{};
  si.signo = sig;
  si.code = code;
  si.kill.pid = os::getpid();
  si.kill.uid = static_cast<u32>(os::sys(__NR_getuid));
  return si;
}

}  // namespace

GMPT_API int sigaction(int sig, const struct sigaction* sa, struct sigaction* old) noexcept { return action(sig, sa, old); }
GMPT_API int __sigaction(int sig, const struct sigaction* sa, struct sigaction* old) noexcept { return action(sig, sa, old); }

GMPT_API sighandler_t signal(int sig, sighandler_t h) noexcept {
  if (!ours()) return os::real().signal(sig, h);
  return install(sig, h, SA_RESTART, true);
}
GMPT_API sighandler_t ssignal(int sig, sighandler_t h) noexcept { return signal(sig, h); }
GMPT_API sighandler_t bsd_signal(int sig, sighandler_t h) noexcept { return signal(sig, h); }
GMPT_API sighandler_t sysv_signal(int sig, sighandler_t h) noexcept {
  if (!ours()) return os::real().sysv_signal(sig, h);
  return install(sig, h, SA_RESETHAND | SA_NODEFER, false);
}
GMPT_API sighandler_t __sysv_signal(int sig, sighandler_t h) noexcept { return sysv_signal(sig, h); }

GMPT_API int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  if (!rt::on() || !rt::self()) return os::real().pthread_sigmask(how, set, old);
  return change(how, set, old);
}
GMPT_API int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  if (!rt::on() || !rt::self()) return os::real().sigprocmask(how, set, old);
  return static_cast<int>(rt::ret(-change(how, set, old)));
}

GMPT_API int sigaltstack(const stack_t* ss, stack_t* old) noexcept {
  GMPT_NOT_A_G(sigaltstack, ss, old);
  core::G* g = rt::self();
  if ((ss && !rt::readable(ss, sizeof *ss)) || (old && !rt::writable(old, sizeof *old))) return static_cast<int>(rt::ret(-EFAULT));
  uptr sp = reinterpret_cast<uptr>(__builtin_frame_address(0)), lo = reinterpret_cast<uptr>(g->altstack.sp);
  bool on_it = g->altstack.size && sp > lo && sp <= lo + g->altstack.size;
  if (old) {
    old->ss_sp = g->altstack.sp;
    old->ss_size = g->altstack.size;
    old->ss_flags = !g->altstack.size ? SS_DISABLE : on_it ? SS_ONSTACK : 0;
  }
  if (!ss) return 0;
  int fl = ss->ss_flags & ~static_cast<int>(1u << 31 /* SS_AUTODISARM */);
  if (on_it) return static_cast<int>(rt::ret(-EPERM));
  if (fl != 0 && fl != SS_DISABLE && fl != SS_ONSTACK) return static_cast<int>(rt::ret(-EINVAL));
  if (fl == SS_DISABLE) {
    g->altstack = os::SigStack{};
    return 0;
  }
  if (ss->ss_size < 2048) return static_cast<int>(rt::ret(-ENOMEM));
  g->altstack = os::SigStack{ss->ss_sp, 0, 0, ss->ss_size};
  return 0;
}

GMPT_API int pthread_kill(pthread_t t, int sig) noexcept {
  if (!rt::on() || !core::awake() || !rt::g_of(t)) return os::real().pthread_kill(t, sig);
  if (internal(sig)) return EINVAL;
  core::G* g = rt::g_of(t);
  if (g->state.load_acquire() == core::GState::kDead) return 0;  // as glibc since 2.34, joined or not
  if (sig < 0 || sig > 64) return EINVAL;
  if (sig == 0) return 0;
  core::Rt visit(rt::self());
  return static_cast<int>(-core::send_to_g(g, sent(sig, SI_TKILL)));
}

// A signal to the own process, for which the kernel would have to wake an M at rest.
namespace {
bool to_own_process(pid_t pid, int sig, int code, u64 value) {
  if (!rt::on() || !core::awake() || sig < 1 || sig > 64 || internal(sig) || pid != os::getpid()) return false;
  os::SigInfo si = sent(sig, code);
  si.kill.value = value;
  core::Rt visit(rt::self());
  return core::send_to_process(si);
}
}  // namespace

GMPT_API int kill(pid_t pid, int sig) noexcept {
  pid = rt::process_of(pid);
  return to_own_process(pid, sig, SI_USER, 0) ? 0 : os::real().kill(pid, sig);
}
GMPT_API int sigqueue(pid_t pid, int sig, const union sigval value) noexcept {
  pid = rt::process_of(pid);
  return to_own_process(pid, sig, SI_QUEUE, reinterpret_cast<u64>(value.sival_ptr)) ? 0 : os::real().sigqueue(pid, sig, value);
}

GMPT_API int tgkill(pid_t pid, pid_t tid, int sig) noexcept {
  if (!rt::on() || !core::awake() || pid != os::getpid()) return os::real().tgkill(pid, tid, sig);
  for (core::G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next)
    if (g->tid == tid && g->state.load_acquire() != core::GState::kDead) return static_cast<int>(rt::ret(-pthread_kill(g->fs, sig)));
  if (tid <= 1 << 22) return os::real().tgkill(pid, tid, sig);  // a kernel thread of libc's own, or nobody
  return static_cast<int>(rt::ret(-ESRCH));
}

GMPT_API int raise(int sig) noexcept {
  if (!rt::on() || !rt::self()) return os::real().raise(sig);
  return static_cast<int>(rt::ret(-pthread_kill(rt::self()->fs, sig)));
}
