// arch/context.h -- the C++ face of the assembly: switching between a G and its M's scheduler stack.
//
// What it is
//   mcall() leaves a G: it saves the callee-saved state on the G's stack, the stack pointer in the G,
//   and calls fn(g) on the M's scheduler stack ("g0"), which never returns. gogo() resumes a G.
//   So the G's stack is quiet before anybody can learn that the G is to be run again.
//
// Rejected
//   swapcontext: two system calls for the signal mask. Direct G-to-G switches: saves 10 ns, but the
//   publishing of the old G would run on a stack that another M may already be using.
#pragma once
#include "base/base.h"

namespace gmpt::core { struct G; }

extern "C" {
void gmpt_mcall(void (*fn)(gmpt::core::G*));
[[noreturn]] void gmpt_gogo(gmpt::core::G* g);
void gmpt_g_entry();          // first frame of every G; r12 = function, r13 = argument
void gmpt_preempt_landing();  // where the preemption signal redirects a G
void gmpt_sig_landing();      // calls a program's signal handler on the G's own stack
void gmpt_sig_restorer();     // kernel's return from a handler frame
i64 gmpt_clone(u64 flags, void* stack, i32* ptid, void* tls, i32* ctid, void (*fn)(void*), void* arg);

[[noreturn]] void gmpt_thread_gone(u32* flag);

// What the landings call: set by core, which arch does not know.
struct GmptHooks {
  void (*preempt_begin)();
  void (*preempt_park)();
  void (*preempt_end)(void* block);
  void (*sig_return_fix)(void* frame);
};
extern GmptHooks gmpt_hooks;
}

namespace gmpt::arch {

// Lays the first frame of a G below `top` so that gogo() calls fn(arg) on it. Returns the value for
// G::sp. mxcsr and x87 control word come from the creator, as clone() gives them to a new thread.
u64 make_context(u64 top, void (*fn)(void*), void* arg, u32 mxcsr, u16 x87_cw);

}  // namespace gmpt::arch
