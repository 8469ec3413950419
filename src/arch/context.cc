// arch/context.cc -- the first frame of a G.
#include "arch/context.h"

extern "C" {
GmptHooks gmpt_hooks;
}

namespace gmpt::arch {

u64 make_context(u64 top, void (*fn)(void*), void* arg, u32 mxcsr, u16 x87_cw) {
  u64* sp = reinterpret_cast<u64*>(align_down(top, u64{16}));
  *--sp = 0;                                     // keeps the ABI's alignment at gmpt_g_entry
  *--sp = 0;
  *--sp = reinterpret_cast<u64>(&gmpt_g_entry);  // return address of gogo
  *--sp = 0;                                     // rbp: ends frame-pointer walks
  *--sp = 0;                                     // rbx
  *--sp = reinterpret_cast<u64>(fn);             // r12
  *--sp = reinterpret_cast<u64>(arg);            // r13
  *--sp = 0;                                     // r14
  *--sp = 0;                                     // r15
  *--sp = u64{mxcsr} | (u64{x87_cw} << 32);
  return reinterpret_cast<u64>(sp);
}

}  // namespace gmpt::arch
