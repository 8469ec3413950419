// core/trace.cc -- printing; allocation-free, lock-free, racy on purpose.
//
// The schedtrace line, frozen field order:
//   SCHED <ms>ms: gomaxprocs=N idleprocs=N threads=N spinningthreads=N needspinning=N idlethreads=N
//   gs=N runqueue=<global> [ len0 len1 … ] schedticks=[ t0 t1 … ]
#include "core/trace.h"

#include "base/fmt.h"
#include "os/clock.h"

namespace gmpt::core {

namespace {
struct Line : Fmt {
  char buf[4096];
  Line() : Fmt(buf, sizeof buf) {}
  void flush() { os::write_err(data(), size()); }
};
}  // namespace

void trace_line(u64 now) {
  Line l;
  l.str("SCHED ").udec((now - sched.boot_ns) / kMs).str("ms: gomaxprocs=").udec(sched.n_procs);
  l.str(" idleprocs=").udec(sched.n_idle_p.load_relaxed()).str(" threads=").udec(sched.n_ms.load_relaxed() + 1);
  l.str(" spinningthreads=").dec(sched.n_spinning.load_relaxed()).str(" needspinning=").udec(sched.need_spinning.load_relaxed());
  l.str(" idlethreads=").udec(sched.n_idle_m).str(" gs=").udec(sched.n_gs.load_relaxed());
  l.str(" runqueue=").udec(sched.globq_size.load_relaxed()).str(" [");
  for (u32 i = 0; i < sched.n_procs; i++) l.chr(' ').udec(sched.ps[i]->runq.size());
  l.str(" ] schedticks=[");
  for (u32 i = 0; i < sched.n_procs; i++) l.chr(' ').udec(sched.ps[i]->sched_tick.load_relaxed());
  l.str(" ]\n");
  l.flush();
}

void dump_gs() {
  static const char* const states[] = {"dead", "runnable", "running", "waiting"};
  u64 now = os::now_ns();
  for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next) {
    Line l;
    G* g = m->curg;
    l.str("M tid=").dec(m->tid).str(" in_rt=").udec(m->in_rt).str(" in_sys=").udec(m->in_sys.load_relaxed());
    l.str(" spinning=").udec(m->spinning).str(" lost=").udec(m->lost).str(" p=").dec(m->p ? static_cast<i64>(m->p->id) : -1);
    l.str(" g=").dec(g ? static_cast<i64>(g->id) : -1).chr('\n');
    l.flush();
  }
  for (u32 i = 0; i < sched.n_procs; i++) {
    Line l;
    P* p = sched.ps[i];
    u64 w = p->word.load_relaxed();
    l.str("P ").udec(i).str(" word=").hex(w).str(" owner=").dec(w > 1 ? p_owner(w)->tid : 0).str(" runq=").udec(p->runq.size());
    l.str(" next=").udec(p->runq.next.load_relaxed() != nullptr).str(" timers=").udec(p->timers.n).chr('\n');
    l.flush();
  }
  {
    Line l;
    l.str("sched globq=").udec(sched.globq_size.load_relaxed()).str(" idle_p=").udec(sched.n_idle_p.load_relaxed());
    l.str(" idle_m=").udec(sched.n_idle_m).str(" spinning=").dec(sched.n_spinning.load_relaxed());
    l.str(" need=").udec(sched.need_spinning.load_relaxed()).str(" last_poll=").udec(sched.last_poll.load_relaxed());
    l.str(" sysmon_waits=").udec(sched.sysmon_waits.load_relaxed()).chr('\n');
    l.flush();
  }
  for (G* g = sched.all_gs.load_acquire(); g; g = g->all_next) {
    GState st = g->state.load_relaxed();
    if (st == GState::kDead) continue;
    Line l;
    l.str("G ").udec(g->id).str(" tid=").dec(g->tid).chr(' ').str(states[static_cast<u32>(st)]);
    l.str(" why=").str(why_name(g->why)).str(" what=").hex(reinterpret_cast<u64>(g->what)).str(" word=").hex(g->waiter.word.load_relaxed());
    l.str(" sp=").hex(g->sp);
    if (g->since) l.str(" ms=").udec((now - g->since) / kMs);
    l.chr('\n');
    l.flush();
  }
}

Stats sum_stats() {
  Stats s = sched.stats;
  for (u32 i = 0; i < sched.n_procs; i++) {
#define COUNTER(name, help) s.name += sched.ps[i]->stats.name;
#include "base/stats.def"
#undef COUNTER
  }
  return s;
}

void print_stats() {
  Stats s = sum_stats();
#define COUNTER(name, help) { Line l; l.str("libgmp: ").str(#name).chr(' ').udec(s.name).str("  # " help "\n"); l.flush(); }
#include "base/stats.def"
#undef COUNTER
}

}  // namespace gmpt::core
