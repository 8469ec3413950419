// rt/thread.cc -- create, run, end, join and detach.
//
// Invariants
//   T1  life: kJoinable -> kDetached | kDone, kDone -> kGone. Whoever makes the second step of {ended, joined
//       or detached} gives the G back; who comes later learns ESRCH, as long as nobody else has the G. "Ended" is said on g0, when nothing runs on the thread's stack any more.
//   T2  The control block is made or reset by the creator, outside the runtime, since libc may allocate.
//   T3  joiner: who joins, or the thread itself once it is detached. A detach that comes while somebody joins
//       does nothing, as in glibc: the joiner would never be woken.
//
// Rejected
//   Running the child first: a caller that holds a lock the child wants would wait for itself.
#include "rt/thread.h"

#include <locale.h>
#include <stdlib.h>

#include "arch/context.h"
#include "arch/x86_64.h"
#include "base/mem.h"
#include "base/options.h"
#include "core/signal.h"
#include "os/clock.h"
#include "os/libc.h"
#include "os/tcb.h"
#include "rt/cond.h"
#include "rt/key.h"
#include "rt/kstate.h"
#include "rt/mainexit.h"
#include "rt/policy.h"
#include "rt/robust.h"

extern "C" {
int __sigsetjmp(struct __jmp_buf_tag*, int) noexcept __attribute__((returns_twice));
void __pthread_register_cancel(__pthread_unwind_buf_t*) noexcept;
void __pthread_unregister_cancel(__pthread_unwind_buf_t*) noexcept;
extern void* __libc_stack_end;
}

