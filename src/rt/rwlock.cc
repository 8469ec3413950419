// rt/rwlock.cc -- read-write locks of the three glibc kinds over the wait table.
//
// What it is
//   One word says everything, at the place of glibc's __readers and, while nobody waits, with glibc's
//   value for the same state: a lock taken before the library stepped aside is released by libc.
//
//       bits 0,1  held for writing (both set)     bit 2   readers wait
//       bits 3+   number of readers               bit 31  writers wait (unused by glibc: it stops at 2^28)
//
//   kind 0 (default)  a reader enters whenever no writer holds; readers go first when a writer leaves
//   kind 1            the same, but a writer goes first when a writer leaves
//   kind 2            as 1, and no reader passes a waiting writer
//
// Invariants
//   W1  Uncontended calls are one compare-and-swap and never enter the runtime.
//   W2  The wait bits change only under the bucket's lock, and there they say what is queued. Who gives
//       up the lock and sees one does so under that lock: no wake-up is lost.
//   W3  The compare-and-swap that gives up the lock already counts those it is granted to; after it the
//       leaver does not touch the object, which may be freed by them (rt/waiting.h).
//   W4  Who waits is woken and competes until it has waited 1 ms, then it is granted the lock at the next
//       occasion: nobody starves. Where writers go first, a reader that was passed once and has waited
//       1 ms goes before them.
//   W5  While a woken writer is on its way, "writers wait" stays set where writers go first, so that no
//       reader of kind 2 slips in. It comes without running program code, and takes the lock or queues.
//
// Memory orders
//   [rw] unlock: cas-release -> lock: cas-acquire. Each change is a read-modify-write, so a writer
//        sees what every reader before it did. Hand-off: cas-acq_rel, then the claim ([claim]).
//
// Rejected
//   A writer's turn over new readers in kind 0 after 1 ms: a thread may read-lock again what it holds, and
//   would wait for itself.
//   Always handing off: a lock that belongs to threads which have to be scheduled first stops everybody
//   who runs. 30 to 50 times slower when threads lock in a loop (writers; 1/16 writers in kind 2).
//   fetch_add by readers, as glibc: it saves a retry among readers and costs an undo in every other case.
//
// Proof and tests   tests/posix/rwlock.c, pshared.c
#include "rt/rwlock.h"

#include "arch/x86_64.h"

