// rt/fork.cc -- the child has the calling thread only, and starts dormant.
//
// What it is
//   libc's fork does its own part (locks of malloc and stdio, handlers). Ours is done by a child handler
//   registered before all others, so that handlers of the program already run on a plain native thread:
//   every lock, queue, M and P of the parent is forgotten; the calling G's block becomes the main thread's.
//
// Invariants
//   The kernel knows the true FS base from before the fork on: the child has no handler for the trap.
//
// Rejected
//   Stopping the world: no state of ours is carried over, so it need not be consistent.
#include "rt/fork.h"

#include "core/boot.h"
#include "core/netpoll.h"
#include "core/signal.h"
#include "os/fs.h"
#include "rt/kstate.h"
#include "rt/mainexit.h"
#include "rt/once.h"
#include "rt/policy.h"

extern "C" int __register_atfork(void (*)(), void (*)(), void (*)(), void* dso);

namespace gmpt::rt {

namespace {

void in_child() {
  G* g = tls_g;
  if (g) return child_begins(g);
  once_child();
  kstate_child();
}

struct Start {
  int (*fn)(void*);
  void* arg;
  G* g;
};

int process_main(void* p) {
  Start s = *static_cast<Start*>(p);
  child_begins(s.g);
  int r = s.fn(s.arg);
  // libc ends this kernel thread, and so the process if there is no other; Ms would go on for ever.
  if (self()) {
    wait_for_last();
    os::sys(__NR_exit_group, r);
  }
  return r;
}

}  // namespace

void child_begins(G* g) {
  once_child();
  kstate_child();
  tls_g = nullptr;
  core::after_fork_child(g);  // sets the thread's own mask
  policy_after_fork(thread_of(g));
  thread_of(g)->stand_in.node.linked = false;  // nobody waits here
}

TrueFs::TrueFs() : g_(self()), pid_(0) {
  if (!g_) return;
  pid_ = os::getpid();
  core::pin(g_);
  core::before_fork(g_);
  core::sys_begin();
}

TrueFs::~TrueFs() {
  if (!g_ || self() != g_) return;  // a forked child is nobody's G
  core::sys_end();
  core::after_fork_parent(g_);
  core::unpin(g_);
}

void fork_boot() { __register_atfork(nullptr, nullptr, in_child, nullptr); }

// With CLONE_VM: a child that its maker waits for (CLONE_VFORK) is native, as in preload/vfork.cc; others are
// kernel threads of the program's own making.
int do_clone(int (*fn)(void*), void* stack, int flags, void* arg, void* ptid, void* tls, void* ctid) {
  core::fds_shared();
  int r;
  {
    TrueFs fs;
    if (flags & CLONE_VM) {
      tls_vfork_child = flags & CLONE_VFORK;
      r = os::real().clone(fn, stack, flags, arg, ptid, tls, ctid);
      tls_vfork_child = false;
    } else {
      Start s{fn, arg, self()};
      u64 all = ~os::sig_bit(os::kSigSegv), old;
      os::sigprocmask(0, &all, &old);
      r = os::real().clone(&process_main, stack, flags, &s, ptid, tls, ctid);
      os::sigprocmask(2, &old, nullptr);
    }
  }
  core::fds_shared();
  return r;
}

// libc's fork holds locks until after the child exists. A handler that forks, too, waited for ever for them here: the
// new child often runs first, and sends its signal before the parent is back.
class SignalsHeld {
 public:
  SignalsHeld() : g_(self()) {
    u64 all = ~os::sig_bit(os::kSigSegv);
    if (g_) os::sigprocmask(0, &all, &old_);
  }
  ~SignalsHeld() {
    if (g_ && self() == g_) os::sigprocmask(2, &old_, nullptr);  // in the child in_child() did it
  }

 private:
  G* g_;
  u64 old_ = 0;
};

pid_t do_fork() {
  core::fds_shared();
  SignalsHeld held;
  TrueFs fs;
  pid_t pid = os::real().fork();
  core::fds_shared();
  return pid;
}

}  // namespace gmpt::rt