namespace gmpt::rt {

namespace {

constexpr size_t kMinStack = 16384;
size_t default_stack, default_guard;
Atomic<u32> defaults_set;  // by the program, for threads made without attributes

void on_exit(G* g) {
  Thread* t = thread_of(g);
  u64 mask = t->last_mask;  // g may be another thread soon
  u32 was = Thread::kJoinable;
  if (t->life.cas_acq_rel(was, Thread::kDone)) {
    const void* key = &t->life;
    core::Bucket* b = core::bucket_of(key);
    core::GList l;
    b->lock.lock();
    core::wake_locked(b, key, 1, ~0u, &l);
    b->lock.unlock();
    core::ready_list(&l, true);
  } else {
    core::g_put(g, true);
  }
  main_exit_check(mask);
}

// A program takes back the stack it gave to a detached thread when that says that it is done. Natively it
// is off its stack in a few more instructions; here it may be queued behind others.
void wait_for_stack(uptr lo, size_t size) {
  auto in_use = [=] {
    for (G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next)
      if (g->state.load_acquire() != core::GState::kDead && thread_of(g)->user_stack && g->stack_lo < lo + size && lo < g->stack_hi) return true;
    return false;
  };
  for (u64 limit = os::now_ns() + 100 * kMs; in_use() && os::now_ns() < limit;) {
    if (self()) {
      Rt rt(self());
      core::yield();
    } else {
      os::sys(__NR_sched_yield);
    }
  }
}

// The bottom of every thread's stack.
void thread_main(G* g) {
  core::leave();
  Thread* t = thread_of(g);
  policy_begin(t);
  if (t->recycled) uselocale(LC_GLOBAL_LOCALE);
  os::libc_private().ctype_init();
  __pthread_unwind_buf_t frame;
  memset(&frame, 0, sizeof frame);
  if (__sigsetjmp(reinterpret_cast<struct __jmp_buf_tag*>(frame.__cancel_jmp_buf), 0) == 0) {
    __pthread_register_cancel(&frame);
    void* r = t->start(t->arg);
    if (self() == g) t->result = r;
  } else if (self() == g) {
    if (!t->exited) t->result = PTHREAD_CANCELED;
    cond_thread_ends(g, true);
  }
  if (self() != g) {  // it forked, and this is the child, where it is the first thread and no G of that name exists
    main_ends();
    exit(0);
  }
  thread_end(g);
}

}  // namespace

// Destructors, then the G's end. For main: not its G's end, see mainexit.cc.
void thread_end(G* g) {
  os::libc_private().call_tls_dtors();
  run_key_destructors();
  cond_thread_ends(g, false);
  robust_owner_died(g);
  clear_tid_word(g);
  policy_end(thread_of(g));
  wish_end(thread_of(g));
  // No signal handler may run on a stack that is about to be somebody else's.
  u64 all = ~u64{0};
  thread_of(g)->last_mask = g->sigmask;
  if (g->sigmask != all && (g->sigpending.load_relaxed() || core::signals_waiting_now())) core::change_mask(g, 2, &all);
  core::enter();
  core::g_exit();
}

void thread_defaults() {
  pthread_attr_t a;
  size_t size = 0, guard = kPage;
  if (pthread_getattr_default_np(&a) == 0) {
    pthread_attr_getstacksize(&a, &size);
    pthread_attr_getguardsize(&a, &guard);
    pthread_attr_destroy(&a);
  }
  if (options.stack_kb) size = options.stack_kb << 10;
  if (!size) size = 8 << 20;
  default_stack = align_up(size, kPage);
  default_guard = align_up(guard, kPage);
  core::set_default_pool(default_stack, default_guard);
}

void thread_adopt_main(G* g) {
  Thread* t = thread_of(g);
  memset(static_cast<void*>(t), 0, sizeof *t);
  os::sys(__NR_prctl, 16 /* PR_GET_NAME */, t->name);
  policy_of_main(t);
  g->on_exit = nullptr;
}

void thread_defaults_set() { defaults_set.store_release(1); }

G* g_of(pthread_t t) { return reinterpret_cast<G*>(os::get_word(t, os::tcb.g_word)); }

int thread_create(pthread_t* out, const pthread_attr_t* attr, void* (*start)(void*), void* arg) {
  G* me = self();
  if (GMPT_UNLIKELY(!attr && defaults_set.load_acquire())) {
    pthread_attr_t preset;
    if (pthread_getattr_default_np(&preset) == 0) {
      int e = thread_create(out, &preset, start, arg);
      pthread_attr_destroy(&preset);
      return e;
    }
  }
  size_t size = default_stack, guard = default_guard, user_size = 0;
  void* user_stack = nullptr;
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attr) {
    pthread_attr_getdetachstate(attr, &detached);
    size_t want = 0;
    pthread_attr_getstacksize(attr, &want);
    pthread_attr_getguardsize(attr, &guard);
    // glibc marks a given stack by a non-null top; its getter returns top - size, so a size alone comes
    // back as a small wrapped number below zero.
    void* lo = nullptr;
    size_t lo_size = 0;
    pthread_attr_getstack(attr, &lo, &lo_size);
    if (lo && reinterpret_cast<uptr>(lo) + lo_size > lo_size && reinterpret_cast<uptr>(lo) < (uptr{1} << 47)) {
      user_stack = lo;
      user_size = lo_size;
    } else if (want) {
      size = want;
      if (want == 8u << 20 && options.stack_kb) size = default_stack;
    }
  }
  // As glibc: the guard comes on top of the size, and neither may wrap.
  constexpr size_t kMost = size_t{1} << 62;
  if (!user_stack && (size > kMost || guard > kMost)) return EINVAL;
  size = align_up(max_of(size, kMinStack), kPage);
  guard = align_up(guard, kPage);
  i32 policy, priority;
  if (int e = policy_of_new(attr, &policy, &priority)) return e;
  if (user_stack) wait_for_stack(reinterpret_cast<uptr>(user_stack), user_size);
  core::StackPool* pool = user_stack ? core::pool_for(default_stack, default_guard) : core::pool_for(size, guard);
  if (!pool) return EAGAIN;
  bool fresh;
  G* g;
  {
    Rt rt(me);
    g = core::g_take(pool, &fresh, me != nullptr);
  }
  if (!g) return EAGAIN;
  bool ok = fresh ? os::tcb_create(g->fs, g->tid) : true;
  if (!fresh) {
    if (os::tcb_has_dynamic(g->fs)) ok = os::tcb_rebuild(g->fs, g->tid);
    else os::tcb_reset(g->fs, g->tid);
  }
  if (!ok) return EAGAIN;  // libc has no memory; the slot is lost with it
  os::set_word(g->fs, os::tcb.g_word, reinterpret_cast<u64>(g));
  os::Placement at = os::tcb_place(g->slot.hi);
  Thread* t = thread_of(g);
  memset(static_cast<void*>(t), 0, sizeof *t);
  t->recycled = !fresh;
  t->start = start;
  t->arg = arg;
  t->life.store_relaxed(detached == PTHREAD_CREATE_DETACHED ? Thread::kDetached : Thread::kJoinable);
  t->stack_size = user_stack ? user_size : size;
  t->guard_size = user_stack ? 0 : guard;
  t->user_stack = user_stack != nullptr;
  t->policy = policy;
  t->priority = priority;
  if (me) memcpy(t->name, thread_of(me)->name, sizeof t->name);
  else os::sys(__NR_prctl, 16, t->name);
  if (user_stack) {
    g->stack_lo = reinterpret_cast<uptr>(user_stack);
    g->stack_hi = g->stack_lo + user_size;
    g->top = g->stack_hi;
  } else {
    g->stack_lo = g->slot.lo;
    g->stack_hi = g->slot.hi;
    g->top = at.stack_top;
  }
  g->altstack = os::SigStack{};
  if (me) g->sigmask = me->sigmask;
  else os::sigprocmask(2, nullptr, &g->sigmask);
  sigset_t mask;
  if (attr && pthread_attr_getsigmask_np(attr, &mask) == 0) {
    memcpy(&g->sigmask, &mask, sizeof g->sigmask);
    g->sigmask &= ~(os::sig_bit(SIGKILL) | os::sig_bit(SIGSTOP) | os::sig_bit(os::kSigCancel) | os::sig_bit(os::kSigSetxid));
  }
  g->on_exit = &on_exit;
  *out = g->fs;
  i64 refused = attr ? wish_at_birth(g, attr) : 0;
  Rt rt(me);
  core::OwnM own;
  if (!refused && core::g_start(g, &thread_main, me != nullptr, me && policy_wants_m(t, &own) ? &own : nullptr)) return 0;
  core::g_put(g, me != nullptr);
  return refused ? static_cast<int>(-refused) : EAGAIN;
}

