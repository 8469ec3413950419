// preload/syscall.cc -- the function syscall: calls by number mean what the functions of their names mean.
//
// What it is
//   libstdc++, language runtimes and locks of the program's own call futex, gettid and others so. What can
//   wait goes where the function goes; the rest is passed on with the P on offer.
//
// Invariants
//   syscall is no cancellation point, and C++ takes it for one that throws nothing: requests are held off
//   around what might act on them.
//   A library preloaded beside us may make read() of syscall(SYS_read): the call then comes back while ours is
//   under way, and goes to the kernel. Ours is the one whose frame lies above.
//   A clone that shares memory returns in the child on a stack without our frames, so it is made in assembly
//   by the entry itself.
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "core/netpoll.h"
#include "preload/interpose.h"
#include "rt/futex.h"
#include "rt/io.h"
#include "rt/kstate.h"
#include "rt/offer.h"
#include "rt/policy.h"
#include "rt/rawcall.h"
#include "rt/robust.h"
#include "rt/usermem.h"

using namespace gmpt;

// CLONE_VM is 0x100; clone3 has its flags in the first word its argument points to.
GMPT_API __attribute__((naked)) long syscall(long, ...) noexcept {
  __asm__(
      "  endbr64\n"
      "  cmpq $56, %rdi\n"        // clone
      "  je 1f\n"
      "  cmpq $435, %rdi\n"       // clone3
      "  jne gmpt_syscall\n"
      "  testq $0x100, (%rsi)\n"
      "  jnz 2f\n"
      "  jmp gmpt_syscall\n"
      "1: testq %rdx, %rdx\n"     // a stack of its own
      "  jnz 2f\n"
      "  testq $0x100, %rsi\n"
      "  jz gmpt_syscall\n"
      "2: movq %rdi, %rax\n"
      "  movq %rsi, %rdi\n"
      "  movq %rdx, %rsi\n"
      "  movq %rcx, %rdx\n"
      "  movq %r8, %r10\n"
      "  movq %r9, %r8\n"
      "  movq 8(%rsp), %r9\n"
      "  syscall\n"
      "  cmpq $-4095, %rax\n"
      "  jae 3f\n"
      "  ret\n"
      "3: movq %rax, %rdi\n"
      "  jmp gmpt_syscall_error\n");
}

extern "C" long gmpt_syscall_error(long r) { return rt::ret(r); }

