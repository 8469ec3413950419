// rt/kstate.cc -- affinity and niceness of threads, their own and others'.
//
// What it is
//   A wish is what one thread set for another that has not run since. Getters answer from it. Whether the
//   kernel would take it is tried on a kernel thread that never runs, so errors are told at once.
//
// Invariants
//   W1  Thread::wish is written and freed under wish_lock, inside the runtime: the errand may interrupt an
//       allocator, so nothing here is malloc's.
//   W2  A value that is in force already changes nothing and binds nobody.
#include "rt/kstate.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "os/clock.h"
#include "os/slab.h"
#include "rt/policy.h"
#include "rt/usermem.h"

namespace gmpt::rt {

struct Wish {
  Wish* next;
  bool has_cpus, has_nice, has_io;
  u32 edition;
  i32 nice, io;
  u64 cpus[16];
};

namespace {

GMPT_GLOBAL_LOCK(wish_lock);
os::Slab wish_slab(sizeof(Wish), 16 << 10);
Wish* free_wishes;

i64 kernel_affinity(i32 tid, size_t size, void* mask) { return os::sys(__NR_sched_getaffinity, tid, size, mask); }
i64 kernel_set_affinity(i32 tid, size_t size, const void* mask) { return os::sys(__NR_sched_setaffinity, tid, size, mask); }
i64 kernel_io(i32 tid) { return os::sys(__NR_ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, tid); }
i64 kernel_set_io(i32 tid, int v) { return os::sys(__NR_ioprio_set, 1, tid, v); }
int kernel_nice(i32 tid) { return 20 - static_cast<int>(os::sys(__NR_getpriority, PRIO_PROCESS, tid)); }
i64 kernel_set_nice(i32 tid, int n) { return os::sys(__NR_setpriority, PRIO_PROCESS, tid, n); }

// wish_lock held.
Wish* wish_of(Thread* t) {
  if (t->wish) return t->wish;
  Wish* w = free_wishes;
  if (w) free_wishes = w->next;
  else w = static_cast<Wish*>(wish_slab.take());
  if (w) w->has_cpus = w->has_nice = w->has_io = false;
  return t->wish = w;
}

void drop_wish(Thread* t) {
  Wish* w = t->wish;
  t->wish = nullptr;
  w->next = free_wishes;
  free_wishes = w;
}

// A wish stays, for the getters, until it is in force.
bool next_wish(Thread* t, Wish* w, bool again) {
  os::Guard l(wish_lock);
  if (!t->wish) return false;
  if (again && t->wish->edition == w->edition) return drop_wish(t), false;
  *w = *t->wish;
  return true;
}

template <class F>
bool look_at_wish(G* g, F f) {
  Rt rt(self());
  os::Guard l(wish_lock);
  return thread_of(g)->wish && f(thread_of(g)->wish);
}

template <class F>
i64 wish(G* g, F f) {
  Rt rt(self());
  {
    os::Guard l(wish_lock);
    Wish* w = wish_of(thread_of(g));
    if (!w) return -ENOMEM;
    f(w);
    w->edition++;
  }
  core::post_errand(g);
  return 0;
}

// As natively, the new value is in force when the call returns. Who waits or is queued has it before it runs on;
// who runs gets there in microseconds, unless it is deep in libc.
void wait_for_errand(G* g) {
  auto running = [=] {
    core::M* m = as_atomic(&g->m).load_acquire();
    return as_atomic(&thread_of(g)->wish).load_acquire() && m && as_atomic(&m->curg).load_acquire() == g;
  };
  for (u64 limit = os::now_ns() + 10 * kMs; running() && os::now_ns() < limit;) {
    if (self()) {
      Rt rt(self());
      core::yield();
    }
    os::sched_yield();
  }
}

// Would the kernel take it?
i64 try_affinity(size_t size, const void* mask) {
  i32 t = core::trial_tid();
  return t ? kernel_set_affinity(t, size, mask) : -ENOMEM;
}

// Only lowering needs a privilege, and from wherever.
GMPT_GLOBAL_LOCK(try_lock);
i64 try_nice(int now, int nice) {
  if (nice >= now) return 0;
  i32 t = core::trial_tid();
  if (!t) return -ENOMEM;
  Rt rt(self());
  os::Guard l(try_lock);
  kernel_set_nice(t, 19);
  return kernel_set_nice(t, nice);
}

bool in_force(size_t size, const void* mask) {
  u64 now[16] = {};
  i64 n = kernel_affinity(0, sizeof now, now);
  if (n <= 0) return false;
  auto *a = static_cast<const u8*>(mask), *b = reinterpret_cast<const u8*>(now);
  for (size_t i = 0; i < max_of(size, static_cast<size_t>(n)); i++)
    if ((i < size ? a[i] : 0) != (i < static_cast<size_t>(n) ? b[i] : 0)) return false;
  return true;
}

i64 set_own_affinity(size_t size, const void* mask) {
  if (in_force(size, mask)) return 0;
  return on_own_m([=] { return kernel_set_affinity(0, size, mask); });
}

i64 set_own_nice(int nice) {
  nice = nice < -20 ? -20 : nice > 19 ? 19 : nice;
  if (nice == kernel_nice(0)) return 0;
  return on_own_m([=] { return kernel_set_nice(0, nice); });
}

i64 set_own_io(int v) {
  if (kernel_io(0) == v) return 0;
  return on_own_m([=] { return kernel_set_io(0, v); });
}

// On g, in program code.
void do_wishes(G* g) {
  Wish w;
  for (bool again = false;; again = true) {
    {
      Rt rt(g);
      if (!next_wish(thread_of(g), &w, again)) break;
    }
    if (w.has_cpus) set_own_affinity(sizeof w.cpus, w.cpus);
    if (w.has_nice) set_own_nice(w.nice);
    if (w.has_io) set_own_io(w.io);
  }
  policy_begin(thread_of(g));
}

}  // namespace

i32 kernel_tid(G* g) {
  if (g == self()) return 0;
  core::M* m = as_atomic(&g->locked_m).load_acquire();
  if (m) return m->tid;
  return self() && kept(self()) ? core::template_tid() : 0;
}

i64 affinity_set(G* g, size_t size, const void* mask) {
  if (!readable(mask, min_of(size, sizeof Wish::cpus))) return -EFAULT;
  if (g == self()) return set_own_affinity(size, mask);
  if (i64 e = try_affinity(size, mask)) return e;
  i64 e = wish(g, [=](Wish* w) {
    w->has_cpus = true;
    memset(w->cpus, 0, sizeof w->cpus);
    memcpy(w->cpus, mask, min_of(size, sizeof w->cpus));
  });
  wait_for_errand(g);
  return e;
}

// The wish first: one dropped between the two looks is in force when the kernel is asked. The other way round,
// the kernel's answer could be of before and the wish already gone.
i64 affinity_get(G* g, size_t size, void* mask) {
  u64 wished[16];
  bool has = look_at_wish(g, [&](Wish* w) {
    memcpy(wished, w->cpus, sizeof wished);
    return w->has_cpus;
  });
  i64 n = kernel_affinity(kernel_tid(g), size, mask);
  if (n > 0 && has) memcpy(mask, wished, min_of(static_cast<size_t>(n), sizeof wished));
  return n;
}

i64 nice_set(G* g, int nice) {
  if (g == self()) return set_own_nice(nice);
  if (i64 e = try_nice(nice_get(g), nice)) return e;
  i64 e = wish(g, [=](Wish* w) {
    w->has_nice = true;
    w->nice = nice;
  });
  wait_for_errand(g);
  return e;
}

int nice_get(G* g) {
  int n = 0;
  if (g != self() && look_at_wish(g, [&](Wish* w) { return n = w->nice, w->has_nice; })) return n;
  return kernel_nice(kernel_tid(g));
}

i64 io_priority_set(G* g, int v) {
  if (g == self()) return set_own_io(v);
  i32 t = core::trial_tid();
  if (!t) return -ENOMEM;
  if (i64 e = kernel_set_io(t, v)) return e;
  i64 e = wish(g, [=](Wish* w) {
    w->has_io = true;
    w->io = v;
  });
  wait_for_errand(g);
  return e;
}

i64 io_priority_get(G* g) {
  int v = 0;
  if (g != self() && look_at_wish(g, [&](Wish* w) { return v = w->io, w->has_io; })) return v;
  return kernel_io(kernel_tid(g));
}

i64 wish_at_birth(G* g, const pthread_attr_t* attr) {
  u64 cpus[16];
  if (pthread_attr_getaffinity_np(attr, sizeof cpus, reinterpret_cast<cpu_set_t*>(cpus)) != 0) return 0;
  bool all = true;  // libc's answer when none was set
  for (u64 w : cpus) all &= w == ~u64{0};
  if (all) return 0;
  if (i64 e = try_affinity(sizeof cpus, cpus)) return e;
  Rt rt(self());
  os::Guard l(wish_lock);
  Wish* w = wish_of(thread_of(g));
  if (!w) return -ENOMEM;
  w->has_cpus = true;
  memcpy(w->cpus, cpus, sizeof cpus);
  g->errand.store_relaxed(1);
  return 0;
}

// The kernel sends to the caller's M, which it keeps. Another thread without an M of its own cannot be named: the process is.
i64 fd_owner_set(int fd, const f_owner_ex* o) {
  if (!readable(o, sizeof *o)) return -EFAULT;
  G* g = o->type == F_OWNER_TID && o->pid ? g_of_tid(o->pid) : nullptr;
  if (!g) return os::sys(__NR_fcntl, fd, F_SETOWN_EX, o);
  f_owner_ex k{F_OWNER_TID, 0};
  if (g != self()) {
    k.pid = kernel_tid(g);
    if (!k.pid || k.pid == core::template_tid()) k = f_owner_ex{F_OWNER_PID, os::getpid()};
    return os::sys(__NR_fcntl, fd, F_SETOWN_EX, &k);
  }
  i64 r = on_own_m([&] {
    k.pid = os::gettid();
    return os::sys(__NR_fcntl, fd, F_SETOWN_EX, &k);
  });
  if (r == 0) g->owns_fds = true;
  return r;
}

i64 fd_owner_get(int fd, f_owner_ex* o) {
  i64 r = os::sys(__NR_fcntl, fd, F_GETOWN_EX, o);
  if (r < 0 || o->type != F_OWNER_TID) return r;
  for (G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next) {
    core::M* m = as_atomic(&g->locked_m).load_acquire();
    if (m && m->tid == o->pid) o->pid = g->tid;
  }
  return r;
}

void wish_end(Thread* t) {
  if (GMPT_LIKELY(!t->wish)) return;
  Rt rt(self());
  os::Guard l(wish_lock);
  if (t->wish) drop_wish(t);
}

void kstate_child() {
  wish_slab.reset();
  free_wishes = nullptr;
}

void kstate_boot() { core::errand_hook = &do_wishes; }

}  // namespace gmpt::rt
