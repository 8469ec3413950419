// os/syscall.h -- raw Linux system calls for x86-64: -errno on failure, never errno.
//
// What it is
//   sys(nr, …) is the instruction; the named wrappers below are the calls the runtime makes itself.
//   Arguments go in rdi rsi rdx r10 r8 r9 (r10, not rcx: the instruction destroys rcx and r11).
//
// Rejected
//   libc's syscall(): it writes errno through FS, which may belong to a G that runs elsewhere.
#pragma once
#include <asm/unistd.h>
#include <linux/time_types.h>

#include "base/base.h"

namespace gmpt::os {

inline i64 sys(i64 n) {
  i64 r; __asm__ volatile("syscall" : "=a"(r) : "a"(n) : "rcx", "r11", "memory"); return r;
}
template <class A>
inline i64 sys(i64 n, A a) {
  i64 r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"((u64)a) : "rcx", "r11", "memory"); return r;
}
template <class A, class B>
inline i64 sys(i64 n, A a, B b) {
  i64 r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"((u64)a), "S"((u64)b) : "rcx", "r11", "memory"); return r;
}
template <class A, class B, class C>
inline i64 sys(i64 n, A a, B b, C c) {
  i64 r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"((u64)a), "S"((u64)b), "d"((u64)c) : "rcx", "r11", "memory"); return r;
}
template <class A, class B, class C, class D>
inline i64 sys(i64 n, A a, B b, C c, D d) {
  register u64 r10 __asm__("r10") = (u64)d;
  i64 r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"((u64)a), "S"((u64)b), "d"((u64)c), "r"(r10) : "rcx", "r11", "memory"); return r;
}
template <class A, class B, class C, class D, class E>
inline i64 sys(i64 n, A a, B b, C c, D d, E e) {
  register u64 r10 __asm__("r10") = (u64)d;
  register u64 r8 __asm__("r8") = (u64)e;
  i64 r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"((u64)a), "S"((u64)b), "d"((u64)c), "r"(r10), "r"(r8) : "rcx", "r11", "memory"); return r;
}
template <class A, class B, class C, class D, class E, class F>
inline i64 sys(i64 n, A a, B b, C c, D d, E e, F f) {
  register u64 r10 __asm__("r10") = (u64)d;
  register u64 r8 __asm__("r8") = (u64)e;
  register u64 r9 __asm__("r9") = (u64)f;
  i64 r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"((u64)a), "S"((u64)b), "d"((u64)c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory"); return r;
}

// The errors the runtime looks at, as the kernel returns them.
enum Err : i64 {
  kEPERM = 1, kENOENT = 2, kESRCH = 3, kEINTR = 4, kEIO = 5, kEBADF = 9, kEAGAIN = 11, kENOMEM = 12, kEFAULT = 14, kEBUSY = 16,
  kEEXIST = 17, kEINVAL = 22, kEPIPE = 32, kEDEADLK = 35, kENOSYS = 38, kELOOP = 40, kEOPNOTSUPP = 95, kETIMEDOUT = 110,
  kEINPROGRESS = 115,
};

using Ts = struct __kernel_timespec;

inline Ts to_ts(u64 ns) { Ts t; t.tv_sec = (i64)(ns / kSec); t.tv_nsec = (i64)(ns % kSec); return t; }

// Maps memory for the runtime itself. Null on failure.
inline void* map(size_t n, bool reserve_only = false) {
  i64 r = sys(__NR_mmap, 0, n, 3 /* read|write */, 0x22 /* private|anonymous */ | (reserve_only ? 0x4000 /* noreserve */ : 0), -1, 0);
  return r < 0 && r > -4096 ? nullptr : reinterpret_cast<void*>(r);
}
inline void unmap(void* p, size_t n) { sys(__NR_munmap, p, n); }
inline i32 getpid() { return (i32)sys(__NR_getpid); }
inline i32 gettid() { return (i32)sys(__NR_gettid); }
inline void write_err(const char* s, size_t n) { sys(__NR_write, 2, s, n); }
inline i64 tgkill(i32 pid, i32 tid, int sig) { return sys(__NR_tgkill, pid, tid, sig); }
inline void sched_yield() { sys(__NR_sched_yield); }

}  // namespace gmpt::os