int thread_join(pthread_t th, void** result, u64 deadline) {
  G* me = self();
  G* g = g_of(th);
  if (!g) return ESRCH;
  Thread* t = thread_of(g);
  // Whoever is cancelled will not wait for the other: no deadlock then.
  bool circle = g == me || (me && thread_of(me)->joiner.load_acquire() == g && !g->cancel_req.load_acquire() && !t->exited);
  if (t->life.load_acquire() == Thread::kGone) return ESRCH;
  if (t->life.load_acquire() == Thread::kDetached) return g->state.load_acquire() == core::GState::kDead ? ESRCH : EINVAL;
  G* none = nullptr;
  G* mark = me ? me : g;  // a kernel thread has no G to name; the target itself stands for it
  cancellation_point();
  if (circle) return EDEADLK;
  if (!t->joiner.cas_acq_rel(none, mark)) return EINVAL;
  for (;;) {
    {
      Rt rt(me);
      Reason r = core::wait_while(reinterpret_cast<u32*>(t->life.raw()), Thread::kJoinable, rt, deadline, Why::kJoin);
      if (r == Reason::kTimeout && t->life.load_acquire() == Thread::kJoinable) {
        t->joiner.store_release(nullptr);
        return ETIMEDOUT;
      }
    }
    if (t->life.load_acquire() == Thread::kDone) break;
    t->joiner.store_release(nullptr);
    cancellation_point();
    none = nullptr;
    if (!t->joiner.cas_acq_rel(none, mark)) return EINVAL;
  }
  if (me) core::mask_raised(me->sigmask);  // what only the other one had open
  if (result) *result = t->result;
  u32 done = Thread::kDone;
  if (t->life.cas_acq_rel(done, Thread::kGone) && g->pool) {
    Rt rt(me);
    core::g_put(g, me != nullptr);
  }
  return 0;
}

