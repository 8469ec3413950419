// rt/awake.cc -- from dormant to awake: what must be done with libc's help before the first G.
//
// What it is
//   The first pthread_create comes here. One real thread is started and joined: from then on glibc and
//   libstdc++ stop taking their single-thread shortcuts (unlocked malloc and stdio, plain reference
//   counts), and in passing it shows where a thread keeps its resolver state.
//
// Invariants
//   A failed start leaves the program on native threads, after one line on stderr.
#include "arch/x86_64.h"
#include "base/fmt.h"
#include "core/boot.h"
#include "os/fs.h"
#include "os/tcb.h"
#include "rt/thread.h"

namespace gmpt::rt {

namespace {

GMPT_GLOBAL_LOCK(wake_lock);
struct Probe { i64 res_state; int* (*resp)(); };

// On a real thread: __resp points into its own struct pthread.
void* on_real_thread(void* arg) {
  i64* out = static_cast<i64*>(arg);
  u64* resp = static_cast<u64*>(dlsym(RTLD_DEFAULT, "__resp"));
  uptr me = arch::thread_pointer();
  if (!resp) return nullptr;
  out[0] = static_cast<i64>(reinterpret_cast<uptr>(resp) - me);
  out[1] = static_cast<i64>(*resp - me);
  return nullptr;
}

const char* start() {
  pthread_t t;
  i64 found[2] = {0, 0};
  if (os::real().pthread_create(&t, nullptr, on_real_thread, found) != 0) return "a first thread";
  os::real().pthread_join(t, nullptr);
  i64 g_word = static_cast<i64>(reinterpret_cast<uptr>(&tls_g) - arch::thread_pointer());
  G* main_g;
  if (const char* missing = core::boot(g_word, &main_g)) return missing;
  if (found[0] < 0 && found[1] > 0 && found[1] < static_cast<i64>(os::tcb.size)) {
    os::tcb.resp_word = found[0];
    os::tcb.res_state = found[1];
  }
  thread_defaults();
  if (main_g) thread_adopt_main(main_g);
  core::booted(main_g);
  if (main_g) tls_g = main_g;
  return nullptr;
}

}  // namespace

bool ensure_awake() {
  if (GMPT_LIKELY(core::awake())) return true;
  if (!on()) return false;
  os::Guard l(wake_lock);  // kernel threads of libc may race to be first; they block each other here
  if (core::awake()) return true;
  if (mode == Mode::kOff) return false;
  const char* missing = start();
  if (!missing) return true;
  mode = Mode::kOff;
  char buf[160];
  Fmt f(buf, sizeof buf);
  f.str("libgmp: cannot start (no ").str(missing).str("); the program runs on native threads\n");
  os::write_err(f.data(), f.size());
  return false;
}

}  // namespace gmpt::rt
