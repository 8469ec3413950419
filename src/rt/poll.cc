// rt/poll.cc -- poll, ppoll, select and pselect as waits in the netpoller.
//
// What it is
//   Ask the kernel without waiting: what it answers (events, POLLNVAL, an error) is the answer. Otherwise
//   hang a watcher on each descriptor and direction, ask again, park, take the watchers off, ask again.
//   The kernel alone says what is ready; a watcher only says when to ask. A descriptor is registered with
//   the netpoller once in its life, so a poll over thousands of them costs a walk over as many list
//   heads, no epoll_ctl calls.
//
// Invariants
//   O1  Between the first watcher and the park the kernel is asked: an edge that came earlier was given to
//       nobody, but what it announced is still there to be seen.
//   O2  Every way out of the runtime passes with no watcher linked and no block held: what runs there, a
//       handler or a cancellation, may unwind.
//   O3  Asking again reads the caller's array, which a correct program leaves alone meanwhile. If it does
//       not, the nodes counted at first are not exceeded.
//   O4  select's sets are rewritten only with a result of 0 or more. The first question is put to the
//       caller's own sets and clears them, so they are put back before an error is returned.
//
// The mask
//   ppoll, pselect and epoll_pwait promise that a signal which only the given mask lets through ends the
//   wait, also if it came before. The mask is changed inside the runtime, where no handler runs: what the
//   kernel then delivers on this M is queued, what had been sent to the thread is pending. The park looks
//   at the thread's signals after it is committed, and the scheduler distributes the queued ones before
//   anything else; both end the wait with kInterrupted. So there is no moment at which a handler could
//   run unnoticed. On the way out the handlers run under the temporary mask, as they do natively, and
//   the old one comes after. With events to return, the old one comes first, and a signal it blocks
//   stays pending.
//   A call that must block in the kernel holds all signals back before its last look and gives the kernel
//   the mask (Signals::block). What is left of the window is this: a signal that only the temporary mask
//   lets through may reach another thread that has it unblocked, as natively it may, too.
//   A wait that was interrupted while no handler ran (cancellation that is disabled, our own signals, a
//   signal that became ignored) goes on: natively such a thing does not end it.
//
// Rejected
//   An epoll instance for each waiting poll: three system calls for each descriptor and round.
//   Keeping watchers linked between rounds: each needs the new wait's number under its lock all the same.
//   Reading revents from the netpoller's events: it knows edges, poll wants levels.
//
// Proof and tests   tests/posix/poll.c   tests/posix/select.c
#include "rt/poll.h"

#include <new>

#include "base/mem.h"
#include "core/netpoll.h"
#include "rt/usermem.h"

