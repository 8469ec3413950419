// rt/self.cc -- reading the environment, finding libc's functions, deadlines.
#include "rt/self.h"

#include "arch/x86_64.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "base/mem.h"
#include "base/options.h"
#include "core/realclock.h"
#include "os/auxv.h"
#include "os/clock.h"
#include "os/libc.h"
#include "rt/fork.h"
#include "rt/kstate.h"

#include <linux/auxvec.h>
#include <string.h>

extern "C" {
__attribute__((weak)) void __asan_init();
__attribute__((weak)) void __tsan_init();
__attribute__((weak)) void __msan_init();
}

namespace gmpt::rt {

__thread G* tls_g __attribute__((tls_model("initial-exec")));
__thread uptr tls_syscall_frame __attribute__((tls_model("initial-exec")));
__thread bool tls_vfork_child __attribute__((tls_model("initial-exec")));
Mode mode = Mode::kCold;

namespace {

u32 tid_offset;

void warn_option(const char* var, const char* value) {
  char buf[256];
  Fmt f(buf, sizeof buf);
  f.str("libgmp: ignoring ").str(var).chr('=').str(value).str(": not a valid value; the default stands\n");
  os::write_err(f.data(), f.size());
}

// Tools that follow every thread by its kernel thread, or simulate the machine: what runs them, or null.
const char* tool_around() {
  for (char** e = os::environ_(); e && *e; e++)
    if (str_has_prefix(*e, "LD_PRELOAD=") && strstr(*e, "/vgpreload_")) return "valgrind";
  return __asan_init || __tsan_init || __msan_init ? "a sanitizer's run-time library" : nullptr;
}

bool stays_native() {
  const char* tool = tool_around();
  if (!tool) return false;
  char buf[160];
  Fmt f(buf, sizeof buf);
  f.str("libgmp: threads stay native under ").str(tool).chr('\n');
  os::write_err(f.data(), f.size());
  return true;
}

}  // namespace

// May run before any constructor, on the only thread; a second thread can exist only after this.
GMPT_NOINLINE Mode warm_up() {
  if (mode != Mode::kCold) return mode;
  fatal_sink = &os::write_err;
  os::auxv_init();
  os::clock_init();
  os::real_init();
  if (!os::auxv(AT_SECURE)) options_read(os::environ_(), &warn_option);
  const os::LibcPrivate& p = os::libc_private();
  if (p.desc_tid) tid_offset = p.desc_tid[2];
  mode = options.disable || !tid_offset || stays_native() ? Mode::kOff : Mode::kOn;
  if (mode == Mode::kOn) fork_boot(), kstate_boot();
  return mode;
}

i32 self_tid() { return *reinterpret_cast<i32*>(arch::thread_pointer() + tid_offset); }

u64 deadline_rel(const timespec* t) {
  if (t->tv_nsec < 0 || t->tv_nsec >= 1000000000 || t->tv_sec < 0) return kBadDeadline;
  u64 now = os::now_ns();
  if (static_cast<u64>(t->tv_sec) > (kNever - now) / kSec - 2) return kNever;
  return now + static_cast<u64>(t->tv_sec) * kSec + static_cast<u64>(t->tv_nsec);
}

u64 deadline_abs(clockid_t clock, const timespec* t) {
  if (t->tv_nsec < 0 || t->tv_nsec >= 1000000000) return kBadDeadline;
  if (t->tv_sec < 0) return 0;
  if (static_cast<u64>(t->tv_sec) > kNever / kSec - 4) return kNever;
  u64 when = static_cast<u64>(t->tv_sec) * kSec + static_cast<u64>(t->tv_nsec);
  if (clock == CLOCK_MONOTONIC) return when;
  G* g = self();
  if (g) core::real_clock_used(g);
  u64 now = os::now_ns(), there = os::clock_ns(clock);
  if (when <= there) return 0;
  u64 left = when - there;
  if (left > kNever - 2 - now) return kNever;
  if (g) g->real_deadline = now + left;
  return now + left;
}

}  // namespace gmpt::rt
