// rt/kstate.h -- calls that change the kernel thread they are made on: affinity, niceness, credentials,
// namespaces, filters and their like.
//
// What it is
//   The calling G keeps its M from the first such call on (core/ownm.h), so each means what it means for a
//   thread. What one thread sets for another (affinity, niceness, policy) is an errand: the other does it
//   when it next is in program code.
//
// Results are 0 or more, or -errno.
#pragma once
#include "core/ownm.h"
#include "rt/thread.h"

namespace gmpt::rt {

inline bool kept(G* g) { return g->locked_m && g->locked_m->changed; }

// Makes the call on the G's own M. A call that fails leaves the M as it was.
template <class F>
i64 on_own_m(F call) {
  G* g = self();
  if (!g || kept(g)) return call();
  if (!core::own_begin(g)) return -ENOMEM;
  i64 r = call();
  if (r < 0) core::own_undo(g);
  return r;
}

i32 kernel_tid(G* g);                                   // whom to ask about g; 0 = the caller's kernel thread
i64 affinity_set(G* g, size_t size, const void* mask);
i64 affinity_get(G* g, size_t size, void* mask);        // bytes written, as the system call
i64 io_priority_set(G* g, int v);
i64 io_priority_get(G* g);
i64 nice_set(G* g, int nice);
int nice_get(G* g);
i64 wish_at_birth(G* g, const pthread_attr_t* attr);    // the attributes' affinity, by the creator
void wish_end(Thread* t);
void kstate_boot();
void kstate_child();                                    // forked child
i64 set_ids(long nr, long a, long b, long c);           // setuid and its family, in every kernel thread of the process

i64 fd_owner_set(int fd, const struct f_owner_ex* o);   // F_SETOWN_EX of a thread
i64 fd_owner_get(int fd, struct f_owner_ex* o);

// On a G. raw_kstate: false if the call numbered n is none of these.
i64 prctl_on_g(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
bool raw_kstate(long n, long a, long b, long c, long d, long e, i64* out);

}  // namespace gmpt::rt
