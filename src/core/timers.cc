// core/timers.cc -- heap operations and expiry.
#include "core/timers.h"

#include "base/mem.h"
#include "core/g.h"

namespace gmpt::core {

void TimerHeap::up(u32 i) {
  Entry e = heap[i];
  while (i > 0) {
    u32 parent = (i - 1) / 4;
    if (heap[parent].when <= e.when) break;
    heap[i] = heap[parent];
    heap[i].t->pos = static_cast<i32>(i);
    i = parent;
  }
  heap[i] = e;
  e.t->pos = static_cast<i32>(i);
}

void TimerHeap::down(u32 i) {
  Entry e = heap[i];
  for (;;) {
    u32 first = i * 4 + 1, best = first;
    if (first >= n) break;
    for (u32 c = first + 1; c < first + 4 && c < n; c++)
      if (heap[c].when < heap[best].when) best = c;
    if (e.when <= heap[best].when) break;
    heap[i] = heap[best];
    heap[i].t->pos = static_cast<i32>(i);
    i = best;
  }
  heap[i] = e;
  e.t->pos = static_cast<i32>(i);
}

void TimerHeap::remove_at(u32 i) {
  heap[i].t->pos = -1;
  n--;
  if (i == n) return;
  heap[i] = heap[n];
  heap[i].t->pos = static_cast<i32>(i);
  if (i > 0 && heap[i].when < heap[(i - 1) / 4].when) up(i);
  else down(i);
}

void TimerHeap::add(Timer* t, u64 when, Waiter* w, u32 seq) {
  os::Guard g(lock);
  if (n == cap) {
    u32 c = cap ? cap * 2 : 256;
    Entry* h = static_cast<Entry*>(os::map(c * sizeof(Entry)));
    GMPT_CHECK(h, "no memory for a timer");
    if (n) memcpy(h, heap, n * sizeof(Entry));
    if (heap) os::unmap(heap, cap * sizeof(Entry));
    heap = h;
    cap = c;
  }
  t->when = when;
  t->waiter = w;
  t->seq = seq;
  t->heap = this;
  heap[n] = Entry{when, t};
  t->pos = static_cast<i32>(n);
  up(n++);
  publish();
}

u32 TimerHeap::run(u64 now, G** head, G** tail) {
  u32 fired = 0;
  os::Guard g(lock);
  while (n && heap[0].when <= now) {
    Timer* t = heap[0].t;
    Waiter* w = t->waiter;
    u32 seq = t->seq;
    remove_at(0);
    fired++;
    if (w->claim(seq, Reason::kTimeout) != Waiter::Claim::kParked) continue;
    G* gp = w->g;
    gp->link = nullptr;
    if (*tail) (*tail)->link = gp;
    else *head = gp;
    *tail = gp;
  }
  publish();
  return fired;
}

void timer_del(Timer* t) {
  TimerHeap* h = t->heap;
  if (!h) return;
  os::Guard g(h->lock);
  if (t->pos >= 0) {
    h->remove_at(static_cast<u32>(t->pos));
    h->publish();
  }
  t->heap = nullptr;
}

}  // namespace gmpt::core
