// core/ownm.h -- kernel threads that differ: Ms with an affinity, credentials, namespaces or filters of their own.
//
// What it is
//   Such state belongs to a kernel thread and most of it cannot be taken back. Who asks for it keeps its M
//   for life (M::changed); a thread it makes gets an M cloned from that one, as clone() would have it; and
//   when the G ends, so does the M.
//
// Invariants
//   O1  A G that asked for nothing never runs on a changed M.
//   O2  Ms for everybody are cloned by Ms that are not changed and have no policy of their own, or by the template: a kernel thread that
//       was made before the first change and does nothing else. (The first is sysmon's, with its table of
//       descriptors.)
//   O3  The process's first kernel thread never ends (its end looks like the process's); it sleeps for good.
#pragma once
#include "core/sched.h"

namespace gmpt::core {

bool own_begin(G* g);              // the calling G, outside the runtime, before the change. false: no memory
void own_undo(G* g);               // the change was refused, and own_begin was what bound it
// Inside the runtime: an M for the new g, cloned from this one, that ends with g. With policy >= 0 it has that before g
// begins, and g a second pin for it. false: no memory, or no kernel thread to be had.
bool own_m_for(G* g, bool with_p, i32 policy, i32 priority);
[[noreturn]] void own_m_ends();    // on g0
i32 trial_tid();                   // a kernel thread that does nothing: to see what the kernel would take. 0: cannot
i32 template_tid();                // starts it if there is none; 0: cannot
bool template_clones(M* m);        // hands m over, to be started with m->next_p
void template_child();             // forked child: there is none

// Something the G has to do by itself when it next is in program code: kicked there if it runs.
extern void (*errand_hook)(G*);    // rt's; outside the runtime
void post_errand(G* g);            // inside the runtime
void run_errand(G* g);

}  // namespace gmpt::core
