// os/fs.h -- the FS base: three ways to change it, and the repair of the lazy one.
//
// What it is
//   fsgsbase  wrfsbase, and the kernel keeps it (AT_HWCAP2 bit 1).
//   lazy      wrfsbase works but the kernel puts its own value back at each switch of the kernel
//             thread. That value is set, once per M, to the middle of a PROT_NONE region: the first TLS
//             access after a kernel switch faults, and fs_repair() in the SIGSEGV handler writes the
//             right base again.
//   syscall   arch_prctl at each switch between Gs.
//
// Invariants (lazy)
//   SIGSEGV is never blocked in an M's kernel mask while a G runs, and no runtime code uses TLS.
//   Around libc calls that block all signals inside, fs_give() tells the kernel the true base.
#pragma once
#include "base/options.h"
#include "os/syscall.h"

namespace gmpt::os {

extern FsMode fs_mode;

// Chooses the mode (honouring `wanted` where the machine can). False: no mode works.
bool fs_init(FsMode wanted);

// The value a new M's kernel thread starts with (CLONE_SETTLS): the trap, or a dummy block.
uptr fs_initial();

inline void fs_write(u64 base) {
  if (fs_mode == FsMode::kSyscall) sys(__NR_arch_prctl, 0x1002 /* ARCH_SET_FS */, base);
  else __asm__ volatile("wrfsbase %0" ::"r"(base) : "memory");
}

// This kernel thread, running with true base `base`, becomes an M (take) or leaves that role (give).
void fs_take(u64 base);
void fs_give(u64 base);

// In the SIGSEGV handler: true if the fault was the trap and FS now holds `base`.
bool fs_repair(u64 base);

// The GS base of the calling kernel thread; 0 on threads that are not Ms.
uptr gs_base();
inline void gs_set(uptr v) { sys(__NR_arch_prctl, 0x1001 /* ARCH_SET_GS */, v); }

}  // namespace gmpt::os
