// unit/cpu_test.cc -- how many Ps by default follows affinity, and the XSAVE area is as large as the CPU says.
#include "unit.h"

#include <cpuid.h>
#include <sched.h>

#include "os/cpu.h"

using namespace gmpt;

namespace {

u32 with_cpus(const cpu_set_t* all, int n) {
  cpu_set_t some;
  CPU_ZERO(&some);
  for (int c = 0, k = 0; c < CPU_SETSIZE && k < n; c++)
    if (CPU_ISSET(c, all)) CPU_SET(c, &some), k++;
  assert_int_equal(sched_setaffinity(0, sizeof some, &some), 0);
  return os::default_procs();
}

// A quota may lower it, but not below two.
void procs_follow_affinity(void**) {
  cpu_set_t all;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  int n = CPU_COUNT(&all);
  u32 most = os::default_procs();
  assert_in_range(most, n < 2 ? 1 : 2, n);
  assert_int_equal(with_cpus(&all, 1), 1);
  if (n >= 2) assert_int_equal(with_cpus(&all, 2), 2);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  assert_int_equal(os::default_procs(), most);
}

void xsave_size(void**) {
  os::Xsave x = os::xsave_info();
  unsigned a, b, c, d;
  __cpuid(1, a, b, c, d);
  if (!(c & bit_OSXSAVE)) {
    assert_int_equal(x.size, 0);
    return;
  }
  assert_int_equal(x.mask & 3, 3);  // x87 and SSE are always enabled
  assert_in_range(x.size, 512 + 64, 1 << 16);
  __cpuid_count(13, 0, a, b, c, d);
  assert_int_equal(x.size, b);
  assert_true(b <= c);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(procs_follow_affinity), cmocka_unit_test(xsave_size)};
  return cmocka_run_group_tests_name("cpu", tests, nullptr, nullptr);
}
