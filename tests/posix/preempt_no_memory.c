// posix/preempt_no_memory.c -- threads that compute take turns, and those that sleep wake, when the address space is used up.
// timeout: 60
#include "expect.h"
#include <sys/mman.h>

enum { N = 100 };
static int turns[N], go, stop;
static void* computes(void* a) {
  int me = (int)(intptr_t)a;
  while (!LOAD(go)) sleep_ms(1);
  while (!LOAD(stop)) ADD(turns[me], 1);
  return a;
}
static void* sleeps(void* a) {
  while (!LOAD(go)) sleep_ms(1);
  for (int i = 0; i < 5; i++) sleep_ms(10);
  return a;
}
static void use_up(void) {
  struct rlimit l;
  SYS(getrlimit(RLIMIT_AS, &l));
  l.rlim_cur = 1 << 20;  // already exceeded: nothing more is given
  SYS(setrlimit(RLIMIT_AS, &l));
  EXPECT(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

int main(void) {
  watchdog(55);
  static pthread_t t[N], s[4 * N];
  for (int i = 0; i < N; i++) t[i] = start(computes, num(i));
  for (int i = 0; i < 4 * N; i++) s[i] = start(sleeps, NULL);
  use_up();
  STORE(go, 1);
  for (int i = 0; i < N; i++) WAIT_UNTIL(LOAD(turns[i]) > 0);
  STORE(stop, 1);
  for (int i = 0; i < N; i++) join(t[i]);
  for (int i = 0; i < 4 * N; i++) join(s[i]);
  return 0;
}
