// rt/sock.cc -- accept and connect for Gs.
//
// What it is
//   Neither has a "do not wait" flag. accept asks first; among the Gs of this process one at a time
//   asks and accepts (kAccepting), so the call blocks only if another process was faster, and then it
//   blocks as it would natively, without its P. connect is made as a blocking call with the P on offer.
//   A TCP listener tells how many connections wait. Where nobody else can take them that many are accepted
//   without asking again, and after the last one the next accept parks without asking (netpoll.h N2).
//
// Invariants
//   A success that may have left something counts as an edge and wakes the next waiter: one edge may stand for many
//   connections, and a G that found another one accepting must look again.
//
// Rejected
//   To accept after every edge unasked: an edge may be counted long after its connection was taken, and the
//   call would block with the turn held.
#include "rt/io.h"

#include <netinet/tcp.h>
#include <stddef.h>

namespace gmpt::rt {

using namespace core;

namespace {

i64 accept_raw(int fd, struct sockaddr* a, socklen_t* len, int flags) {
  return os::sys(__NR_accept4, fd, a, len, flags);
}

// With kAccepting held a cancellation must not unwind, or every later accept would wait for the flag. A connection
// pends, so the call blocks only if another process was faster; then a request is acted upon after it.
i64 accept_held(G* g, int fd, struct sockaddr* a, socklen_t* len, int flags) {
  for (;;) {
    u32 before = g->handled.load_relaxed();
    core::sys_begin();
    i64 c = accept_raw(fd, a, len, flags);
    core::sys_end();
    if (c != -EINTR || g->handled.load_relaxed() != before) return c;
  }
}

i64 opened(i64 c, u32 listener, int flags) {
  if (c < 0) return c;
  u32 f = kTypeKnown | kSocket | (listener & (kStream | kScm)) | kNbKnown | (flags & SOCK_NONBLOCK ? u32{kNb} : 0);
  fd_opened(static_cast<int>(c), f);
  return c;
}

void more(PollDesc* pd) {
  Rt rt(self());
  fd_more(pd, kIn);
}

// With kAccepting held: PollDesc::pending if how many connections wait is known, kSome if at least one or an error to
// be told, 0 if none.
constexpr u64 kSome = ~u64{0};
u64 pending(int fd, PollDesc* pd, u32 seen) {
  u32 f = pd->flags.load_relaxed();
  if (fd_private(pd) && (f & (kStream | kScm | kNoCount)) == kStream) {
    u64 gen = u64{as_atomic(&pd->gen).load_relaxed()} << 32, known = pd->pending.load_relaxed();
    if (known > gen && known - gen < 1u << 31 && !(f & kHup)) return known;
    struct tcp_info info;
    socklen_t len = offsetof(struct tcp_info, tcpi_sacked);
    i64 r = os::sys(__NR_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &info, &len);
    if (r == 0 && len == offsetof(struct tcp_info, tcpi_sacked) && info.tcpi_state == TCP_LISTEN) {
      if (!info.tcpi_unacked) return 0;
      pd->counted_at = seen;
      pd->pending.store_relaxed(gen | info.tcpi_unacked);
      return gen | info.tcpi_unacked;
    }
    pd->flags.fetch_or_acq_rel(kNoCount);
  }
  struct pollfd p = {fd, POLLIN, 0};
  if (os::sys(__NR_poll, &p, 1, 0) != 0) return kSome;
  // On what does not listen the call fails at once, where poll may have nothing to say.
  if ((f & (kSeen | kListens | kHup)) == (kSeen | kListens)) return 0;
  int yes = 0;
  socklen_t len = sizeof yes;
  if (os::sys(__NR_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &len) != 0 || !yes) return kSome;
  pd->flags.fetch_or_acq_rel(kListens);
  return 0;
}

// After an accept with so many pending. True if others have to look. The number may be another socket's by now: the
// exchange fails then.
bool accepted(PollDesc* pd, u64 known, bool well) {
  if (known == kSome) return true;
  bool counts = pd->pending.cas_acq_rel(known, known - 1) && well && fd_private(pd);
  if (!counts) return pd->pending.store_relaxed(0), true;
  if (static_cast<u32>(known) > 1 || (pd->flags.load_relaxed() & (kReg | kHup)) != kReg) return true;
  pd->drained.store_relaxed(pd->counted_at);
  return false;
}

bool known_empty(PollDesc* pd, u32 seen) {
  return pd->drained.load_relaxed() == seen && fd_private(pd) && (pd->flags.load_relaxed() & (kReg | kHup)) == kReg;
}

}  // namespace

i64 io_accept(int fd, struct sockaddr* a, socklen_t* len, int flags) {
  cancellation_point();
  G* g = self();
  Blocked op(fd, kIn, Why::kAccept);
  for (;;) {
    PollDesc* pd = op.pd();
    if (!pd || fd_nonblocking(op.fd(), pd)) {
      i64 c = opened(accept_raw(op.fd(), a, len, flags), pd ? pd->flags.load_relaxed() : 0, flags);
      if (pd) pd->pending.store_relaxed(0);  // one of those known may be gone
      return c;
    }
    u32 seen = fd_edge(pd, kIn);
    if (!known_empty(pd, seen) && !(pd->flags.fetch_or_acq_rel(kAccepting) & kAccepting)) {
      if (u64 n = pending(op.fd(), pd, seen)) {
        i64 c = accept_held(g, op.fd(), a, len, flags);
        bool look = accepted(pd, n, c >= 0);  // also after an error: those who found us accepting have to look
        u32 at = pd->counted_at, f = pd->flags.fetch_and_acq_rel(~u32{kAccepting});
        if (look || fd_edge(pd, kIn) != at) more(pd);  // or something came since the count, and whoever it woke found us
        op.done();
        return opened(c, f, flags);
      }
      pd->flags.fetch_and_acq_rel(~u32{kAccepting});
      if (fd_edge(pd, kIn) != seen) continue;  // came while we held the turn; whoever it woke may have parked again
    }
    i64 r = op.wait(seen);
    if (r == Blocked::kMustBlock) return opened(blocking([&] { return accept_raw(op.fd(), a, len, flags); }), 0, flags);
    if (r < 0) return r;
  }
}

void io_accepted(int c, int listener, int flags) {
  PollDesc* pd = fd_desc(listener);
  opened(c, pd ? pd->flags.load_relaxed() : 0, flags);
  if (pd) pd->pending.store_relaxed(0);
}

i64 io_connect(int fd, const struct sockaddr* a, socklen_t len) {
  cancellation_point();
  // Interrupted, the connection goes on being made and POSIX has connect return EINTR, not start again.
  G* g = self();
  u32 before = g->handled.load_relaxed();
  int type;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);  // as blocking()
  core::sys_begin();
  i64 r = os::sys(__NR_connect, fd, a, len);
  core::sys_end();
  pthread_setcanceltype(type, nullptr);
  if (r != -EINTR || g->handled.load_relaxed() != before) return r;
  // Our own signal ended the wait: the kernel finishes the handshake, a second call reports how it went.
  return blocking([&] {
    i64 again = os::sys(__NR_connect, fd, a, len);
    return again == -EISCONN ? 0 : again;
  });
}

}  // namespace gmpt::rt
