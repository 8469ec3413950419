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
#include "rt/once.h"
#include "rt/policy.h"

extern "C" int __register_atfork(void (*)(), void (*)(), void (*)(), void* dso);

namespace gmpt::rt {

namespace {

void in_child() {
  once_child();
  kstate_child();
  G* g = tls_g;
  if (!g) return;
  tls_g = nullptr;
  core::after_fork_child(g);
  policy_after_fork(thread_of(g));
}

}  // namespace

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

pid_t do_fork() {
  core::fds_shared();
  TrueFs fs;
  pid_t pid = os::real().fork();
  core::fds_shared();
  return pid;
}

}  // namespace gmpt::rt