int thread_tryjoin(pthread_t th, void** result) {
  G* g = g_of(th);
  if (!g) return ESRCH;
  if (g == self()) return EDEADLK;
  Thread* t = thread_of(g);
  u32 life = t->life.load_acquire();
  if (life == Thread::kJoinable) return EBUSY;
  return thread_join(th, result, kNever);
}

int thread_detach(pthread_t th) {
  G* g = g_of(th);
  if (!g) return ESRCH;
  Thread* t = thread_of(g);
  G* none = nullptr;
  u32 life = Thread::kJoinable;
  if (!t->joiner.cas_acq_rel(none, g)) {
    life = t->life.load_acquire();
    if (life == Thread::kGone) return ESRCH;
    if (life != Thread::kDetached) return 0;  // somebody joins
  } else if (t->life.cas_acq_rel(life, Thread::kDetached)) {
    return 0;
  }
  if (life == Thread::kDetached && g->state.load_acquire() != core::GState::kDead) return EINVAL;
  if (life != Thread::kDone || !t->life.cas_acq_rel(life, Thread::kGone)) return ESRCH;
  if (g->pool) {
    Rt rt(self());
    core::g_put(g, self() != nullptr);
  }
  return 0;
}

[[noreturn]] void thread_exit(void* result) {
  if (G* g = self()) {
    thread_of(g)->exited = true;
    thread_of(g)->result = result;
  }
  os::real().pthread_exit(result);
  __builtin_unreachable();
}

namespace {
int attr_affinity(G* g, pthread_attr_t* a) {
  u64 cpus[128];       // the kernel's limit of CPUs; what it did not write is no part of the set
  i64 n = affinity_get(g, sizeof cpus, cpus);
  int e = n < 0 ? 0 : pthread_attr_setaffinity_np(a, static_cast<size_t>(n), reinterpret_cast<cpu_set_t*>(cpus));
  if (e) pthread_attr_destroy(a);
  return e;
}
}  // namespace

int thread_getattr(pthread_t th, pthread_attr_t* a) {
  G* g = g_of(th);
  Thread* t = thread_of(g);
  // main's stack is the process's; libc knows how to find its bounds.
  int e = g->pool ? pthread_attr_init(a) : os::real().pthread_getattr_np(th, a);
  if (e || (e = attr_affinity(g, a)) || !g->pool) return e;
  pthread_attr_setdetachstate(a, t->life.load_acquire() == Thread::kDetached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
  pthread_attr_setguardsize(a, t->guard_size);
  sched_param p{};
  p.sched_priority = t->priority;
  if (pthread_attr_setschedpolicy(a, t->policy) == 0) pthread_attr_setschedparam(a, &p);
  return pthread_attr_setstack(a, reinterpret_cast<void*>(g->stack_hi - t->stack_size), t->stack_size);
}

int thread_setname(pthread_t th, const char* name) {
  size_t n = str_len(name);
  if (n > 15) return ERANGE;
  G* g = g_of(th);
  memset(thread_of(g)->name, 0, 16);
  memcpy(thread_of(g)->name, name, n);
  // The process's name in /proc is main's name; other Ms carry no G's name for long.
  if (g->pool) return 0;
  if (os::gettid() == os::getpid()) {
    os::sys(__NR_prctl, 15 /* PR_SET_NAME */, name);
  } else if (i64 fd = os::sys(__NR_openat, -100, "/proc/self/comm", 02000001, 0); fd >= 0) {
    os::sys(__NR_write, fd, name, n);
    os::sys(__NR_close, fd);
  }
  return 0;
}

int thread_getname(pthread_t th, char* buf, size_t n) {
  if (n < 16) return ERANGE;
  memcpy(buf, thread_of(g_of(th))->name, 16);
  return 0;
}

}  // namespace gmpt::rt
