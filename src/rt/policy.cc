// rt/policy.cc -- scheduling policy and priority of threads.
//
// What it is
//   A policy belongs to a kernel thread. A thread whose policy is not the process's own (main's at the
//   first thread's creation) stays on one M, which has it in the kernel as well; all others share the Ms.
//   What the program asked for is kept in Thread, and the getters answer from there.
//
// Invariants
//   P1  A bound M has the kernel's reset-on-fork flag: Ms cloned from it are ordinary ones.
//   P2  Only the thread itself binds and frees its M. A policy that another thread sets for one that has
//       no M of its own is an errand: the thread binds itself when it next is in program code (kstate.h).
//   P3  sysmon's priority is above that of every real-time thread there has been: it is what takes the P of one
//       that spins, which natively the kernel would take the CPU from at once for a higher one. It minds the timers
//       and sockets itself then: the M asleep in the poller is an ordinary one, and would not get the CPU.
//      A thread with a real-time policy of its own does not share Ps at all: core/privatep.h.
//      One that is made as one has it, and its M, from the start, and that M the policy before the thread's creator goes on.
//   P4  In a process that is real-time itself every thread has an M of its own: the kernel decides which one
//       runs, in the order and without the slices that real-time threads count on.
//
// Rejected
//   Run queues by priority: the kernel has them, and only it can take a CPU from one process for another.
#include "rt/policy.h"

#include "core/boot.h"
#include "core/ownm.h"
#include "core/privatep.h"
#include "core/sys.h"

namespace gmpt::rt {

namespace {

constexpr int kResetOnFork = 0x40000000;
i32 base_policy, base_priority;
Atomic<int> lifted_for;    // the highest priority that sysmon's was set by

bool real_time(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }

bool valid(int policy, int priority) {
  if (real_time(policy)) return priority >= 1 && priority <= 99;
  return (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE) && priority == 0;
}

int kernel_set(i32 tid, int policy, int priority) {
  sched_param p{};
  p.sched_priority = priority;
  return static_cast<int>(-os::sys(__NR_sched_setscheduler, tid, policy, &p));
}

// Held while another thread looks at or sets what a bound one's M has, and while one says that it is bound or not any
// more: its M is its own until then.
GMPT_GLOBAL_LOCK(bind_lock);

// A handler of the program that comes in the middle of a change may lead to an errand, and that to policy_begin(): it
// waits until the change is made. By the thread itself.
class Change {
 public:
  explicit Change(Thread* t) : t_(t), outer_(!t->changing) { t->changing = true; }
  ~Change() {
    if (!outer_) return;
    t_->changing = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (GMPT_UNLIKELY(t_->again)) policy_begin(t_);
  }

