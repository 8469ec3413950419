// unit/order_test.cc -- a thief's order visits each P exactly once, for every number of Ps and from every start.
#include "unit.h"

#include "core/find_order.h"

using gmpt::core::StealOrder;

static void each_once(void**) {
  for (u32 n = 1; n <= 64; n++)
    for (u32 r = 0; r < n * (n + 3); r++) {
      u64 seen = 0;
      u32 visits = 0, i;
      for (StealOrder o(n, r); o.step(&i); visits++) {
        assert_true(i < n);
        assert_false(seen >> i & 1);
        seen |= u64{1} << i;
      }
      assert_int_equal(visits, n);
    }
}

// Any start is possible, and with more than two Ps more than one step: else thieves would meet.
static void differs(void**) {
  for (u32 n = 3; n <= 64; n++) {
    u64 starts = 0, steps = 0;
    for (u32 k = 0; k < 20000; k++) {
      StealOrder o(n, unit_random());
      u32 a, b;
      assert_true(o.step(&a));
      assert_true(o.step(&b));
      starts |= u64{1} << a;
      steps |= u64{1} << (b + n - a) % n;
    }
    assert_int_equal(__builtin_popcountll(starts), n);
    u32 coprimes = 0;
    for (u32 c = 1; c < n; c++) {
      u32 x = c, y = n;
      while (y) { u32 t = x % y; x = y; y = t; }
      coprimes += x == 1;
    }
    assert_int_equal(__builtin_popcountll(steps), coprimes);
  }
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(each_once), cmocka_unit_test(differs)};
  return cmocka_run_group_tests_name("order", tests, nullptr, nullptr);
}
