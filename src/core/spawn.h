// core/spawn.h -- making a G, its end, and the pools of dead Gs with their stacks and control blocks.
#pragma once
#include "core/sched.h"

namespace gmpt::core {

// Dead Gs of one stack size. The default size also has a list per P.
struct StackPool {
  os::StackClass stacks;
  os::Lock lock;
  GList free;
  bool is_default;
  Atomic<StackPool*> next;
};

StackPool* pool_for(size_t size, size_t guard);   // null: no memory
void set_default_pool(size_t size, size_t guard);

// A dead G from a pool: `fresh` if its control block was never made. Inside the runtime.
G* g_take(StackPool* pool, bool* fresh, bool have_p);
void g_put(G* g, bool have_p);                      // back to its pool; its thread is gone
// Makes it runnable. own: with an M of its own, a clone of the caller's. False: no kernel thread for it.
struct OwnM { i32 policy, priority; };  // what its kernel thread gets; policy -1: as the caller's
bool g_start(G* g, void (*entry)(G*), bool have_p, const OwnM* own);
[[noreturn]] void g_exit();                         // on the G's stack, in the runtime
G* g_adopt_main();                                  // the calling thread's stack and block become a G
void spawn_reset();                                 // forked child
void drop_parents_stacks();                         // a child makes threads: the caller's is the only one in use

}  // namespace gmpt::core