namespace gmpt::rt {

using core::Dir;
using core::PollNode;

u64 limit_ms(int ms) {
  if (ms <= 0) return ms ? kNever : 0;
  return os::now_ns() + static_cast<u64>(ms) * kMs;
}

u64 limit_ts(const timespec* t) {
  if (!t) return kNever;
  if (t->tv_sec == 0 && t->tv_nsec == 0) return 0;
  return deadline_rel(t);
}

// ---- masks -----------------------------------------------------------------------------------------

namespace {

void set_mask_inside(G* g, u64 mask) {
  core::M* m = core::mm();
  core::mask_counted(g->sigmask, mask);
  g->sigmask = mask;
  u64 k = core::kernel_mask(mask);
  if (k != m->kmask) {
    core::make_room(m);
    m->kmask = k;
    os::set_mask(k);
  }
  fence();  // post_signal: pending first, then our mask
  if (core::signal_pending_for(g) || core::signals_waiting()) m->pending.fetch_or_acq_rel(core::kPendSignal);
}

}  // namespace

void Signals::begin() {
  if (!masked_) return;
  old_ = g_->sigmask;
  set_mask_inside(g_, mask_ & ~(os::sig_bit(os::kSigKill) | os::sig_bit(os::kSigStop)));
  set_ = true;
}

void Signals::end(i64 r) {
  if (set_ && r != -os::kEINTR && r != kRefused) {
    set_mask_inside(g_, old_);
    set_ = false;
  }
  // Who ended a wait, or found it not yet begun, for a signal leaves its delivery to us.
  if (core::signal_pending_for(g_)) core::mm()->pending.fetch_or_acq_rel(core::kPendSignal);
}

bool Signals::over(i64 r) {
  if (r == -os::kEINTR) {  // a blocked call may have left one behind
    Rt rt(g_);
    end(r);
  }
  if (set_) core::change_mask(g_, 2 /* SIG_SETMASK */, &old_);
  else if (masked_) core::mask_raised(old_ & ~mask_);
  set_ = false;
  if (r <= 0) cancellation_point();  // events that were taken are returned
  return r != -os::kEINTR || handler_ran();
}

// ---- memory ----------------------------------------------------------------------------------------

namespace {

// Blocks for what does not fit on the stack, 8 KiB << class. The lock is only tried: under contention memory
// comes from the kernel. A child forked in the middle of these few stores finds a list in order and at
// worst a wrong count, which only decides what is kept.
struct Block {
  Block* next;
  u32 cls;
};
constexpr size_t kSmallest = 8192, kHead = 64;
constexpr u32 kClasses = 14, kKeep = 32;  // up to 64 MiB: a million nodes
constexpr size_t kKeepBytes = 4 << 20;    // in each class
Block* spare[kClasses];
u32 n_spare[kClasses];
GMPT_GLOBAL_LOCK(spare_lock);

Block* block_take(size_t bytes) {
  u32 c = 0;
  while (kSmallest << c < bytes + kHead) c++;
  if (c < kClasses && spare_lock.try_lock()) {
    Block* b = spare[c];
    if (b) spare[c] = b->next, n_spare[c]--;
    spare_lock.unlock();
    if (b) return b;
  }
  Block* b = static_cast<Block*>(os::map(kSmallest << c));
  if (b) b->cls = c;
  return b;
}

void block_give(Block* b) {
  u32 c = b->cls;
  if (c < kClasses && spare_lock.try_lock()) {
    bool keep = n_spare[c] < kKeep && (n_spare[c] == 0 || (n_spare[c] + 1) * (kSmallest << c) <= kKeepBytes);
    if (keep) b->next = spare[c], spare[c] = b, n_spare[c]++;
    spare_lock.unlock();
    if (keep) return;
  }
  os::unmap(b, kSmallest << c);
}

// Room for n objects without constructors; inside the runtime.
template <class T, u32 kLocal>
class Room {
 public:
  explicit Room(size_t n) {
    if (GMPT_UNLIKELY(n > kLocal)) {
      block_ = block_take(n * sizeof(T));
      at_ = block_ ? reinterpret_cast<T*>(reinterpret_cast<u8*>(block_) + kHead) : nullptr;
    }
  }
  ~Room() {
    if (block_) block_give(block_);
  }
  Room(const Room&) = delete;
  T* get() { return at_; }

