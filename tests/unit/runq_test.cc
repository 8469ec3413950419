// unit/runq_test.cc -- the run queue: order, limits, halves, wrap-around of its counters, and thieves at work.
#include "unit.h"

#include <memory>
#include <pthread.h>
#include <sched.h>

#include "core/runq.h"

using gmpt::Atomic;
using gmpt::core::G;
using gmpt::core::GList;
using gmpt::core::RunQueue;

namespace {

constexpr u32 kCap = RunQueue::kCap;
G gs[4 * kCap];
u32 index_of(G* g) { return static_cast<u32>(g - gs); }

struct Queues {
  std::unique_ptr<RunQueue> a{new RunQueue}, b{new RunQueue};
  // Moves the counters so that the next operations wrap around the ring and, once, around 2^32.
  static void advance(RunQueue* q, u32 n) {
    for (u32 i = 0; i < n; i++) {
      assert_true(q->push(&gs[0]));
      assert_ptr_equal(q->pop(), &gs[0]);
    }
  }
};

void first_in_first_out(void**) {
  Queues q;
  for (u32 start : {0u, 1u, kCap - 1, 3 * kCap / 2}) {
    Queues::advance(q.a.get(), start);
    assert_null(q.a->pop());
    assert_true(q.a->empty());
    for (u32 i = 0; i < kCap; i++) {
      assert_true(q.a->push(&gs[i]));
      assert_int_equal(q.a->size(), i + 1);
    }
    assert_false(q.a->push(&gs[kCap]));
    for (u32 i = 0; i < kCap; i++) assert_ptr_equal(q.a->pop(), &gs[i]);
    assert_null(q.a->pop());
  }
}

void next_is_separate(void**) {
  Queues q;
  q.a->next.store_release(&gs[1]);
  assert_false(q.a->empty());
  assert_int_equal(q.a->size(), 0);
  assert_null(q.a->pop());
  assert_null(q.a->steal_into(q.b.get()));  // the ring only
  assert_ptr_equal(q.a->take_next(), &gs[1]);
  assert_null(q.a->take_next());
  assert_true(q.a->empty());
}

void older_half_goes(void**) {
  Queues q;
  GList l;
  for (u32 i = 0; i < kCap - 1; i++) q.a->push(&gs[i]);
  assert_false(q.a->pop_half(&l));  // only from a full ring
  assert_true(l.empty());
  q.a->push(&gs[kCap - 1]);
  assert_true(q.a->pop_half(&l));
  assert_int_equal(l.n, kCap / 2);
  for (u32 i = 0; i < kCap / 2; i++) assert_ptr_equal(l.pop(), &gs[i]);
  assert_true(l.empty());
  for (u32 i = kCap / 2; i < kCap; i++) assert_ptr_equal(q.a->pop(), &gs[i]);
}

void list_as_far_as_it_fits(void**) {
  Queues q;
  for (u32 had : {0u, 10u, kCap - 1, kCap}) {
    for (u32 i = 0; i < had; i++) q.a->push(&gs[i]);
    GList l;
    for (u32 i = 0; i < 300; i++) l.push(&gs[had + i]);
    q.a->push_list(&l);
    u32 fit = had + 300 < kCap ? 300 : kCap - had;
    assert_int_equal(l.n, 300 - fit);
    for (u32 i = 0; i < had + fit; i++) assert_ptr_equal(q.a->pop(), &gs[i]);
    for (u32 i = fit; i < 300; i++) assert_ptr_equal(l.pop(), &gs[had + i]);
    assert_null(q.a->pop());
  }
}

// n - n/2 are taken: the oldest; the first of them is returned to be run, the others keep their order.
void steal_takes_half(void**) {
  for (u32 n = 0; n <= kCap; n++)
    for (u32 start : {0u, kCap - 3}) {
      Queues q;
      Queues::advance(q.a.get(), start);
      Queues::advance(q.b.get(), start / 2);
      for (u32 i = 0; i < n; i++) q.a->push(&gs[i]);
      G* got = q.a->steal_into(q.b.get());
      u32 half = n - n / 2;
      if (!half) {
        assert_null(got);
        continue;
      }
      assert_ptr_equal(got, &gs[0]);
      assert_int_equal(q.b->size(), half - 1);
      assert_int_equal(q.a->size(), n - half);
      for (u32 i = 1; i < half; i++) assert_ptr_equal(q.b->pop(), &gs[i]);
      for (u32 i = half; i < n; i++) assert_ptr_equal(q.a->pop(), &gs[i]);
    }
}

// One owner, three thieves: every G that went in comes out exactly once.
constexpr u32 kThieves = 3, kItems = 400000;
std::unique_ptr<RunQueue> shared;
Atomic<u32> out_count[4 * kCap];
Atomic<u32> done, taken;

void took(G* g) {
  out_count[index_of(g)].fetch_add_relaxed(1);
  taken.fetch_add_relaxed(1);
}

void* thief(void*) {
  std::unique_ptr<RunQueue> mine(new RunQueue);
  while (!done.load_acquire() || shared->size()) {
    G* g = shared->steal_into(mine.get());
    if (g) took(g);
    else sched_yield();
    while (G* more = mine->pop()) took(more);
    if (G* n = shared->take_next()) took(n);
  }
  return nullptr;
}

void thieves(void**) {
  shared.reset(new RunQueue);
  pthread_t t[kThieves];
  static u32 in_count[4 * kCap];
  for (pthread_t& x : t) pthread_create(&x, nullptr, thief, nullptr);
  for (u32 i = 0; i < kItems; i++) {
    G* g = &gs[i % (4 * kCap)];
    in_count[index_of(g)]++;
    switch (unit_random() % 8) {
      case 0:
        if (G* old = shared->next.exchange_acq_rel(g)) took(old);
        break;
      case 1:
        if (G* p = shared->pop()) took(p);
        [[fallthrough]];
      default:
        while (!shared->push(g)) {
          GList l;
          if (shared->pop_half(&l)) {
            assert_int_equal(l.n, kCap / 2);
            // G::link may be in use only once: the same G is never twice in this list of 128 out of 1024.
            while (!l.empty()) took(l.pop());
          }
        }
    }
  }
  done.store_release(1);
  while (G* p = shared->pop()) took(p);
  for (pthread_t x : t) pthread_join(x, nullptr);
  if (G* n = shared->take_next()) took(n);
  assert_true(shared->empty());
  assert_int_equal(taken.load_relaxed(), kItems);
  for (u32 i = 0; i < 4 * kCap; i++) assert_int_equal(out_count[i].load_relaxed(), in_count[i]);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(first_in_first_out), cmocka_unit_test(next_is_separate), cmocka_unit_test(older_half_goes),
                              cmocka_unit_test(list_as_far_as_it_fits), cmocka_unit_test(steal_takes_half), cmocka_unit_test(thieves)};
  return cmocka_run_group_tests_name("runq", tests, nullptr, nullptr);
}