namespace {

template <class T>
T as(long v) { return static_cast<T>(v); }
template <class T>
T* ptr(long v) { return reinterpret_cast<T*>(v); }

// A function that waits, called from one that is no cancellation point.
template <class F>
long quiet(F call) {
  rt::NoCancel hold;
  return static_cast<long>(call());
}

bool waits_or_tells(long n, long a, long b, long c, long d, long e, long f, long* out) {
  switch (n) {
    // Descriptors: the netpoller wants to know, or the wait is its.
    case SYS_close: *out = quiet([=] { return close(as<int>(a)); }); return true;
    case SYS_close_range: *out = close_range(as<unsigned>(a), as<unsigned>(b), as<int>(c)); return true;
    case SYS_dup: *out = dup(as<int>(a)); return true;
    case SYS_dup2: *out = dup2(as<int>(a), as<int>(b)); return true;
    case SYS_dup3: *out = dup3(as<int>(a), as<int>(b), as<int>(c)); return true;
    case SYS_fcntl: *out = quiet([=] { return fcntl(as<int>(a), as<int>(b), c); }); return true;
    case SYS_ioctl: *out = ioctl(as<int>(a), as<unsigned long>(b), c); return true;
    case SYS_socket: *out = socket(as<int>(a), as<int>(b), as<int>(c)); return true;
    case SYS_socketpair: *out = socketpair(as<int>(a), as<int>(b), as<int>(c), ptr<int>(d)); return true;
    case SYS_pipe: *out = pipe(ptr<int>(a)); return true;
    case SYS_pipe2: *out = pipe2(ptr<int>(a), as<int>(b)); return true;
    case SYS_signalfd4:
      if (c != 8) return false;
      *out = signalfd(as<int>(a), ptr<sigset_t>(b), as<int>(d));
      return true;
    case SYS_eventfd2: *out = eventfd(as<unsigned>(a), as<int>(b)); return true;
    case SYS_epoll_create1: *out = epoll_create1(as<int>(a)); return true;
    case SYS_setsockopt: *out = setsockopt(as<int>(a), as<int>(b), as<int>(c), ptr<void>(d), as<socklen_t>(e)); return true;
    case SYS_read: *out = quiet([=] { return read(as<int>(a), ptr<void>(b), as<size_t>(c)); }); return true;
    case SYS_write: *out = quiet([=] { return write(as<int>(a), ptr<void>(b), as<size_t>(c)); }); return true;
    case SYS_readv: *out = quiet([=] { return readv(as<int>(a), ptr<iovec>(b), as<int>(c)); }); return true;
    case SYS_writev: *out = quiet([=] { return writev(as<int>(a), ptr<iovec>(b), as<int>(c)); }); return true;
    case SYS_recvfrom:
      *out = quiet([=] { return recvfrom(as<int>(a), ptr<void>(b), as<size_t>(c), as<int>(d), ptr<sockaddr>(e), ptr<socklen_t>(f)); });
      return true;
    case SYS_sendto:
      *out = quiet([=] { return sendto(as<int>(a), ptr<void>(b), as<size_t>(c), as<int>(d), ptr<sockaddr>(e), as<socklen_t>(f)); });
      return true;
    case SYS_recvmsg: *out = quiet([=] { return recvmsg(as<int>(a), ptr<msghdr>(b), as<int>(c)); }); return true;
    case SYS_sendmsg: *out = quiet([=] { return sendmsg(as<int>(a), ptr<msghdr>(b), as<int>(c)); }); return true;
    case SYS_recvmmsg: *out = quiet([=] { return recvmmsg(as<int>(a), ptr<mmsghdr>(b), as<unsigned>(c), as<int>(d), ptr<timespec>(e)); }); return true;
    case SYS_sendmmsg: *out = quiet([=] { return sendmmsg(as<int>(a), ptr<mmsghdr>(b), as<unsigned>(c), as<int>(d)); }); return true;
    case SYS_accept: *out = quiet([=] { return accept(as<int>(a), ptr<sockaddr>(b), ptr<socklen_t>(c)); }); return true;
    case SYS_accept4: *out = quiet([=] { return accept4(as<int>(a), ptr<sockaddr>(b), ptr<socklen_t>(c), as<int>(d)); }); return true;
    case SYS_poll: *out = quiet([=] { return poll(ptr<pollfd>(a), as<nfds_t>(b), as<int>(c)); }); return true;
    case SYS_ppoll:
      if (d && e != 8) return *out = rt::ret(-EINVAL), true;
      *out = quiet([=] { return ppoll(ptr<pollfd>(a), as<nfds_t>(b), ptr<timespec>(c), ptr<sigset_t>(d)); });
      return true;
    case SYS_select: *out = quiet([=] { return select(as<int>(a), ptr<fd_set>(b), ptr<fd_set>(c), ptr<fd_set>(d), ptr<timeval>(e)); }); return true;
    case SYS_pselect6: {
      struct { sigset_t* mask; size_t size; } m = {nullptr, 8};
      if (f && !rt::readable(ptr<void>(f), sizeof m)) return *out = rt::ret(-EFAULT), true;
      if (f) memcpy(&m, ptr<void>(f), sizeof m);
      if (m.mask && m.size != 8) return *out = rt::ret(-EINVAL), true;
      *out = quiet([=] { return pselect(as<int>(a), ptr<fd_set>(b), ptr<fd_set>(c), ptr<fd_set>(d), ptr<timespec>(e), m.mask); });
      return true;
    }
    case SYS_epoll_pwait:
      if (e && f != 8) return *out = rt::ret(-EINVAL), true;
      *out = quiet([=] { return epoll_pwait(as<int>(a), ptr<epoll_event>(b), as<int>(c), as<int>(d), ptr<sigset_t>(e)); });
      return true;
    case SYS_epoll_wait: *out = quiet([=] { return epoll_wait(as<int>(a), ptr<epoll_event>(b), as<int>(c), as<int>(d)); }); return true;
    case SYS_open: *out = quiet([=] { return open(ptr<char>(a), as<int>(b), as<unsigned>(c)); }); return true;
    case SYS_openat: *out = quiet([=] { return openat(as<int>(a), ptr<char>(b), as<int>(c), as<unsigned>(d)); }); return true;
    // Time and turns.
    case SYS_nanosleep: *out = quiet([=] { return nanosleep(ptr<timespec>(a), ptr<timespec>(b)); }); return true;
    case SYS_clock_nanosleep:
      *out = quiet([=] { return rt::ret(-clock_nanosleep(as<clockid_t>(a), as<int>(b), ptr<timespec>(c), ptr<timespec>(d))); });
      return true;
    case SYS_sched_yield: *out = sched_yield(); return true;
    // Who am I, and signals to threads.
    case SYS_gettid: *out = gettid(); return true;
    case SYS_tgkill: *out = tgkill(as<pid_t>(a), as<pid_t>(b), as<int>(c)); return true;
    case SYS_tkill: *out = tgkill(getpid(), as<pid_t>(a), as<int>(b)); return true;
    case SYS_kill: *out = kill(as<pid_t>(a), as<int>(b)); return true;
    case SYS_rt_sigqueueinfo: *out = rt::ret(os::sys(SYS_rt_sigqueueinfo, rt::process_of(as<pid_t>(a)), b, c)); return true;
    case SYS_rt_tgsigqueueinfo: *out = rt::ret(rt::raw_queue_signal(as<pid_t>(a), as<pid_t>(b), as<int>(c), ptr<void>(d))); return true;
    case SYS_rt_sigaction: *out = rt::ret(rt::raw_sigaction(as<int>(a), ptr<void>(b), ptr<void>(c), as<size_t>(d))); return true;
    case SYS_rt_sigprocmask:
      if (!rt::self()) return false;
      *out = rt::ret(rt::raw_sigmask(as<int>(a), ptr<u64>(b), ptr<u64>(c), as<size_t>(d)));
      return true;
    case SYS_get_robust_list: *out = rt::ret(rt::raw_get_robust_list(as<int>(a), ptr<uptr>(b), ptr<size_t>(c))); return true;
    case SYS_set_tid_address: *out = rt::ret(rt::raw_set_tid_address(ptr<u32>(a))); return true;
    case SYS_set_robust_list: *out = rt::ret(rt::raw_set_robust_list(as<uptr>(a), as<size_t>(b))); return true;
    case SYS_setrlimit: *out = setrlimit(static_cast<__rlimit_resource_t>(a), ptr<struct rlimit>(b)); return true;
    case SYS_prlimit64:
      *out = prlimit(as<pid_t>(a), static_cast<__rlimit_resource>(b), ptr<struct rlimit>(c), ptr<struct rlimit>(d));
      return true;
    case SYS_rt_sigtimedwait:
      if (!rt::self()) return false;
      if (d != 8) return *out = rt::ret(-EINVAL), true;
      *out = quiet([=] { return sigtimedwait(ptr<sigset_t>(a), ptr<siginfo_t>(b), ptr<timespec>(c)); });
      return true;
    case SYS_rt_sigsuspend:
      if (!rt::self()) return false;
      if (b != 8) return *out = rt::ret(-EINVAL), true;
      *out = quiet([=] { return sigsuspend(ptr<sigset_t>(a)); });
      return true;
    case SYS_rt_sigpending:
      if (!rt::self() || b != 8) return false;
      *out = sigpending(ptr<sigset_t>(a));
      return true;
    case SYS_pause: *out = quiet([=] { return pause(); }); return true;
    case SYS_clock_gettime: *out = clock_gettime(as<clockid_t>(a), ptr<timespec>(b)); return true;
    case SYS_getrusage: *out = getrusage(static_cast<__rusage_who_t>(a), ptr<struct rusage>(b)); return true;
    case SYS_sigaltstack: *out = sigaltstack(ptr<stack_t>(a), ptr<stack_t>(b)); return true;
    case SYS_mmap: *out = reinterpret_cast<long>(mmap(ptr<void>(a), as<size_t>(b), as<int>(c), as<int>(d), as<int>(e), f)); return true;
    case SYS_mremap: *out = reinterpret_cast<long>(mremap(ptr<void>(a), as<size_t>(b), as<size_t>(c), as<int>(d), ptr<void>(e))); return true;
    case SYS_shmat: *out = reinterpret_cast<long>(shmat(as<int>(a), ptr<void>(b), as<int>(c))); return true;
    // Processes and this thread's end.
    case SYS_fork:
    case SYS_vfork: *out = rt::ret(rt::raw_fork(SYS_fork, 0, 0, 0, 0, 0)); return true;
    case SYS_clone:
    case SYS_clone3: *out = rt::ret(rt::raw_fork(n, a, b, c, d, e)); return true;
    case SYS_exit:
      if (!rt::self()) return false;
      rt::raw_exit();
    case SYS_futex:
      *out = rt::ret(rt::futex(ptr<u32>(a), as<int>(b), as<u32>(c), ptr<timespec>(d), ptr<u32>(e), as<u32>(f)));
      return true;
    case SYS_timer_create: {
      timer_t t;
      if ((b && !rt::readable(ptr<void>(b), sizeof(struct sigevent))) || !rt::writable(ptr<void>(c), sizeof(int))) {
        *out = rt::ret(-EFAULT);
        return true;
      }
      *out = timer_create(as<clockid_t>(a), ptr<struct sigevent>(b), &t);
      if (*out == 0) *ptr<int>(c) = static_cast<int>(reinterpret_cast<long>(t));
      return true;
    }
    case SYS_timer_delete: *out = timer_delete(reinterpret_cast<timer_t>(static_cast<long>(as<int>(a)))); return true;
    default:
      i64 r;
      if (!rt::raw_kstate(n, a, b, c, d, e, &r)) return false;
      *out = rt::ret(r);
      return true;
  }
}

}  // namespace

extern "C" long gmpt_syscall(long n, long a, long b, long c, long d, long e, long f) {
  GMPT_NATIVE(syscall, n, a, b, c, d, e, f);
  uptr here = reinterpret_cast<uptr>(__builtin_frame_address(0));
  if (GMPT_LIKELY(!rt::tls_syscall_frame || here >= rt::tls_syscall_frame)) {
    rt::tls_syscall_frame = here;
    long r;
    bool done = waits_or_tells(n, a, b, c, d, e, f, &r);
    rt::tls_syscall_frame = 0;
    if (done) return r;
  } else if (n == SYS_close || n == SYS_dup2 || n == SYS_dup3) {
    core::fd_closing(as<int>(n == SYS_close ? a : b));
  }
  return rt::ret(rt::offered([=] { return os::sys(n, a, b, c, d, e, f); }));
}