 private:
  alignas(T) u8 local_[kLocal * sizeof(T)];
  Block* block_ = nullptr;
  T* at_ = reinterpret_cast<T*>(local_);
};

// ---- the wait --------------------------------------------------------------------------------------

// Regular files and the like are what they are: nothing can be waited for, nothing will change.
bool never_changes(int fd) {
  core::PollDesc* pd = core::fd_desc(fd);
  return pd && (pd->flags.load_relaxed() & core::kNoPoll);
}

// Inside the runtime. each(f) calls f(descriptor, direction) at most `count` times; ask() is the kernel's
// answer without waiting.
template <class Each, class Ask>
i64 wait_rounds(G* g, u32 count, u64 limit, const void* what, Each each, Ask ask) {
  Room<PollNode, 16> room(count);
  PollNode* nodes = room.get();
  if (!nodes) return -os::kENOMEM;
  for (;;) {
    core::Wait w(g);
    u32 used = 0;
    bool refused = false;
    each([&](int fd, Dir dir) {
      if (used == count) return;
      PollNode* n = new (&nodes[used]) PollNode;
      if (core::fd_watch(n, fd, dir, w.w, w.seq)) used++;
      else refused |= !never_changes(fd);
    });
    auto unlink_all = [&] { for (u32 i = 0; i < used; i++) core::fd_unwatch(&nodes[i]); };
    i64 r = ask();
    if (r != 0 || refused) {
      unlink_all();
      w.cancel();
      return r ? r : kRefused;
    }
    Reason why = w.block(limit, Why::kPoll, what);
    unlink_all();
    r = ask();
    if (r != 0) return r;
    if (why == Reason::kInterrupted) return -os::kEINTR;
    // As the kernel, which looks at signals before it looks at the time: a wait of no length may be over before
    // the pending signal could end it.
    if (why == Reason::kTimeout) return core::signal_pending_for(g) || core::signals_waiting_now() ? -os::kEINTR : 0;
  }
}

// The kernel says EINTR even without waiting when any signal is on its way, ours included. Inside the
// runtime no handler runs, and what was queued meets the park.
template <class Call>
i64 asked(G* g, Call call) {
  for (;;) {
    u32 before = g->handled.load_relaxed();
    i64 r = call();
    if (r != -os::kEINTR || g->handled.load_relaxed() != before) return r;
  }
}

// ---- poll ------------------------------------------------------------------------------------------

constexpr short kReadSide = POLLIN | POLLPRI | POLLRDNORM | POLLRDBAND | POLLRDHUP;
constexpr short kWriteSide = POLLOUT | POLLWRNORM | POLLWRBAND;

inline bool wants_write(const pollfd& p) { return p.events & kWriteSide; }
inline bool wants_read(const pollfd& p) { return (p.events & kReadSide) || !wants_write(p); }  // errors come on both

// The first question may be left out: few descriptors, all registered, so that linking costs less than
// asking, and the array certainly readable.
bool may_link_first(const pollfd* p, nfds_t n) {
  if (n > 4 || !on_own_stack(p, n * sizeof *p)) return false;
  constexpr u32 kNeed = core::kSeen | core::kReg;
  for (nfds_t i = 0; i < n; i++) {
    if (p[i].fd < 0) continue;
    core::PollDesc* pd = core::fd_desc(p[i].fd);
    if (!pd || (pd->flags.load_relaxed() & (kNeed | core::kEpollFd)) != kNeed) return false;
  }
  return true;
}

}  // namespace

i64 poll_wait(pollfd* p, nfds_t n, u64 limit, const u64* mask) {
  cancellation_point();
  if (limit == kBadDeadline) return -os::kEINVAL;
  if (mask && !readable(mask, sizeof *mask)) return -os::kEFAULT;
  G* g = self();
  auto ask = [&] { return asked(g, [&] { return os::sys(__NR_poll, p, n, 0); }); };
  if (limit == 0 || !may_link_first(p, n)) {
    i64 r = ask();
    if (r != 0 || (limit == 0 && !mask)) return r;
  }
  u32 count = 0;
  for (nfds_t i = 0; i < n; i++)
    if (p[i].fd >= 0) count += static_cast<u32>(wants_read(p[i])) + wants_write(p[i]);
  auto each = [&](auto f) {
    for (nfds_t i = 0; i < n; i++) {
      if (p[i].fd < 0) continue;
      if (wants_read(p[i])) f(p[i].fd, core::kIn);
      if (wants_write(p[i])) f(p[i].fd, core::kOut);
    }
  };
  i64 r;
  Signals sig(g, mask);
  do {
    r = 0;
    {
      Rt rt(g);
      sig.begin();
      if (limit != 0 || sig.may_end_it()) r = wait_rounds(g, count, limit, p, each, ask);
      sig.end(r);
    }
    if (r == kRefused) r = sig.block(limit, [&](os::Ts* t, u64* m) { return os::sys(__NR_ppoll, p, n, t, m, 8); });
  } while (!sig.over(r));
  return r;
}

// ---- select ----------------------------------------------------------------------------------------

namespace {

constexpr u32 kLocalWords = FD_SETSIZE / 64;

// select(getdtablesize(), …) over plain fd_sets works because the kernel looks no further than its table
// of descriptors. 0: unknown.
u32 table_size() {
  char buf[1024];
  i64 fd = os::sys(__NR_openat, -100, "/proc/self/status", 02000000 /* O_CLOEXEC */, 0);
  if (fd < 0) return 0;
  i64 got = os::sys(__NR_read, fd, buf, sizeof buf - 1);
  os::sys(__NR_close, fd);
  buf[got < 0 ? 0 : got] = 0;
  for (const char* s = buf; *s; s++) {
    if (!str_has_prefix(s, "FDSize:")) continue;
    u32 v = 0;
    for (s += 7; *s == '\t' || *s == ' '; s++) {
    }
    for (; *s >= '0' && *s <= '9'; s++) v = v * 10 + static_cast<u32>(*s - '0');
    return v;
  }
  return 0;
}

struct Sets {
  int n;
  u32 words;
  u64* user[3];  // as the caller gave them: read, write, except
  u64* was[3];   // what they held
  u64* now[3];   // what the kernel is asked with

