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

void TimerHeap::remove(Timer* t) {
  if (t->pos >= 0) return remove_at(static_cast<u32>(t->pos));
  for (Timer** at = &listed; t->pos == kListed; at = &(*at)->more)
    if (*at == t) {
      *at = t->more;
      t->pos = -1;
      return;
    }
}

bool TimerHeap::grow() {
  u32 c = cap ? cap * 2 : 256;
  Entry* h = static_cast<Entry*>(os::map(c * sizeof(Entry)));
  if (!h) return false;
  if (n) memcpy(h, heap, n * sizeof(Entry));
  if (heap) os::unmap(heap, cap * sizeof(Entry));
  heap = h;
  cap = c;
  return true;
}

Timer* TimerHeap::first_listed() const {
  Timer* best = listed;
  for (Timer* t = listed; t; t = t->more)
    if (t->when < best->when) best = t;
  return best;
}

Timer* TimerHeap::first() const {
  Timer* t = n ? heap[0].t : nullptr;
  if (GMPT_LIKELY(!listed)) return t;
  Timer* l = first_listed();
  return t && t->when <= l->when ? t : l;
}

void TimerHeap::publish() {
  Timer* t = first();
  next.store_release(t ? t->when : kNever);
}

void TimerHeap::add(Timer* t, u64 when, Waiter* w, u32 seq) {
  os::Guard g(lock);
  bool room = GMPT_LIKELY(n < cap) || grow();
  t->when = when;
  t->waiter = w;
  t->seq = seq;
  t->heap = this;
  if (GMPT_LIKELY(room)) {
    heap[n] = Entry{when, t};
    t->pos = static_cast<i32>(n);
    up(n++);
  } else {
    t->pos = kListed;
    t->more = listed;
    listed = t;
  }
  publish();
}

u32 TimerHeap::run(u64 now, G** head, G** tail) {
  u32 fired = 0;
  os::Guard g(lock);
  for (Timer* t; (t = first()) && t->when <= now;) {
    Waiter* w = t->waiter;
    u32 seq = t->seq;
    remove(t);
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
  if (t->pos != -1) {
    h->remove(t);
    h->publish();
  }
  t->heap = nullptr;
}

}  // namespace gmpt::core
