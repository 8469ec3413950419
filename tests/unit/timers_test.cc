// unit/timers_test.cc -- the timer heap: order of expiry and invariants T1 and T2 under random adding and removing.
#include "unit.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/g.h"

using namespace gmpt::core;

// The linker makes the bounds of the list of global locks only if there is one.
GMPT_GLOBAL_LOCK(not_used);

namespace {

void check(const TimerHeap& h) {
  for (u32 i = 0; i < h.n; i++) {
    assert_ptr_equal(h.heap[i].t->heap, &h);
    assert_int_equal(h.heap[i].t->pos, i);  // T1
    assert_int_equal(h.heap[i].when, h.heap[i].t->when);
    if (i) assert_true(h.heap[(i - 1) / 4].when <= h.heap[i].when);
  }
  assert_true(h.next.load_relaxed() == (h.n ? h.heap[0].when : gmpt::kNever));  // T2
}

std::vector<G*> run(TimerHeap* h, u64 now, u32* fired = nullptr) {
  G *head = nullptr, *tail = nullptr;
  u32 n = h->run(now, &head, &tail);
  if (fired) *fired = n;
  std::vector<G*> v;
  for (; head; head = head->link) v.push_back(head);
  if (!v.empty()) assert_ptr_equal(v.back(), tail);
  return v;
}

u32 park(G* g) {  // as core/sys.h and park.cc do
  g->waiter.g = g;
  u32 seq = g->waiter.arm();
  assert_true(g->waiter.commit(seq));
  return seq;
}

void expiry_in_order(void**) {
  constexpr u32 kN = 2000;
  TimerHeap h;
  check(h);
  std::unique_ptr<G[]> gs(new G[kN]);
  for (u32 i = 0; i < kN; i++) {
    u64 when = 1000 + unit_random() % 500;
    h.add(&gs[i].timer, when, &gs[i].waiter, park(&gs[i]));
    if (i % 50 == 0) check(h);
  }
  check(h);
  assert_true(run(&h, 999).empty());
  u64 last = 0;
  u32 seen = 0;
  for (u64 now = 1000; now < 1500; now += 7) {
    for (G* g : run(&h, now)) {
      assert_true(g->timer.when <= now && g->timer.when >= last);
      assert_true(now < 1007 || g->timer.when > now - 7);
      assert_int_equal(static_cast<u32>(g->waiter.reason()), static_cast<u32>(Reason::kTimeout));
      last = g->timer.when;
      seen++;
    }
    check(h);
  }
  seen += static_cast<u32>(run(&h, 1500).size());
  assert_int_equal(seen, kN);
  assert_int_equal(h.n, 0);
}

void random_adding_and_removing(void**) {
  constexpr u32 kN = 700, kSteps = 60000;
  TimerHeap h[2];
  std::unique_ptr<G[]> gs(new G[kN]);
  std::vector<u64> when(kN, 0);  // 0 = not armed
  std::vector<u32> where(kN, 0);
  u64 now = 1;
  for (u32 s = 0; s < kSteps; s++) {
    u32 i = unit_random() % kN, k = unit_random() % 2;
    switch (unit_random() % 4) {
      case 0: case 1:
        if (when[i]) break;
        when[i] = now + 1 + unit_random() % 3000;
        where[i] = k;
        h[k].add(&gs[i].timer, when[i], &gs[i].waiter, park(&gs[i]));
        break;
      case 2:
        timer_del(&gs[i].timer);  // armed or not
        assert_int_equal(gs[i].timer.pos, -1);
        when[i] = 0;
        gs[i].waiter.finish();
        break;
      case 3: {
        now += unit_random() % 20;
        u64 earliest = gmpt::kNever;
        for (u32 j = 0; j < kN; j++)
          if (when[j] && where[j] == k) earliest = std::min(earliest, when[j]);
        assert_true(h[k].next.load_relaxed() == earliest);
        for (G* g : run(&h[k], now)) {
          u32 j = static_cast<u32>(g - gs.get());
          assert_true(when[j] && when[j] <= now);
          assert_int_equal(where[j], k);
          when[j] = 0;
          g->waiter.finish();
        }
        for (u32 j = 0; j < kN; j++) assert_false(when[j] && where[j] == k && when[j] <= now);
        break;
      }
    }
    if (s % 64 == 0) check(h[0]), check(h[1]);
  }
}

// Who was woken otherwise, or waits anew, is not readied by an old timer.
void stale_claims_fail(void**) {
  TimerHeap h;
  G woken, again, armed;
  h.add(&woken.timer, 10, &woken.waiter, park(&woken));
  assert_true(woken.waiter.claim(1, Reason::kWoken) == Waiter::Claim::kParked);
  h.add(&again.timer, 11, &again.waiter, park(&again));
  again.waiter.finish();
  park(&again);
  armed.waiter.g = &armed;
  h.add(&armed.timer, 12, &armed.waiter, armed.waiter.arm());  // expires before it parks
  u32 fired;
  assert_true(run(&h, 20, &fired).empty());
  assert_int_equal(fired, 3);
  assert_true(woken.waiter.reason() == Reason::kWoken);
  assert_false(again.waiter.woken());
  assert_true(armed.waiter.woken());
  assert_false(armed.waiter.commit(1));  // so it does not park
  assert_true(armed.waiter.reason() == Reason::kTimeout);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(expiry_in_order), cmocka_unit_test(random_adding_and_removing), cmocka_unit_test(stale_claims_fail)};
  return cmocka_run_group_tests_name("timers", tests, nullptr, nullptr);
}
