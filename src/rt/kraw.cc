// rt/kraw.cc -- which options and numbered calls change a kernel thread, and which name one.
//
// What it is
//   prctl() and syscall() have one entry for calls of every kind. Listed here are those that belong to a
//   kernel thread; all others are the process's, or ask only.
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "core/boot.h"
#include "rt/kstate.h"
#include "rt/policy.h"
#include "rt/schedattr.h"
#include "rt/usermem.h"

namespace gmpt::rt {

namespace {

bool changes_thread(long option) {
  switch (option) {
    case PR_SET_PDEATHSIG: case PR_SET_UNALIGN: case PR_SET_KEEPCAPS: case PR_SET_FPEMU: case PR_SET_FPEXC: case PR_SET_TIMING:
    case PR_SET_ENDIAN: case PR_SET_SECCOMP: case PR_CAPBSET_DROP: case PR_SET_TSC: case PR_SET_SECUREBITS: case PR_SET_TIMERSLACK:
    case PR_MCE_KILL: case PR_SET_NO_NEW_PRIVS: case PR_CAP_AMBIENT: case PR_SET_SPECULATION_CTRL: case PR_SET_TAGGED_ADDR_CTRL:
    case PR_SET_IO_FLUSHER: case PR_SET_SYSCALL_USER_DISPATCH: case PR_SCHED_CORE:
      return true;
    default: return false;
  }
}

// A call whose argument names a thread, 0 for the caller.
template <class F>
bool named(long tid, F call, i64* out) {
  G* g = g_of_tid(static_cast<pid_t>(tid));
  if (!g) return false;
  *out = call(g, kernel_tid(g));
  return true;
}

}  // namespace

// A bad pointer to a priority: the kernel refuses it for whatever thread.
static bool given(long p) { return p && writable(reinterpret_cast<void*>(p), 4); }

i64 prctl_on_g(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  G* g = self();
  if (option == PR_SET_NAME) {
    char name[16];
    auto* p = reinterpret_cast<const char*>(a);
    size_t n = 0;
    for (; n < 15; n++) {
      bool another_page = n == 0 || reinterpret_cast<uptr>(p + n) % kPage == 0;
      if (another_page && !readable(p + n, 1)) return -EFAULT;
      if (!p[n]) break;
      name[n] = p[n];
    }
    name[n] = 0;
    return -thread_setname(g->fs, name);
  }
  if (option == PR_GET_NAME) {
    if (!writable(reinterpret_cast<void*>(a), 16)) return -EFAULT;
    memcpy(reinterpret_cast<char*>(a), thread_of(g)->name, 16);
    return 0;
  }
  auto call = [=] { return os::sys(__NR_prctl, option, a, b, c, d); };
  return changes_thread(option) ? on_own_m(call) : call();
}

bool raw_kstate(long n, long a, long b, long c, long d, long e, i64* out) {
  if (!core::awake() || !self()) return false;
  auto same = [=] { return os::sys(n, a, b, c, d, e); };
  auto mine = [&] { return *out = on_own_m(same), true; };
  switch (n) {
    case SYS_unshare: case SYS_setns: case SYS_capset: case SYS_set_mempolicy: case SYS_keyctl:
    case SYS_setuid: case SYS_setgid: case SYS_setreuid: case SYS_setregid: case SYS_setresuid: case SYS_setresgid:
    case SYS_setgroups: case SYS_setfsuid: case SYS_setfsgid: case 446 /* landlock_restrict_self */: case SYS_rseq:
      return mine();
    case SYS_personality: return static_cast<u32>(a) != ~0u && mine();
    case SYS_seccomp: return a != SECCOMP_GET_ACTION_AVAIL && !(b & SECCOMP_FILTER_FLAG_TSYNC) && mine();
    case SYS_add_key: return e == -1 && mine();        // the thread's own keyring
    case SYS_ptrace: return (a == 0 || a == 16 || a == 0x4206) && mine();
    case SYS_perf_event_open: return b == 0 && mine();
    case SYS_prctl: return *out = prctl_on_g(static_cast<int>(a), static_cast<unsigned long>(b), static_cast<unsigned long>(c), static_cast<unsigned long>(d), static_cast<unsigned long>(e)), true;
    case SYS_sched_setaffinity: return named(a, [=](G* g, i32) { return affinity_set(g, static_cast<size_t>(b), reinterpret_cast<void*>(c)); }, out);
    case SYS_sched_getaffinity: return named(a, [=](G* g, i32) { return affinity_get(g, static_cast<size_t>(b), reinterpret_cast<void*>(c)); }, out);
    case SYS_sched_setscheduler:
      return given(c) && named(a, [=](G* g, i32) { return i64{-policy_set(g, static_cast<int>(b), *reinterpret_cast<int*>(c))}; }, out);
    case SYS_sched_setparam:
      return given(b) && named(a, [=](G* g, i32) { return i64{-policy_set(g, thread_of(g)->policy, *reinterpret_cast<int*>(b))}; }, out);
    case SYS_sched_getscheduler: return named(a, [=](G* g, i32) { return i64{thread_of(g)->policy}; }, out);
    case SYS_sched_getparam:
      return given(b) && named(a, [=](G* g, i32) { return *reinterpret_cast<int*>(b) = priority_in_force(g), i64{0}; }, out);
    case SYS_sched_setattr: return named(a, [=](G* g, i32) { return sched_attr_set(g, reinterpret_cast<void*>(b), static_cast<u32>(c)); }, out);
    case SYS_sched_getattr:
      return named(a, [=](G* g, i32) { return sched_attr_get(g, reinterpret_cast<void*>(b), static_cast<u32>(c), static_cast<u32>(d)); }, out);
    case SYS_sched_rr_get_interval: return named(a, [=](G*, i32 tid) { return os::sys(n, tid, b); }, out);
    case SYS_setpriority: return a == PRIO_PROCESS && named(b, [=](G* g, i32) { return nice_set(g, static_cast<int>(c)); }, out);
    case SYS_getpriority: return a == PRIO_PROCESS && named(b, [=](G* g, i32) { return i64{20 - nice_get(g)}; }, out);
    case SYS_ioprio_set: return a == 1 && named(b, [=](G* g, i32) { return io_priority_set(g, static_cast<int>(c)); }, out);
    case SYS_ioprio_get: return a == 1 && named(b, [=](G* g, i32) { return io_priority_get(g); }, out);
    default: return false;
  }
}

}  // namespace gmpt::rt