namespace gmpt::rt {

namespace {

using core::Bucket;
using core::GList;
using core::WaitNode;

enum : u32 { kHeld = 2, kWrite = 3, kReadersWait = 4, kReader = 8, kWritersWait = 1u << 31, kWaitBits = kReadersWait | kWritersWait };
enum : u32 { kAsReader = 1, kAsWriter = 2, kPassed = 4 };  // WaitNode::bits
constexpr u32 kMaxReaders = (1u << 28) - 1;                // glibc's

Atomic<u32>& word(pthread_rwlock_t* rw) { return as_atomic(&rw->__data.__readers); }
u32 count(u32 s) { return (s & ~kWritersWait) >> 3; }
bool prefers_writers(const pthread_rwlock_t* rw) { return rw->__data.__flags != PTHREAD_RWLOCK_PREFER_READER_NP; }
bool bars_readers(const pthread_rwlock_t* rw) { return rw->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP; }

bool own(pthread_rwlock_t* rw) { return as_atomic(&rw->__data.__cur_writer).load_relaxed() == self_tid(); }
void set_owner(pthread_rwlock_t* rw, i32 tid) {
  as_atomic(&rw->__data.__cur_writer).store_relaxed(tid);
  as_atomic(&rw->__data.__wrphase_futex).store_relaxed(tid != 0);
}

int try_read(pthread_rwlock_t* rw) {
  u32 s = word(rw).load_relaxed();
  for (;;) {
    if ((s & kHeld) || ((s & kWritersWait) && bars_readers(rw))) return EBUSY;
    if (count(s) >= kMaxReaders) return EAGAIN;
    if (word(rw).cas_acquire(s, s + kReader)) return 0;  // [rw]
  }
}

int try_write(pthread_rwlock_t* rw) {
  u32 s = word(rw).load_relaxed();
  while (!(s & ~kWaitBits)) {
    if (!word(rw).cas_acquire(s, s | kWrite)) continue;  // [rw]
    set_owner(rw, self_tid());
    return 0;
  }
  return EBUSY;
}

int try_as(pthread_rwlock_t* rw, u32 as) { return as & kAsReader ? try_read(rw) : try_write(rw); }

// ---- all below with the bucket locked --------------------------------------------------------------

struct Queued {
  WaitNode *reader = nullptr, *writer = nullptr;  // the oldest
  u32 readers = 0, writers = 0;
  u32 bits() const { return (readers ? kReadersWait : 0u) | (writers ? kWritersWait : 0u); }
};

Queued look(Bucket* b, const void* rw) {
  Queued q;
  uptr key = reinterpret_cast<uptr>(rw);
  for (WaitNode* n = b->first(key); n; n = b->next_of(n, key)) {
    bool reads = n->bits & kAsReader;
    if (!(reads ? q.reader : q.writer)) (reads ? q.reader : q.writer) = n;
    (reads ? q.readers : q.writers)++;
  }
  return q;
}

void grant_readers(Bucket* b, uptr key, GList* l) {
  for (WaitNode *n = b->first(key), *after; n; n = after) {
    after = b->next_of(n, key);
    if (n->bits & kAsReader) grant(b, n, l);
  }
}

// Gives up the caller's lock, for reading or for writing, to whom it is due.
void give_up(Bucket* b, pthread_rwlock_t* rw, GList* l) {
  uptr key = reinterpret_cast<uptr>(rw);
  bool writers_first = prefers_writers(rw);
  for (u32 s = word(rw).load_relaxed();;) {
    if (!(s & kHeld) && count(s) > 1) {  // readers joined meanwhile: the last one serves the queue
      if (word(rw).cas_release(s, s - kReader)) return;  // [rw]
      continue;
    }
    Queued q = look(b, rw);
    bool readers = q.readers && (!q.writers || !writers_first || ((q.reader->bits & kPassed) && starving(q.reader)));
    bool hand_over = starving(readers ? q.reader : q.writer);  // null: nobody
    u32 to;
    if (readers) {
      to = (hand_over ? q.readers * kReader : 0) | (q.writers ? kWritersWait : 0u);
    } else {
      to = hand_over ? u32{kWrite} : 0;
      if (q.writers && (hand_over || !writers_first)) q.writers--;  // [W5]
      to |= q.bits();
    }
    if (!word(rw).cas_acq_rel(s, to)) continue;  // [rw]
    if (readers) {
      if (hand_over) grant_readers(b, key, l);
      // All of them just timed out: nobody would come and later wake the writer.
      else if (!core::wake_locked(b, rw, ~0u, kAsReader, l) && q.writer) core::wake_locked(b, rw, 1, kAsWriter, l);
      return;
    }
    if (q.writer && q.reader) q.reader->bits |= kPassed;
    if (hand_over) grant(b, q.writer, l);
    else if (q.writer) core::wake_locked(b, rw, 1, kAsWriter, l);
    return;
  }
}

// A waiter left the queue with nothing: the bits say so, and readers that waited only behind it enter.
void repair(Bucket* b, pthread_rwlock_t* rw, GList* l) {
  for (u32 s = word(rw).load_relaxed();;) {
    Queued q = look(b, rw);
    bool enter = !(s & kHeld) && q.readers && !(q.writers && bars_readers(rw));
    u32 to = (s & ~kWaitBits) + (enter ? q.readers * kReader : 0);
    if (enter) q.readers = 0;
    if (!word(rw).cas_acq_rel(s, to | q.bits())) continue;  // [rw]
    if (enter) grant_readers(b, reinterpret_cast<uptr>(rw), l);
    return;
  }
}

// EBUSY: the lock is another's, and its holder now knows that somebody waits.
int take_or_announce(pthread_rwlock_t* rw, u32 as) {
  u32 bit = as & kAsReader ? kReadersWait : kWritersWait;
  for (;;) {
    if (int e = try_as(rw, as); e != EBUSY) return e;
    u32 s = word(rw).load_relaxed();
    if (as & kAsReader ? !(s & kHeld) && !((s & kWritersWait) && bars_readers(rw)) : !(s & ~kWaitBits)) continue;
    if ((s & bit) || word(rw).cas_acq_rel(s, s | bit)) return EBUSY;
  }
}

// ---- the waiting ------------------------------------------------------------------------------------

GMPT_NOINLINE int lock_slow(pthread_rwlock_t* rw, u32 as, Limit limit) {
  G* g = self();
  Bucket* b = core::bucket_of(rw);
  u64 began = 0;
  for (;;) {
    u64 deadline = limit.deadline();
    if (deadline == 0) return try_as(rw, as) == 0 ? 0 : ETIMEDOUT;
    Rt rt(g);
    for (int i = 0; i < kSpins && !began && may_spin(rt); i++) {
      arch::spin(kPauses);
      if (int e = try_as(rw, as); e != EBUSY) return e;
    }
    Reason r;
    do {
      b->lock.lock();
      if (int e = take_or_announce(rw, as); e != EBUSY) {
        b->lock.unlock();
        return e;
      }
      WaitNode n;
      n.bits = as;
      bool again = began != 0;  // it keeps its place
      if (!again) began = os::now_ns();
      n.since = began;
      r = core::wait_on(b, &n, rw, rt, deadline, Why::kRwlock, again);
      if (n.bits & kGranted) {
        if (as & kAsWriter) set_owner(rw, self_tid());
        return 0;
      }
      as = n.bits;
    } while (r == Reason::kWoken);
    GList l;
    b->lock.lock();
    repair(b, rw, &l);
    b->lock.unlock();
    rt.ready(&l);
    // Timed out, or a handler is due: it runs when rt ends, and the wait goes on.
  }
}

GMPT_NOINLINE void unlock_slow(pthread_rwlock_t* rw) {
  Rt rt(self());
  Bucket* b = core::bucket_of(rw);
  GList l;
  b->lock.lock();
  give_up(b, rw, &l);
  b->lock.unlock();
  rt.ready(&l);
}

int lock_as(pthread_rwlock_t* rw, u32 as, Limit limit) {
  if (GMPT_UNLIKELY(limit.bad())) return EINVAL;  // glibc looks even if the lock is free
  int e = try_as(rw, as);
  if (GMPT_LIKELY(e != EBUSY)) return e;
  return own(rw) ? EDEADLK : lock_slow(rw, as, limit);
}

}  // namespace

int rwlock_rdlock(pthread_rwlock_t* rw, Limit limit) { return lock_as(rw, kAsReader, limit); }
int rwlock_wrlock(pthread_rwlock_t* rw, Limit limit) { return lock_as(rw, kAsWriter, limit); }
int rwlock_tryrdlock(pthread_rwlock_t* rw) { return try_read(rw); }
int rwlock_trywrlock(pthread_rwlock_t* rw) { return try_write(rw); }

// A lock held for writing is released whoever asks: a child of fork has another tid than the thread that
// locked before. One that nobody holds stays as it is; glibc reports success for that, too.
int rwlock_unlock(pthread_rwlock_t* rw) {
  u32 s = word(rw).load_relaxed();
  for (;;) {
    if (s & kHeld) {
      set_owner(rw, 0);
      u32 w = kWrite;
      if (GMPT_LIKELY(word(rw).cas_release(w, 0))) return 0;  // [rw]
      break;
    }
    if (count(s) == 0) return 0;
    if (count(s) == 1 && (s & kWaitBits)) break;
    if (GMPT_LIKELY(word(rw).cas_release(s, s - kReader))) return 0;  // [rw]
  }
  unlock_slow(rw);
  return 0;
}

}  // namespace gmpt::rt
