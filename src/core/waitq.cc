// core/waitq.cc -- buckets and the two basic operations.
#include "core/waitq.h"

#include "base/mem.h"
#include "core/park.h"

namespace gmpt::core {

namespace {
constexpr u32 kBuckets = 4096;  // 256 KB of address space; only pages of buckets in use are touched
alignas(kPage) Bucket buckets[kBuckets];
}  // namespace

Bucket* bucket_of(const void* addr) {
  u64 h = reinterpret_cast<u64>(addr) >> 2;
  h *= 0x9e3779b97f4a7c15ull;
  return &buckets[h >> 52];
}

void Bucket::push(WaitNode* n) {
  n->next = nullptr;
  n->prev = tail;
  if (tail) tail->next = n;
  else head = n;
  tail = n;
  n->linked = true;
}

void Bucket::push_front(WaitNode* n) {
  n->prev = nullptr;
  n->next = head;
  if (head) head->prev = n;
  else tail = n;
  head = n;
  n->linked = true;
}

void Bucket::unlink(WaitNode* n) {
  if (n->prev) n->prev->next = n->next;
  else head = n->next;
  if (n->next) n->next->prev = n->prev;
  else tail = n->prev;
  n->linked = false;
}

void Bucket::replace(WaitNode* old, WaitNode* by) {
  by->key = old->key;
  by->bits = old->bits;
  by->since = old->since;
  by->prev = old->prev;
  by->next = old->next;
  (by->prev ? by->prev->next : head) = by;
  (by->next ? by->next->prev : tail) = by;
  by->linked = true;
  old->linked = false;
}

WaitNode* Bucket::first(uptr key) {
  for (WaitNode* n = head; n; n = n->next)
    if (n->key == key) return n;
  return nullptr;
}

WaitNode* Bucket::next_of(WaitNode* n, uptr key) {
  for (n = n->next; n; n = n->next)
    if (n->key == key) return n;
  return nullptr;
}

Reason wait_on(Bucket* b, WaitNode* n, const void* addr, Rt& rt, u64 deadline, Why why, bool front) {
  Wait w(rt);
  n->key = reinterpret_cast<uptr>(addr);
  n->w = w.w;
  n->seq = w.seq;
  if (front) b->push_front(n);
  else b->push(n);
  b->lock.unlock();
  Reason r = w.block(deadline, why, addr);
  if (r == Reason::kTimeout || r == Reason::kInterrupted) {
    // A requeue may have moved the node meanwhile; its key says where it is now.
    for (;;) {
      uptr key = as_atomic(&n->key).load_acquire();
      Bucket* at = bucket_of(reinterpret_cast<const void*>(key));
      os::Guard g(at->lock);
      if (as_atomic(&n->key).load_acquire() != key) continue;
      if (n->linked) at->unlink(n);
      break;
    }
  }
  return r;
}

u32 wake_locked(Bucket* b, const void* addr, u32 want, u32 bits, GList* l) {
  uptr key = reinterpret_cast<uptr>(addr);
  u32 done = 0;
  for (WaitNode* n = b->head; n && done < want;) {
    WaitNode* after = n->next;
    if (n->key == key && (n->bits & bits)) {
      b->unlink(n);
      Waiter* w = n->w;
      if (wake_claimed(w, w->claim(n->seq, Reason::kWoken), l)) done++;  // else it timed out: try the next
    }
    n = after;
  }
  return done;
}

u32 wake(const void* addr, u32 n, Rt& rt, u32 bits) {
  Bucket* b = bucket_of(addr);
  GList l;
  b->lock.lock();
  u32 done = wake_locked(b, addr, n, bits, &l);
  b->lock.unlock();
  rt.ready(&l);
  return done;
}

Reason wait_while(const u32* word, u32 expect, Rt& rt, u64 deadline, Why why, u32 bits) {
  Bucket* b = bucket_of(word);
  WaitNode n;
  n.bits = bits;
  b->lock.lock();
  if (as_atomic(const_cast<u32*>(word)).load_acquire() != expect) {
    b->lock.unlock();
    return Reason::kNone;
  }
  return wait_on(b, &n, word, rt, deadline, why);
}

// Whole pages of zero-filled data: dropping them is cheaper than touching each (a forked child pays by the page).
void waitq_reset() { os::sys(__NR_madvise, buckets, sizeof buckets, 4 /* MADV_DONTNEED */); }

}  // namespace gmpt::core
