// unit/wait_test.cc -- the wait word: one claimer wins, stale sequence numbers lose, and a claim before the park prevents it.
#include "unit.h"

#include <pthread.h>

#include "core/wait.h"

using namespace gmpt::core;
using gmpt::Atomic;
using Claim = Waiter::Claim;

namespace {

void one_life(void**) {
  Waiter w;
  assert_true(w.claim(0, Reason::kWoken) == Claim::kLost);  // nobody waits
  u32 seq = w.arm();
  assert_false(w.woken());
  assert_true(w.commit(seq));
  assert_true(w.claim(seq, Reason::kTimeout) == Claim::kParked);
  assert_true(w.woken());
  assert_true(w.reason() == Reason::kTimeout);
  assert_true(w.claim(seq, Reason::kWoken) == Claim::kLost);
  assert_true(w.reason() == Reason::kTimeout);
  w.finish();
  assert_false(w.woken());
  assert_true(w.claim(seq, Reason::kWoken) == Claim::kLost);
}

void claimed_before_it_parks(void**) {
  Waiter w;
  u32 seq = w.arm();
  assert_true(w.claim(seq, Reason::kInterrupted) == Claim::kRunning);
  assert_false(w.commit(seq));
  assert_true(w.reason() == Reason::kInterrupted);
  w.finish();
}

void stale_numbers_lose(void**) {
  Waiter w;
  u32 first = w.arm();
  w.finish();
  u32 second = w.arm();
  assert_int_not_equal(first, second);
  assert_true(w.claim(first, Reason::kWoken) == Claim::kLost);
  assert_true(w.commit(second));
  assert_true(w.claim(first, Reason::kWoken) == Claim::kLost);
  assert_true(w.claim(second, Reason::kWoken) == Claim::kParked);
}

void numbers_wrap(void**) {
  Waiter w;
  u32 before = 0;
  for (u32 i = 0; i < (1u << 24) + 3; i++) {
    u32 seq = w.arm();
    assert_true(seq == ((before + 1) & 0xffffff));
    before = seq;
    if (i < 3 || i >= (1u << 24) - 2) {
      assert_true(w.commit(seq));
      assert_true(w.claim(seq, Reason::kWoken) == Claim::kParked);
    }
    w.finish();
  }
}

void every_reason(void**) {
  for (u32 r = 1; r <= static_cast<u32>(Reason::kHandoff); r++) {
    Waiter w;
    u32 seq = w.arm();
    w.commit(seq);
    w.claim(seq, static_cast<Reason>(r));
    assert_int_equal(static_cast<u32>(w.reason()), r);
  }
  for (u32 i = 0; i < static_cast<u32>(Why::kCount); i++) assert_non_null(why_name(static_cast<Why>(i)));
}

// Three claimers and a waiter that parks or not: each wait is won exactly once, and the winner's word about
// "parked" agrees with the waiter's commit.
constexpr u32 kRounds = 20000, kClaimers = 3;
Waiter shared;
Atomic<u32> round_no, arrived, parked_claims, running_claims;

void* claims(void* a) {
  Reason mine = static_cast<Reason>(reinterpret_cast<uptr>(a));
  for (u32 i = 1; i <= kRounds; i++) {
    while (round_no.load_acquire() < i) sched_yield();
    Claim c = shared.claim(i & 0xffffff, mine);
    if (c == Claim::kParked) parked_claims.fetch_add_relaxed(1);
    if (c == Claim::kRunning) running_claims.fetch_add_relaxed(1);
    arrived.fetch_add_acq_rel(1);
  }
  return nullptr;
}

void one_winner(void**) {
  pthread_t t[kClaimers];
  for (u32 i = 0; i < kClaimers; i++) pthread_create(&t[i], nullptr, claims, reinterpret_cast<void*>(uptr{i + 1}));
  for (u32 i = 1; i <= kRounds; i++) {
    parked_claims.store_relaxed(0);
    running_claims.store_relaxed(0);
    arrived.store_relaxed(0);
    u32 seq = shared.arm();
    assert_int_equal(seq, i);
    round_no.store_release(i);
    for (u32 spin = unit_random() % 200; spin; spin--) __asm__ volatile("pause");
    bool parked = shared.commit(seq);
    while (arrived.load_acquire() < kClaimers) sched_yield();
    assert_int_equal(parked_claims.load_relaxed(), parked);
    assert_int_equal(running_claims.load_relaxed(), !parked);
    assert_true(shared.woken());
    shared.finish();
  }
  for (pthread_t x : t) pthread_join(x, nullptr);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(one_life), cmocka_unit_test(claimed_before_it_parks), cmocka_unit_test(stale_numbers_lose),
                              cmocka_unit_test(numbers_wrap), cmocka_unit_test(every_reason), cmocka_unit_test(one_winner)};
  return cmocka_run_group_tests_name("wait", tests, nullptr, nullptr);
}