  void place(u64* mem, u32 each_words) {  // a set that is not asked about stays null
    for (u32 i = 0; i < 3; i++) {
      if (!user[i]) continue;
      was[i] = mem + i * each_words;
      now[i] = mem + (3 + i) * each_words;
    }
  }
  i64 call(u64* const* s, const os::Ts* t, const u64* mask) {
    struct { const u64* mask; size_t n; } m = {mask, 8};
    return os::sys(__NR_pselect6, n, s[0], s[1], s[2], t, mask ? &m : nullptr);
  }
  i64 ask_in(u64* const* s) {
    return asked(self(), [&] {
      os::Ts zero{};
      return call(s, &zero, nullptr);
    });
  }
  i64 ask() {
    copy(now, was);
    return ask_in(now);
  }
  void copy(u64* const* to, u64* const* from) {
    for (u32 i = 0; i < 3; i++)
      if (user[i]) memcpy(to[i], from[i], words * 8);
  }
  void finish(i64 r) {
    if (r > 0) return copy(user, now);
    for (u64* u : user)
      if (u) memset(u, 0, words * 8);
  }
  u64 in(u32 i) const { return (user[0] ? was[0][i] : 0) | (user[2] ? was[2][i] : 0); }
  u64 out(u32 i) const { return user[1] ? was[1][i] : 0; }
  u32 count() const {
    u32 c = 0;
    for (u32 i = 0; i < words; i++) c += static_cast<u32>(__builtin_popcountll(in(i)) + __builtin_popcountll(out(i)));
    return c;
  }
  template <class F>
  void each(F f) const {
    for (u32 i = 0; i < words; i++) {
      for (u64 b = in(i); b; b &= b - 1) f(static_cast<int>(i * 64) + __builtin_ctzll(b), core::kIn);
      for (u64 b = out(i); b; b &= b - 1) f(static_cast<int>(i * 64) + __builtin_ctzll(b), core::kOut);
    }
  }
};

// The sets are copied, then asked in place: from here on they are known to be writable.
i64 select_saved(Sets& s, u64 limit, const u64* mask) {
  s.copy(s.was, s.user);
  i64 r = s.ask_in(s.user);
  if (r != 0) return r;
  G* g = self();
  Signals sig(g, mask);
  do {
    r = 0;
    {
      Rt rt(g);
      sig.begin();
      if (limit != 0 || sig.may_end_it())
        r = wait_rounds(g, s.count(), limit, s.user[0], [&](auto f) { s.each(f); }, [&] { return s.ask(); });
      sig.end(r);
      if (r >= 0) s.finish(r);
      else s.copy(s.user, s.was);
    }
    if (r == kRefused) r = sig.block(limit, [&](os::Ts* t, u64* m) { return s.call(s.user, t, m); });
  } while (!sig.over(r));
  return r;
}

}  // namespace

i64 select_wait(int n, fd_set* r, fd_set* w, fd_set* x, u64 limit, const u64* mask) {
  cancellation_point();
  if (limit == kBadDeadline) return -os::kEINVAL;
  if (mask && !readable(mask, sizeof *mask)) return -os::kEFAULT;
  Sets s{n, 0, {reinterpret_cast<u64*>(r), reinterpret_cast<u64*>(w), reinterpret_cast<u64*>(x)}, {}, {}};
  if (n < 0 || (limit == 0 && !mask)) return s.ask_in(s.user);
  u32 bits = static_cast<u32>(n);
  if (bits > FD_SETSIZE) {
    u32 most = table_size();
    bits = min_of(bits, most ? most : u32{1} << 20);
  }
  s.words = (bits + 63) / 64;
  for (u64* u : s.user)
    if (u && s.words && !readable(u, s.words * 8)) return s.ask_in(s.user);  // EFAULT, or an earlier error
  i64 got;
  if (s.words <= kLocalWords) {
    u64 mem[6][kLocalWords];
    s.place(mem[0], kLocalWords);
    got = select_saved(s, limit, mask);
  } else {
    // Handlers and cancellations may unwind past this frame; the block is lost to them, which costs
    // memory and nothing else. Only sets beyond FD_SETSIZE come here.
    Block* b;
    {
      Rt rt(self());
      b = block_take(size_t{6} * s.words * 8);
    }
    if (!b) return -os::kENOMEM;
    u64* mem = reinterpret_cast<u64*>(reinterpret_cast<u8*>(b) + kHead);
    s.place(mem, s.words);
    got = select_saved(s, limit, mask);
    Rt rt(self());
    block_give(b);
  }
  return got;
}

}  // namespace gmpt::rt
