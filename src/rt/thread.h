// rt/thread.h -- threads as POSIX sees them, kept in the rt part of a G.
//
// Results are POSIX error numbers. deadline: monotonic nanoseconds or kNever.
#pragma once
#include "core/spawn.h"
#include "core/waitq.h"
#include "rt/self.h"

namespace gmpt::rt {

struct Wish;

// Holds a thread's place among those who wait for a condition while a handler runs in it; see cond.cc. Here and not
// in the waiting call's frame, since a handler may leave that by longjmp.
struct StandIn {
  core::WaitNode node;
  core::Waiter waiter;
};

struct Thread {
  enum : u32 { kJoinable = 0, kDetached = 1, kDone = 2, kGone = 3 };
  Atomic<u32> life;              // any; joiners wait on it
  Atomic<G*> joiner;             // who joins; one at most
  void* (*start)(void*);
  void* arg;
  void* result;
  bool exited;                   // pthread_exit was called (else an unwinding is a cancellation)
  bool recycled;                 // the control block served another thread before
  bool user_stack;
  u64 stack_size, guard_size;    // as pthread_getattr_np reports them
  char name[16];
  i32 policy, priority;          // as the program sees them
  u64 last_mask;                 // own: its signal mask when it ended
  Wish* wish;             // see kstate.cc
  bool bound;                    // bind_lock in policy.cc: its M has them in the kernel
  bool stale;                    // any: another thread changed the record alone; its M is to follow
  bool ending;                   // own: nothing binds it any more
  bool changing, again;          // own: in the middle of a change; another is to follow (policy.cc)
  u32 kernel_holds;              // own: mutexes held that keep it on its M (kerneltid.h)
  u32 robust_holds;              // own: why its robust list is its M's (kerneltid.cc)
  u64 m_robust_list;             // own: what the M's was before
  uptr robust_list;              // own: head set with set_robust_list; 0 = the control block's (robust.cc)
  StandIn stand_in;              // own, but for the node: its bucket's lock
  u32* clear_tid;                // own: set with set_tid_address, zeroed and woken at the end; may be null
};
static_assert(sizeof(Thread) <= sizeof(G::rt));

inline Thread* thread_of(G* g) { return reinterpret_cast<Thread*>(g->rt); }

// The G behind a pthread_t; null if it belongs to a kernel thread that is none of ours.
G* g_of(pthread_t t);

int thread_create(pthread_t* out, const pthread_attr_t* attr, void* (*start)(void*), void* arg);
int thread_join(pthread_t t, void** result, u64 deadline);
int thread_tryjoin(pthread_t t, void** result);
int thread_detach(pthread_t t);
[[noreturn]] void thread_exit(void* result);
int thread_cancel(pthread_t t);
int thread_getattr(pthread_t t, pthread_attr_t* attr);
int thread_setname(pthread_t t, const char* name);
int thread_getname(pthread_t t, char* buf, size_t n);

int run_main(int (*main)(int, char**, char**), int argc, char** argv, char** envp);  // main() in a frame that catches pthread_exit
void thread_adopt_main(G* g);
void thread_defaults();          // reads the default attributes
void thread_defaults_set();      // the program has set others

}  // namespace gmpt::rt
