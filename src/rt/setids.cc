// rt/setids.cc -- setuid and its family: one call changes every kernel thread of the process.
//
// What it is
//   The kernel knows credentials per thread, POSIX per process. libc visits the threads on its own list; ours
//   are not there, and what is there (the initial thread) may be running some other G. So the visit is ours:
//   the signal libc has for it is sent to every kernel thread of the process, and its handler makes the call
//   there. To all of them before the first answer is waited for: among real-time threads that compute each may have to
//   wait for its slice, and together they wait once.
//
// Invariants
//   U1  The caller's own thread is first: if the kernel refuses there, nothing was changed.
//   U2  The list is read again until it shows nobody new: a thread made meanwhile by one not yet visited has
//       the old credentials, one made by a visited one has the new.
//   U3  The handler uses no TLS and no lock: it may interrupt the scheduler, sysmon or the template.
//   U4  A process with two sets of credentials is not safe to go on: it is aborted, as by libc.
//
// Rejected
//   libc's own broadcast: it waits for an answer in the initial thread's block, which no handler gives when
//   another G runs there.
#include "base/fmt.h"
#include "base/mem.h"
#include "core/boot.h"
#include "os/clock.h"
#include "os/sig.h"
#include "rt/fork.h"
#include "rt/kstate.h"

extern "C" void gmpt_sig_restorer();

namespace gmpt::rt {

namespace {

GMPT_GLOBAL_LOCK(ids_lock);
struct { long nr, a, b, c, want; } cmd;  // ids_lock; read by handlers while one is in turn
constexpr u32 kRoom = 32768;
i32 asked[kRoom];      // ids_lock: kernel threads that are to get the signal; negative once it answered, by its handler
bool unsent[kRoom];    // ids_lock
Atomic<u32> n_asked, answers;
Atomic<u32> differs;   // a thread could not follow

void on_visit(int, os::SigInfo*, void*) {
  if (os::sys(cmd.nr, cmd.a, cmd.b, cmd.c) != cmd.want) differs.store_relaxed(1);
  i32 me = os::gettid();
  for (u32 i = 0, n = n_asked.load_acquire(); i < n; i++)
    if (i32 t = me; as_atomic(&asked[i]).cas_acq_rel(t, -me)) break;
  answers.fetch_add_acq_rel(1);
  os::futex_wake(&answers, 1);
}

bool blocks_it(i32 tid) {
  char buf[4096];
  Fmt f(buf, sizeof buf);
  f.str("/proc/self/task/").dec(tid).str("/status");
  i64 fd = os::sys(__NR_openat, -100, f.c_str(), 02000000, 0);
  if (fd < 0) return true;
  i64 n = os::sys(__NR_read, fd, buf, sizeof buf - 1);
  os::sys(__NR_close, fd);
  for (i64 i = 0; i + 24 < n; i++)
    if (memcmp(buf + i, "\nSigBlk:\t", 9) == 0) return (buf[i + 16] - (buf[i + 16] <= '9' ? '0' : 'a' - 10)) & 1;  // 16 digits: bit 32 is the 8th's lowest
  return true;
}

// The signal is one that is queued, and so counts against RLIMIT_SIGPENDING. False: no room for it.
bool send_to(i32 tid) { return os::tgkill(os::getpid(), tid, os::kSigSetxid) != -EAGAIN; }

void wait_for(u32 i) {
  u64 start = os::now_ns();
  for (i32 t;;) {
    u32 before = answers.load_acquire();
    if ((t = as_atomic(&asked[i]).load_acquire()) < 0 || os::tgkill(os::getpid(), t, 0) != 0) return;
    if (unsent[i]) unsent[i] = !send_to(t);
    os::futex_wait(&answers, before, unsent[i] ? 1 * kMs : 20 * kMs);
    if (as_atomic(&asked[i]).load_acquire() < 0 || os::now_ns() - start <= 1000 * kMs) continue;
    if (unsent[i]) return differs.store_relaxed(1);  // there is no room for it, and will be none
    // A thread of the program's own making that blocks everything; ours do so for moments only.
    if (blocks_it(t)) return;
  }
}

void ask(i32 tid, i32 me) {
  u32 n = n_asked.load_relaxed();
  if (tid <= 0 || tid == me) return;
  for (u32 i = 0; i < n; i++)
    if (i32 t = as_atomic(&asked[i]).load_relaxed(); t == tid || t == -tid) return;
  if (n == kRoom) return void(send_to(tid));  // not waited for
  as_atomic(&asked[n]).store_relaxed(tid);
  n_asked.store_release(n + 1);
  unsent[n] = !send_to(tid);
}

// Asks everybody who was not yet asked, and waits for them. False: there was nobody new.
bool ask_new(i32 me) {
  u32 from = n_asked.load_relaxed();
  i64 dir = os::sys(__NR_openat, -100, "/proc/self/task", 02200000 /* O_DIRECTORY | O_CLOEXEC */, 0);
  alignas(8) u8 buf[4096];
  if (dir < 0) {  // no /proc: at least our own
    for (core::M* m = core::sched.all_ms.load_acquire(); m; m = m->all_next) ask(m->tid, me);
  }
  for (i64 got; dir >= 0 && (got = os::sys(__NR_getdents64, dir, buf, sizeof buf)) > 0;)
    for (i64 at = 0; at < got;) {
      struct Entry { u64 ino; i64 off; u16 len; u8 type; char name[]; };
      auto* e = reinterpret_cast<Entry*>(buf + at);
      i32 tid = 0;
      for (const char* c = e->name; *c >= '0' && *c <= '9'; c++) tid = tid * 10 + (*c - '0');
      ask(tid, me);
      at += e->len;
    }
  if (dir >= 0) os::sys(__NR_close, dir);
  u32 to = n_asked.load_relaxed();
  for (u32 i = from; i < to; i++) wait_for(i);
  return to != from;
}

}  // namespace

i64 set_ids(long nr, long a, long b, long c) {
  G* g = self();
  if (g) core::pin(g);
  ids_lock.lock();
  i64 r = os::sys(nr, a, b, c);
  if (r >= 0) {
    cmd = {nr, a, b, c, r};
    os::KSigaction now{}, was{};
    now.handler = reinterpret_cast<void*>(&on_visit);
    now.flags = os::kSaSiginfo | os::kSaOnstack | os::kSaRestart | os::kSaNodefer | os::kSaRestorer;
    now.restorer = reinterpret_cast<void*>(&gmpt_sig_restorer);
    os::sigaction(os::kSigSetxid, &now, &was);
    i32 me = os::gettid();
    n_asked.store_release(0);
    while (ask_new(me)) {}
    os::sigaction(os::kSigSetxid, &was, nullptr);
  }
  bool mixed = differs.exchange_acq_rel(0);
  ids_lock.unlock();
  if (mixed) {
    TrueFs fs;
    os::real().abort();
  }
  if (g) core::unpin(g);
  return r;
}

}  // namespace gmpt::rt
