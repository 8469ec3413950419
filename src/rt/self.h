// rt/self.h -- who is calling: a G or not; is the library on; how rt code is called.
//
// What it is
//   tls_g is the one initial-exec TLS word: the G whose control block FS points to, null on every other
//   thread and in a dormant process. on() is false with GMPT_DISABLE=1, after a failed start, and in a child
//   of vfork: then every interposed call goes to libc.
//
// Invariants
//   Objects (mutex, cond, …) are ours whenever on(), dormant or awake, so one layout serves both.
//   Calls that block in the kernel (read, sleep, …) go to libc when self() is null.
#pragma once
#include <errno.h>
#include <time.h>

#include "core/sys.h"
#include "core/waitq.h"
#include "os/real.h"

namespace gmpt::rt {

using core::G;
using core::Reason;
using core::Rt;
using core::Why;

extern __thread G* tls_g __attribute__((tls_model("initial-exec")));
extern __thread uptr tls_syscall_frame __attribute__((tls_model("initial-exec")));  // see preload/syscall.cc
extern __thread bool tls_vfork_child __attribute__((tls_model("initial-exec")));

enum class Mode : u32 { kCold, kOn, kOff };
extern Mode mode;
Mode warm_up();                    // reads the environment, finds libc's functions; idempotent

inline bool on() {
  if (GMPT_LIKELY(mode == Mode::kOn)) return GMPT_LIKELY(!tls_vfork_child);
  return (mode == Mode::kCold ? warm_up() : mode) == Mode::kOn;
}

inline G* self() { return tls_g; }

// What glibc's locks call the owner: the tid in the control block.
i32 self_tid();

// True when the program may have a second thread (some G was made, or libc made one).
bool ensure_awake();               // becomes awake if it can; false: native threads only

// Result of a libc-style call: -1 and errno from -errno.
inline i64 ret(i64 r) {
  if (GMPT_UNLIKELY(r < 0 && r > -4096)) {
    errno = static_cast<int>(-r);
    return -1;
  }
  return r;
}

// Deadlines are CLOCK_MONOTONIC nanoseconds. An absolute time of another clock is converted by the
// difference of now; callers re-check their own clock after a timeout and wait again if it went back.
// kBad: invalid nanoseconds or clock. A past time gives 0.
constexpr u64 kBadDeadline = ~u64{0} - 1;
u64 deadline_abs(clockid_t clock, const struct timespec* t);
u64 deadline_rel(const struct timespec* t);

// A waiting loop's view of kInterrupted: leave the runtime (a handler runs), come back.
// void cancellation_point(): acts on a pending cancellation of the caller; may unwind.
void cancellation_point();

}  // namespace gmpt::rt
