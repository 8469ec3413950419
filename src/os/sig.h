// os/sig.h -- the kernel's signal structures on x86-64, and the raw calls on them.
//
// libc's struct sigaction and ucontext_t differ from the kernel's in size of the mask; handlers that
// run without TLS and build frames themselves need the kernel's own layout.
#pragma once
#include "os/syscall.h"

namespace gmpt::os {

constexpr u64 kSaSiginfo = 4, kSaOnstack = 0x08000000, kSaRestart = 0x10000000, kSaNodefer = 0x40000000,
              kSaResethand = 0x80000000, kSaRestorer = 0x04000000;
constexpr int kSigIll = 4, kSigAbrt = 6, kSigBus = 7, kSigFpe = 8, kSigKill = 9, kSigSegv = 11, kSigPipe = 13, kSigXfsz = 25, kSigChld = 17,
              kSigCont = 18, kSigStop = 19, kSigUrg = 23, kSigWinch = 28, kSigTrap = 5, kSigXcpu = 24, kSigVtalrm = 26, kSigProf = 27, kSigIo = 29, kSigSys = 31, kSigCancel = 32, kSigSetxid = 33;

constexpr u64 sig_bit(int sig) { return u64{1} << (sig - 1); }

struct KSigaction {
  void* handler;
  u64 flags;
  void* restorer;
  u64 mask;
};

struct SigStack { void* sp; i32 flags; u32 pad; u64 size; };

struct SigInfo {  // 128 bytes; the first words of every variant
  i32 signo, err, code, pad;
  union {
    struct { i32 pid; u32 uid; u64 value; } kill;
    struct { u64 addr; } fault;
    u8 raw[112];
  };
};

struct UContext {
  u64 flags;
  UContext* link;
  SigStack stack;
  u64 r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
  u16 cs, gs, fs, ss;
  u64 err, trapno, oldmask, cr2;
  u8* fpstate;
  u64 reserved[8];
  u64 sigmask;
};

struct SigFrame {  // what the kernel puts on the stack, lowest address first; fpstate lies above
  void* pretcode;
  UContext uc;
  SigInfo info;
};

inline i64 sigaction(int sig, const KSigaction* sa, KSigaction* old) { return sys(__NR_rt_sigaction, sig, sa, old, 8); }
inline i64 sigprocmask(int how, const u64* set, u64* old) { return sys(__NR_rt_sigprocmask, how, set, old, 8); }
inline i64 sigaltstack(const SigStack* ss, SigStack* old) { return sys(__NR_sigaltstack, ss, old); }
inline u64 set_mask(u64 m) { u64 old = 0; sigprocmask(2 /* SIG_SETMASK */, &m, &old); return old; }

}  // namespace gmpt::os
