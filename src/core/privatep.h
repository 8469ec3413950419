// core/privatep.h -- Ps of real-time threads: each has one for itself, beyond GOMAXPROCS.
//
// What it is
//   Which real-time thread runs is for the kernel to say: by priority, without slices, before everything ordinary. So
//   such a thread does not take turns on the Ps that others share. It is bound to an M (pin), and that M holds a P that
//   nobody else sees: it is in none of sched's lists, is never taken, and has an empty run queue. What is left of the
//   scheduler for it: it parks like any G, its M sleeps then, and who readies it wakes that M.
//
// Invariants
//   R1  G::private_p changes only while the G runs, on its own M; so whoever claimed its Waiter reads what holds.
//   R2  A G with one is on no run queue: runq_put and globq_push wake its M instead, inject and schedule() pass it on.
//   R3  What a G with one readies goes to the global queue, for those who share.
//   R4  The timer of its wait is in its own P's heap, and its M sleeps no longer than until then. Others need not know,
//       but for a wait by CLOCK_REALTIME: the poller hears when that clock is set, so that counts as waiting in it.
//   R5  While its M rests and its G waits for a socket, an M is in the poller, and sysmon looks as well: where real-time
//       threads keep the CPUs, the former may not get one.
//
// Rejected
//   Taking turns with the others (what this replaces): a real-time thread that never waits had a millisecond at a time,
//   and one of a low priority ran beside higher ones.
#pragma once
#include "core/sched.h"

namespace gmpt::core {

bool private_p_begin(G* g);            // the calling G, pinned, outside the runtime. false: no memory; it goes on sharing
void private_p_end(G* g);              // it shares again; may wait for a P
bool give_private(G* g, M* m);         // to an M that is being made, for a G that is
void drop_private(G* g, M* m);         // m ends, or was not made (g): a private P that it has is given back
void rest_private(M* m);               // on g0: until the G is readied
void wake_private(G* g);               // it was made kRunnable
void pass_private(GList* l);           // wakes those among them that have one, and takes them off the list
void private_ps_child();               // forked child: there are none

}  // namespace gmpt::core
