// core/netpoll.cc -- the epoll side.
//
// Rejected
//   One registration per wait (oneshot): an epoll_ctl for each request. O_NONBLOCK on the program's files:
//   visible to every process that shares them.
#include "core/netpoll.h"

#include <linux/eventpoll.h>

#include "core/park.h"
#include "core/realclock.h"

namespace gmpt::core {

Atomic<u32> fork_era;

namespace {

constexpr u32 kMaxFds = 1 << 20;
constexpr u32 kBatch = 128;
constexpr u64 kBreakTag = ~u64{0};
constexpr u32 kEpIn = 1, kEpPri = 2, kEpOut = 4, kEpErr = 8, kEpHup = 16, kEpRdhup = 0x2000, kEpEt = 1u << 31;

struct Event { u32 events; u64 data; } __attribute__((packed));

PollDesc* table;
Atomic<i32> epfd{-1}, breakfd{-1};
Atomic<i32>* const own[] = {&epfd, &breakfd};
Atomic<u32> started;
Atomic<u32> n_waiters;
Atomic<u32> breaking;
bool no_pwait2;
GMPT_GLOBAL_LOCK(start_lock);

bool make() {  // start_lock held, or alone
  if (epfd.load_relaxed() >= 0) return true;
  i64 e = os::sys(__NR_epoll_create1, 02000000);
  i64 b = os::sys(__NR_eventfd2, 0, 02004000);
  if (e < 0 || b < 0) {
    if (e >= 0) os::sys(__NR_close, e);
    if (b >= 0) os::sys(__NR_close, b);
    return false;
  }
  // High numbers: programs expect the lowest ones for themselves, and some close or count them.
  i64 e2 = os::sys(__NR_fcntl, e, 1030 /* F_DUPFD_CLOEXEC */, 1000), b2 = os::sys(__NR_fcntl, b, 1030, 1000);
  if (e2 >= 0) os::sys(__NR_close, e), e = e2;
  if (b2 >= 0) os::sys(__NR_close, b), b = b2;
  epfd.store_relaxed(static_cast<i32>(e));
  breakfd.store_relaxed(static_cast<i32>(b));
  Event ev{kEpIn, kBreakTag};
  os::sys(__NR_epoll_ctl, e, 1, b, &ev);
  return true;
}

bool start() {
  if (started.load_acquire()) return true;
  os::Guard l(start_lock);
  if (started.load_relaxed()) return true;
  if (!make()) return false;
  sched.last_poll.store_release(1);
  started.store_release(1);
  return true;
}

// pd locked. 0, or -errno of the refusal.
i64 ensure_registered(PollDesc* pd, int fd) {
  u32 f = pd->flags.load_relaxed();
  if ((f & kReg) && (f & kSeen) && !(f & kEpollFd)) return 0;
  if (f & kNoPoll && f & kSeen) return -os::kEPERM;
  if (!start()) return -os::kEPERM;
  Event ev{kEpIn | kEpOut | kEpPri | kEpRdhup | kEpEt, static_cast<u32>(fd) | u64{pd->gen} << 32};
  i64 r = os::sys(__NR_epoll_ctl, epfd.load_relaxed(), f & kReg ? 3 /* MOD */ : 1 /* ADD */, fd, &ev);
  if (r == -os::kEEXIST) r = os::sys(__NR_epoll_ctl, epfd.load_relaxed(), 3, fd, &ev);
  else if (r == -os::kENOENT) r = os::sys(__NR_epoll_ctl, epfd.load_relaxed(), 1, fd, &ev);
  if (r == 0) pd->flags.fetch_or_acq_rel(kReg);
  else if (r == -os::kEPERM) pd->flags.fetch_or_acq_rel(kNoPoll);
  return r;
}

void link(PollDesc* pd, PollNode* n) {
  u32 d = n->dir;
  n->pd = pd;
  n->next = nullptr;
  n->prev = pd->tail[d];
  if (n->prev) n->prev->next = n;
  else pd->head[d].store_relaxed(n);
  pd->tail[d] = n;
  n->linked = true;
  n_waiters.fetch_add_relaxed(1);
}

void unlink(PollDesc* pd, PollNode* n) {
  u32 d = n->dir;
  if (n->prev) n->prev->next = n->next;
  else pd->head[d].store_relaxed(n->next);
  if (n->next) n->next->prev = n->prev;
  else pd->tail[d] = n->prev;
  n->linked = false;
  n_waiters.fetch_sub_acq_rel(1);
}

// pd locked: all watchers and one consumer. That one stays linked until it runs, so that a close before its attempt
// moves it as it moves those who wait: else it would read from whatever file has the number next.
void claim_waiters(PollDesc* pd, u32 d, bool watchers, GList* l) {
  bool consumer = false;
  for (PollNode* n = pd->head[d].load_relaxed(); n;) {
    PollNode* after = n->next;
    Waiter* w = n->w;
    if (n->watcher && watchers) {
      u32 seq = n->seq;
      unlink(pd, n);
      wake_claimed(w, w->claim(seq, Reason::kWoken), l);
    } else if (!n->watcher && !consumer && !n->claimed) {
      n->claimed = true;  // by us, or it has ended its wait otherwise
      consumer = wake_claimed(w, w->claim(n->seq, Reason::kWoken), l);
    }
    n = after;
  }
}

void count_edge(PollDesc* pd, u32 d) { pd->edges[d].store_release((pd->edges[d].load_relaxed() + 1) & ~(1u << 31)); }  // [edge]

void on_event(const Event& e, GList* l) {
  u32 fd = static_cast<u32>(e.data);
  PollDesc* pd = &table[fd];
  os::Guard g(pd->lock);
  if (pd->gen != static_cast<u32>(e.data >> 32)) return;  // fetched before a close; its successor is another file
  bool end = e.events & (kEpErr | kEpHup);
  bool in = end || (e.events & (kEpIn | kEpPri | kEpRdhup)), out = end || (e.events & kEpOut);
  if (end || (e.events & (kEpRdhup | kEpPri))) pd->flags.fetch_or_acq_rel(kHup);
  if (in) count_edge(pd, kIn);
  if (out) count_edge(pd, kOut);
  if (in) claim_waiters(pd, kIn, true, l);
  if (out) claim_waiters(pd, kOut, true, l);
}

}  // namespace

bool netpoll_started() { return started.load_acquire(); }
bool netpoll_start() { return start(); }
bool netpoll_watch_clock(int fd) {
  Event ev{kEpIn | kEpEt, kClockTag};
  return os::sys(__NR_epoll_ctl, epfd.load_relaxed(), 1, fd, &ev) == 0;
}
bool netpoll_listen() {
  if (!netpoll_start()) return false;
  n_waiters.fetch_add_relaxed(1);
  return true;
}
void netpoll_unlisten() { n_waiters.fetch_sub_acq_rel(1); }
bool netpoll_has_waiters() { return n_waiters.load_relaxed() != 0; }

// Gs returned are kRunnable but on no queue yet.
void netpoll(i64 delay, GList* out) {
  Event ev[kBatch];
  i64 n;
  for (;;) {
    if (delay <= 0 || no_pwait2) {
      i64 ms = delay < 0 ? -1 : delay == 0 ? 0 : min_of((delay + 999999) / 1000000, i64{1000000000});
      n = os::sys(__NR_epoll_pwait, epfd.load_relaxed(), ev, kBatch, ms, 0, 8);
    } else {
      os::Ts t = os::to_ts(static_cast<u64>(delay));
      n = os::sys(441 /* epoll_pwait2 */, epfd.load_relaxed(), ev, kBatch, &t, 0, 8);
      if (n == -os::kENOSYS) {
        no_pwait2 = true;
        continue;
      }
    }
    break;  // EINTR: the caller looks at signals and comes back
  }
  GList l;
  for (i64 i = 0; i < n; i++) {
    if (GMPT_UNLIKELY(ev[i].data == kClockTag)) {
      real_clock_was_set(out);
      continue;
    }
    if (ev[i].data == kBreakTag) {
      if (delay != 0) {
        u64 junk;
        os::sys(__NR_read, breakfd.load_relaxed(), &junk, 8);
        breaking.store_release(0);
      }
      continue;
    }
    on_event(ev[i], &l);
    sched.stats.poll_events++;
  }
  while (!l.empty()) {
    G* g = l.pop();
    g->state.store_release(GState::kRunnable);
    out->push(g);
  }
}

void netpoll_break() {
  if (!started.load_acquire() || breaking.exchange_acq_rel(1)) return;
  u64 one = 1;
  if (os::sys(__NR_write, breakfd.load_relaxed(), &one, 8) < 0) breaking.store_release(0);
}

PollDesc* fd_desc(int fd) {
  if (GMPT_UNLIKELY(static_cast<u32>(fd) >= kMaxFds)) return nullptr;
  if (GMPT_UNLIKELY(!table)) {
    os::Guard l(start_lock);
    if (!table) table = static_cast<PollDesc*>(os::map(size_t{kMaxFds} * sizeof(PollDesc), true));
  }
  return table ? &table[fd] : nullptr;
}

void fd_opened(int fd, u32 flags) {
  PollDesc* pd = fd_desc(fd);
  if (!pd) return;
  os::Guard l(pd->lock);
  pd->gen++;
  pd->drained.store_relaxed(0);
  pd->era.store_relaxed(fork_era.load_acquire());
  pd->flags.store_release(kSeen | flags);
}

void fd_forget(int fd) {
  PollDesc* pd = table ? fd_desc(fd) : nullptr;
  if (!pd || !pd->flags.load_relaxed()) return;
  os::Guard l(pd->lock);
  pd->gen++;
  pd->flags.store_release(0);
}

void fd_closing(int fd) {
  PollDesc* pd = table ? fd_desc(fd) : nullptr;
  if (!pd || (!pd->flags.load_relaxed() && !pd->head[0].load_relaxed() && !pd->head[1].load_relaxed())) return;
  os::Guard l(pd->lock);
  u32 f = pd->flags.load_relaxed();
  bool waiting = false;
  for (u32 d = 0; d < 2; d++)
    for (PollNode* n = pd->head[d].load_relaxed(); n; n = n->next) waiting |= !n->watcher;
  if (waiting) {
    // As on Linux, a blocked call keeps the open file alive: its waiters go on with a private number.
    i64 to = os::sys(__NR_fcntl, fd, 1030, 1000);
    PollDesc* np = to >= 0 ? fd_desc(static_cast<i32>(to)) : nullptr;
    if (np) {
      os::Guard l2(np->lock);  // a fresh number: nobody else has it, so the order of the two is free
      np->gen++;
      np->flags.store_release(kSeen | kShared | (f & (kSocket | kStream | kScm | kTypeKnown)));
      np->moved_users = 0;
      for (u32 d = 0; d < 2; d++)
        for (PollNode* n = pd->head[d].load_relaxed(); n;) {
          PollNode* after = n->next;
          if (!n->watcher) {
            unlink(pd, n);
            n->fd = static_cast<i32>(to);
            link(np, n);
            np->moved_users++;
          }
          n = after;
        }
      ensure_registered(np, static_cast<i32>(to));
    }
  }
  // The kernel drops the registration with the last reference to the file; only if there may be others is
  // it taken back by hand, else their traffic would wake us.
  if ((f & kReg) && (waiting || !fd_private(pd))) os::sys(__NR_epoll_ctl, epfd.load_relaxed(), 2, fd, 0);
  pd->gen++;
  pd->flags.store_release(0);
}

void fd_closed(Rt& rt, PollDesc* pd) {
  GList l;
  {
    os::Guard g(pd->lock);
    for (u32 d = 0; d < 2; d++) {
      while (PollNode* n = pd->head[d].load_relaxed()) {
        Waiter* w = n->w;
        u32 seq = n->seq;
        unlink(pd, n);
        wake_claimed(w, w->claim(seq, Reason::kWoken), &l);
      }
    }
  }
  rt.ready(&l);
}

void fd_release(PollNode* n) {
  PollDesc* pd = n->pd;
  bool last;
  {
    os::Guard l(pd->lock);
    last = --pd->moved_users == 0;
    if (last) {
      pd->gen++;
      pd->flags.store_release(0);
    }
  }
  if (last) os::sys(__NR_close, n->fd);
}

Reason fd_wait(Rt& rt, PollDesc* pd, PollNode* n, int fd, Dir dir, u32 seen, u64 deadline, Why why) {
  pd->lock.lock();
  if (fd_edge(pd, dir) != seen) {  // N1
    pd->lock.unlock();
    n->fd = fd;
    return Reason::kWoken;
  }
  if (i64 r = ensure_registered(pd, fd); r < 0) {
    pd->lock.unlock();
    return Reason::kClosed;
  }
  Wait w(rt);
  n->w = w.w;
  n->seq = w.seq;
  n->fd = fd;
  n->dir = dir;
  n->claimed = false;
  link(pd, n);
  pd->lock.unlock();
  Reason r = w.block(deadline, why, reinterpret_cast<const void*>(static_cast<uptr>(fd)));
  for (;;) {  // close() may have moved the node; pd is then the new one
    PollDesc* at = as_atomic(&n->pd).load_acquire();
    os::Guard l(at->lock);
    if (as_atomic(&n->pd).load_acquire() != at) continue;
    if (n->linked) unlink(at, n);
    break;
  }
  return r;
}

bool fd_watch(PollNode* n, int fd, Dir dir, Waiter* w, u32 seq) {
  PollDesc* pd = fd_desc(fd);
  if (!pd) return false;
  os::Guard l(pd->lock);
  if (ensure_registered(pd, fd) < 0) return false;
  n->w = w;
  n->seq = seq;
  n->fd = fd;
  n->dir = dir;
  n->watcher = true;
  link(pd, n);
  return true;
}

void fd_unwatch(PollNode* n) {
  if (!n->pd) return;
  os::Guard l(n->pd->lock);
  if (n->linked) unlink(n->pd, n);
}

void fd_pass_on(Rt& rt, PollDesc* pd, Dir dir) {
  GList l;
  {
    os::Guard g(pd->lock);
    claim_waiters(pd, dir, false, &l);
  }
  rt.ready(&l);
}

// Callers are G's outside the runtime; the lock is for those inside.
void fd_more(PollDesc* pd, Dir dir) {
  os::Guard l(pd->lock);
  count_edge(pd, dir);
}

bool netpoll_boot() { return make(); }

namespace {
i32 private_own[2] = {-1, -1};  // sysmon's: the numbers in its table; -1 = it shares the program's
}

bool netpoll_private_table() {
  private_own[0] = private_own[1] = -1;
  u32 a = static_cast<u32>(min_of(epfd.load_relaxed(), breakfd.load_relaxed())), b = static_cast<u32>(max_of(epfd.load_relaxed(), breakfd.load_relaxed()));
  if (epfd.load_relaxed() < 0 || os::sys(436 /* close_range */, b + 1, ~0u, 2 /* CLOSE_RANGE_UNSHARE */) != 0) return false;
  if (a + 1 < b) os::sys(436, a + 1, b - 1, 0);
  if (a > 0) os::sys(436, 0, a - 1, 0);
  for (u32 i = 0; i < 2; i++) private_own[i] = own[i]->load_relaxed();
  return true;
}

void netpoll_follow() {
  for (u32 i = 0; i < 2; i++) {
    i32 now = own[i]->load_relaxed();
    if (GMPT_LIKELY(private_own[i] == now || private_own[i] < 0)) continue;
    os::sys(__NR_dup3, private_own[i], now, 02000000);
    os::sys(__NR_close, private_own[i]);
    private_own[i] = now;
  }
}

int netpoll_own(u32 i) { return own[i]->load_relaxed(); }
bool netpoll_owns(int fd) { return fd >= 0 && (fd == epfd.load_relaxed() || fd == breakfd.load_relaxed()); }

// Who sleeps on the old number sleeps on the same instance.
void netpoll_vacate(int fd) {
  os::Guard l(start_lock);
  for (Atomic<i32>* f : own) {
    if (fd < 0 || fd != f->load_relaxed()) continue;
    i64 to = os::sys(__NR_fcntl, fd, 1030, 1000);
    if (to >= 0) f->store_relaxed(static_cast<i32>(to));
  }
}

void netpoll_child() {
  private_own[0] = private_own[1] = -1;
  for (Atomic<i32>* f : own) {
    if (f->load_relaxed() >= 0) os::sys(__NR_close, f->load_relaxed());
    f->store_relaxed(-1);
  }
  started.store_release(0);
  n_waiters.store_relaxed(0);
  breaking.store_relaxed(0);
  if (table) os::sys(__NR_madvise, table, size_t{kMaxFds} * sizeof(PollDesc), 4 /* MADV_DONTNEED */);
}

}  // namespace gmpt::core