 private:
  Thread* t_;
  bool outer_;
};

// What the kernel has for a thread that is bound, which may be more than its own: a mutex's ceiling. tid 0: the caller.
int kernel_priority(i32 tid) {
  sched_param p{};
  os::sys(__NR_sched_getparam, tid, &p);
  return p.sched_priority;
}

// The priority to set in place of the one that t, which is bound, has: a ceiling stays in force.
int under_ceiling(Thread* t, i32 tid, int policy, int priority) {
  int now = real_time(policy) ? kernel_priority(tid) : 0;
  return now > t->priority ? max_of(now, priority) : priority;
}

int bound_flags() { return base_policy == SCHED_OTHER ? kResetOnFork : 0; }

void lift_sysmon(int policy, int priority) {
  core::M* m = core::sched.sysmon;
  if (real_time(base_policy)) priority = max_of(priority, base_priority);
  if (!real_time(policy) || !m || lifted_for.load_relaxed() >= priority) return;
  // Above it there should be room for sysmon and for Ms that it boosts; RLIMIT_RTPRIO may allow no more than the thread has.
  int over = 2;
  while (over >= 0 && (priority + over > 99 || kernel_set(m->tid, SCHED_FIFO, priority + over))) over--;
  if (over < 0) return;
  lifted_for.store_relaxed(priority);
  m->own_policy = true;
  core::sched.boost.store_relaxed(over == 2 ? priority + 1 : 0);
  core::sched.real_time.store_release(1);
}

int bound_set(i32 tid, int policy, int priority) {
  int e = kernel_set(tid, policy | bound_flags(), priority);
  if (!e) lift_sysmon(policy & ~kResetOnFork, priority);
  return e;
}

bool is_base(int policy, int priority) { return policy == base_policy && priority == base_priority; }

// The flag may only be taken back with privilege; an ordinary M may keep it.
void kernel_base() {
  if (kernel_set(0, base_policy, base_priority)) kernel_set(0, base_policy | bound_flags(), base_priority);
}

// The calling thread's. Own Ms are for those that began as real-time threads.
void share_or_not(Thread* t) {
  G* g = self();
  bool want = real_time(t->policy) && (t->bound || (g->locked_m && g->locked_m->ends));
  if (GMPT_LIKELY(want == g->private_p)) return;
  if (want) core::private_p_begin(g);
  else core::private_p_end(g);
}

void say_bound(Thread* t, bool is) {
  Rt rt(self());
  os::Guard l(bind_lock);
  t->bound = is;
}

// The caller, to another policy than the process's.
int bind(Thread* t, int policy, int priority) {
  core::template_tid();  // makes Ms for everybody from now on
  core::pin(self());     // an errand may have bound it here
  bool was = t->bound;
  int e = bound_set(0, policy, was && !t->stale ? under_ceiling(t, 0, policy & ~kResetOnFork, priority) : priority);
  if (!e && !was) {
    core::mm()->own_policy = true;
    say_bound(t, true);
  } else {
    core::unpin(self());
  }
  return e;
}

void unbind(Thread* t) {
  say_bound(t, false);
  kernel_base();
  core::mm()->own_policy = false;
  share_or_not(t);
  core::unpin(self());
}

// May this process have such a thread? By the kernel's rule for a clone of the caller. Tried on a kernel thread that
// does nothing: a caller that gave up its priority for a moment would lose the CPU to whoever is in between.
int probe(int policy, int priority) {
  if (!real_time(policy) || !self()) return 0;
  Thread* me = thread_of(self());
  if (policy == me->policy && priority <= me->priority) return 0;
  i32 t = core::trial_tid();
  if (!t) return EAGAIN;
  int e = kernel_set(t, policy, priority);
  if (!e) kernel_set(t, base_policy, base_priority);
  return e;
}

}  // namespace

G* g_of_tid(pid_t tid) {
  if (tid == 0) return self();
  for (G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next)
    if (g->tid == tid && g->state.load_acquire() != core::GState::kDead) return g;
  return nullptr;
}

pid_t process_of(pid_t pid) {
  if (GMPT_LIKELY(pid <= 1 << 22) || !on() || !core::awake()) return pid;
  return g_of_tid(pid) ? os::getpid() : pid;
}

namespace {

void record(Thread* t, int policy, int priority) {
  t->policy = policy;
  t->priority = priority;
}

int policy_set_of(G* g, int policy, int priority) {
  int plain = policy & ~kResetOnFork;
  Thread* t = thread_of(g);
  int e = 0;
  bool direct;
  {
    Rt rt(self());
    os::Guard l(bind_lock);
    core::M* m = t->bound ? g->locked_m : nullptr;
    direct = m && m->tid;
    if (direct) e = bound_set(m->tid, policy, under_ceiling(t, m->tid, plain, priority));
    if (direct && !e) record(t, plain, priority);  // it may look at both right now
  }
  if (!direct) e = probe(plain, priority);
  if (e) return e;
  Rt rt(self());
  if (!direct) {
    os::Guard l(bind_lock);
    record(t, plain, priority);
    t->stale = true;
  }
  core::post_errand(g);
  return 0;
}

}  // namespace

int policy_set(G* g, int policy, int priority) {
  int plain = policy & ~kResetOnFork;
  if (!valid(plain, priority)) return EINVAL;
  if (g != self()) return policy_set_of(g, policy, priority);
  Thread* t = thread_of(g);
  Change change(t);
  bool base = is_base(plain, priority);
  if (!t->ending && !base)
    if (int e = bind(t, policy, priority)) return e;
  record(t, plain, priority);
  if (t->ending) return 0;
  if (base && t->bound) unbind(t);
  else share_or_not(t);
  return 0;
}

void policy_taken(Thread* t, int policy, int priority) {
  Change change(t);
  record(t, policy, priority);
  if (!t->bound && real_time(policy)) {
    core::pin(self());
    if (t->bound) core::unpin(self());
    else say_bound(t, true);
  }
  core::mm()->own_policy = true;
  lift_sysmon(policy, priority);
  share_or_not(t);
}

int policy_get(G* g, int* priority) {
  Thread* t = thread_of(g);
  if (GMPT_LIKELY(!t->bound)) return *priority = t->priority, t->policy;
  Rt rt(self());
  os::Guard l(bind_lock);
  return *priority = t->priority, t->policy;
}

int priority_in_force(G* g) {
  Thread* t = thread_of(g);
  if (!t->bound) return t->priority;
  if (g == self()) return kernel_priority(0);
  Rt rt(self());
  os::Guard l(bind_lock);
  core::M* m = t->bound ? g->locked_m : nullptr;
  return m && m->tid ? kernel_priority(m->tid) : t->priority;
}

int policy_of_new(const pthread_attr_t* attr, i32* policy, i32* priority) {
  int inherit = PTHREAD_INHERIT_SCHED;
  if (attr) pthread_attr_getinheritsched(attr, &inherit);
  if (inherit == PTHREAD_INHERIT_SCHED) {
    G* me = self();
    *policy = me ? thread_of(me)->policy : base_policy;
    *priority = me ? thread_of(me)->priority : base_priority;
    return 0;
  }
  sched_param p{};
  pthread_attr_getschedpolicy(attr, policy);
  pthread_attr_getschedparam(attr, &p);
  *priority = p.sched_priority;
  return valid(*policy, *priority) ? probe(*policy, *priority) : EINVAL;
}

bool policy_wants_m(Thread* t, core::OwnM* own) {
  if (GMPT_LIKELY(!real_time(t->policy))) return false;
  Thread* me = thread_of(self());
  *own = {-1, t->priority};
  if (is_base(t->policy, t->priority) && is_base(me->policy, me->priority)) return true;
  core::template_tid();
  lift_sysmon(t->policy, t->priority);
  own->policy = t->policy | bound_flags();
  t->bound = t->stale = true;
  return true;
}

void policy_begin(Thread* t) {
  if (GMPT_UNLIKELY(t->changing)) return void(t->again = true);
  t->again = false;
  if (t->ending) return;
  bool base = is_base(t->policy, t->priority);
  if (base) t->stale = false;
  if (GMPT_LIKELY(base && !t->bound)) return;
  Change change(t);
  if (base) return unbind(t);
  if (!t->bound || t->stale) {
    int e = bind(t, t->policy, t->priority);
    t->stale = false;
    if (e && t->bound) return unbind(t);
  }
  share_or_not(t);
}

void policy_end(Thread* t) {
  core::M* m = self()->locked_m;
  Change change(t);
  t->ending = true;
  if (GMPT_LIKELY(!t->bound)) return;
  if (m && (m->ends || m->changed)) say_bound(t, false);  // it ends as it is
  else unbind(t);
}

void policy_of_main(Thread* t) {
  sched_param p{};
  i64 now = os::sys(__NR_sched_getscheduler, 0);
  os::sys(__NR_sched_getparam, 0, &p);
  base_policy = t->policy = now < 0 ? SCHED_OTHER : static_cast<i32>(now) & ~kResetOnFork;
  base_priority = t->priority = p.sched_priority;
}

bool ordered_by_kernel(G* g) { return g->locked_m || real_time(base_policy); }

void policy_after_fork(Thread* t) {
  lifted_for.store_relaxed(0);
  core::sched.boost.store_relaxed(0);
  core::sched.real_time.store_relaxed(0);
  if (t->bound) kernel_set(0, t->policy, t->priority);
}

}  // namespace gmpt::rt
