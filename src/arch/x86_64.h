// arch/x86_64.h -- single instructions, and the %gs-relative words of the running M.
//
// What it is
//   Everything here is one instruction (or a fixed short sequence) in inline assembly. The M's block
//   begins at the GS base; the first words have fixed offsets shared with the assembly files.
//
// Invariants
//   gs_*() may be used only on an M (a kernel thread whose GS base was set by os/thread.cc). Each
//   access is one instruction, so it speaks of the M that executes it even if the G migrates between
//   two of them.
#pragma once
#include "arch/offsets.h"
#include "base/base.h"

namespace gmpt::arch {

inline void pause() { __asm__ volatile("pause"); }
inline void spin(int n) { while (n--) pause(); }

inline u64 rdtsc() {
  u32 lo, hi;
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return (u64{hi} << 32) | lo;
}

inline u64 rdfsbase() { u64 v; __asm__ volatile("rdfsbase %0" : "=r"(v)); return v; }
inline void wrfsbase(u64 v) { __asm__ volatile("wrfsbase %0" ::"r"(v) : "memory"); }
inline u64 rdgsbase() { u64 v; __asm__ volatile("rdgsbase %0" : "=r"(v)); return v; }

// The thread pointer as the ABI gives it: the word at %fs:0.
inline u64 thread_pointer() { u64 v; __asm__ volatile("movq %%fs:0, %0" : "=r"(v)); return v; }

inline void* gs_self() { void* v; __asm__ volatile("movq %%gs:%c1, %0" : "=r"(v) : "i"(GMPT_M_SELF) : "memory"); return v; }
inline void gs_set_in_rt(u32 v) { __asm__ volatile("movl %0, %%gs:%c1" ::"ri"(v), "i"(GMPT_M_IN_RT) : "memory"); }
inline u32 gs_pending() { u32 v; __asm__ volatile("movl %%gs:%c1, %0" : "=r"(v) : "i"(GMPT_M_PENDING) : "memory"); return v; }
inline void gs_set_in_sys(u32 v) { __asm__ volatile("movl %0, %%gs:%c1" ::"ri"(v), "i"(GMPT_M_IN_SYS) : "memory"); }
inline void gs_begin_sys() { __asm__ volatile("incl %%gs:%c0; movl $1, %%gs:%c1" ::"i"(GMPT_M_SYS_TICK), "i"(GMPT_M_IN_SYS) : "memory", "cc"); }

inline u32 mxcsr() { u32 v; __asm__ volatile("stmxcsr %0" : "=m"(v)); return v; }
inline u16 x87_cw() { u16 v; __asm__ volatile("fnstcw %0" : "=m"(v)); return v; }

inline void cpuid(u32 leaf, u32 sub, u32* a, u32* b, u32* c, u32* d) {
  __asm__ volatile("cpuid" : "=a"(*a), "=b"(*b), "=c"(*c), "=d"(*d) : "a"(leaf), "c"(sub));
}

}  // namespace gmpt::arch
