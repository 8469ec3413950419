// posix/thread_attr.c -- attributes are kept and obeyed: stack size, guard, user stacks; pthread_getattr_np tells the true bounds.
// timeout: 30
#include "expect.h"
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static void check_here(size_t least, void* lo_user, size_t size_user) {
  pthread_attr_t a;
  void* lo;
  size_t size, guard;
  OK(pthread_getattr_np(pthread_self(), &a));
  OK(pthread_attr_getstack(&a, &lo, &size));
  OK(pthread_attr_getguardsize(&a, &guard));
  char* here = (char*)__builtin_frame_address(0);
  EXPECT(here > (char*)lo && here < (char*)lo + size);
  EXPECT_GE(size, least);
  if (lo_user) {
    EXPECT(here > (char*)lo_user && here < (char*)lo_user + size_user);
    EXPECT_EQ(lo, lo_user);
    EXPECT_EQ(size, size_user);
  }
  // Use most of it (32 KB are left for the frames above and the thread's own data).
  size_t use = (size_t)(here - (char*)lo) - 32 * 1024;
  if (size_user == 0 && use > least - 64 * 1024) use = least - 64 * 1024;
  volatile char* p = (volatile char*)__builtin_alloca(use);
  for (size_t i = 0; i < use; i += 1024) p[i] = (char)i;
  for (size_t i = 0; i < use; i += 1024) EXPECT(p[i] == (char)i);
  OK(pthread_attr_destroy(&a));
}

static void* state_of_self(void* a) {
  pthread_attr_t at;
  int d;
  OK(pthread_getattr_np(pthread_self(), &at));
  OK(pthread_attr_getdetachstate(&at, &d));
  EXPECT_EQ(d, PTHREAD_CREATE_JOINABLE);
  OK(pthread_attr_destroy(&at));
  return a;
}

// How far down from its first frame a thread gets: the size it asked for at least, whatever the guard.
static sigjmp_buf out_of_stack;
static void on_fault(int sig) {
  (void)sig;
  siglongjmp(out_of_stack, 1);
}
static void* measures(void* a) {
  static char alt[64 << 10];
  stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
  OK(sigaltstack(&ss, NULL));
  char here;
  volatile size_t depth = 0;
  if (sigsetjmp(out_of_stack, 1) == 0)
    for (;; depth += 64) (void)*(volatile char*)(&here - depth);
  ss.ss_flags = SS_DISABLE;
  OK(sigaltstack(&ss, NULL));
  size_t asked = (size_t)a;
  EXPECT_GE(depth, asked - 8192);
  return NULL;
}
static void many_sizes(void) {
  struct sigaction sa = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK}, was;
  OK(sigaction(SIGSEGV, &sa, &was));
  pthread_attr_t a;
  OK(pthread_attr_init(&a));
  for (size_t size = PTHREAD_STACK_MIN; size < 300 << 10; size += 5 * 4096)
    for (size_t guard = 4096; guard <= 64 << 10; guard *= 4) {
      OK(pthread_attr_setstacksize(&a, size));
      OK(pthread_attr_setguardsize(&a, guard));
      pthread_t t;
      OK(pthread_create(&t, &a, measures, (void*)size));
      join(t);
    }
  OK(sigaction(SIGSEGV, &was, NULL));
  // However many different sizes.
  OK(pthread_attr_setguardsize(&a, 4096));
  for (size_t i = 0; i < 200; i++) {
    OK(pthread_attr_setstacksize(&a, (256 << 10) + i * 4096));
    pthread_t t;
    OK(pthread_create(&t, &a, state_of_self, NULL));
    join(t);
  }
  OK(pthread_attr_destroy(&a));
}

struct want { size_t least; void* lo; size_t size; };
static void* checks(void* a) {
  struct want* w = (struct want*)a;
  check_here(w->least, w->lo, w->size);
  return NULL;
}

static volatile char sink;
static void* touches_guard(void* a) {
  pthread_attr_t at;
  void* lo;
  size_t size;
  OK(pthread_getattr_np(pthread_self(), &at));
  OK(pthread_attr_getstack(&at, &lo, &size));
  sink = *(volatile char*)((char*)lo - 16);  // just below the lowest usable byte
  *((volatile char*)lo - 16) = 1;
  return a;
}

int main(int argc, char** argv) {
  watchdog(25);
  pthread_attr_t a;
  OK(pthread_attr_init(&a));
  if (argc > 1 && argv[1]) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    pthread_t t;
    OK(pthread_create(&t, &a, touches_guard, NULL));
    join(t);
    return 3;
  }

  // Values are kept, bad ones refused.
  size_t n;
  void* p;
  int d;
  struct rlimit lim;
  SYS(getrlimit(RLIMIT_STACK, &lim));
  OK(pthread_attr_getstacksize(&a, &n));
  if (lim.rlim_cur != RLIM_INFINITY && lim.rlim_cur >= 2 * 1024 * 1024) EXPECT_EQ(n, lim.rlim_cur);
  OK(pthread_attr_getguardsize(&a, &n));
  EXPECT_EQ(n, sysconf(_SC_PAGESIZE));
  OK(pthread_attr_getdetachstate(&a, &d));
  EXPECT_EQ(d, PTHREAD_CREATE_JOINABLE);
  EXPECT_EQ(pthread_attr_setstacksize(&a, 1000), EINVAL);
  OK(pthread_attr_setstacksize(&a, 300000));
  OK(pthread_attr_getstacksize(&a, &n));
  EXPECT_EQ(n, 300000);
  OK(pthread_attr_setguardsize(&a, 3 * 4096));
  OK(pthread_attr_getguardsize(&a, &n));
  EXPECT_EQ(n, 3 * 4096);
  int s;
  OK(pthread_attr_getscope(&a, &s));
  EXPECT_EQ(s, PTHREAD_SCOPE_SYSTEM);
  EXPECT_EQ(pthread_attr_setscope(&a, PTHREAD_SCOPE_PROCESS), ENOTSUP);
  OK(pthread_attr_getinheritsched(&a, &s));
  EXPECT_EQ(s, PTHREAD_INHERIT_SCHED);
  OK(pthread_attr_getschedpolicy(&a, &s));
  EXPECT_EQ(s, SCHED_OTHER);

  // The initial thread's bounds hold too.
  OK(pthread_attr_destroy(&a));
  OK(pthread_getattr_np(pthread_self(), &a));
  OK(pthread_attr_getstack(&a, &p, &n));
  EXPECT((char*)&n > (char*)p && (char*)&n < (char*)p + n);
  OK(pthread_attr_destroy(&a));

  // Sizes that must be usable, with and without guard, again and again.
  static const size_t sizes[] = {128 * 1024, 256 * 1024, 1000000, 1 << 20, 16 << 20};
  for (int round = 0; round < 3; round++)
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
      for (size_t g = 0; g <= 16 * 4096; g = g ? g * 16 : 4096) {
        OK(pthread_attr_init(&a));
        OK(pthread_attr_setstacksize(&a, sizes[i]));
        OK(pthread_attr_setguardsize(&a, g));
        struct want w = {sizes[i] - 8192, NULL, 0};
        pthread_t t;
        OK(pthread_create(&t, &a, checks, &w));
        join(t);
        OK(pthread_attr_destroy(&a));
      }

  // The smallest stack allowed runs.
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN));
  pthread_t t;
  OK(pthread_create(&t, &a, state_of_self, num(1)));
  EXPECT_EQ(join(t), 1);
  OK(pthread_attr_destroy(&a));

  // A stack of the caller's, reused by several threads one after another.
  size_t size = 256 * 1024;
  void* mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(mem != MAP_FAILED);
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setstack(&a, mem, size));
  OK(pthread_attr_getstack(&a, &p, &n));
  EXPECT_EQ(p, mem);
  EXPECT_EQ(n, size);
  for (int i = 0; i < 20; i++) {
    struct want w = {size, mem, size};
    OK(pthread_create(&t, &a, checks, &w));
    join(t);
  }
  SYS(munmap(mem, size));
  OK(pthread_attr_destroy(&a));

  // Default attributes for all threads.
  pthread_attr_t old;
  OK(pthread_getattr_default_np(&old));
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setstacksize(&a, 3 << 20));
  OK(pthread_setattr_default_np(&a));
  struct want w = {(3 << 20) - 3 * 4096, NULL, 0};
  join(start(checks, &w));
  OK(pthread_setattr_default_np(&old));
  OK(pthread_attr_destroy(&a));

  many_sizes();

  // Running over the end hits the guard page: SIGSEGV, not silence.
  char out[100];
  EXPECT_EQ(run_self("guard", out, sizeof out) & 0x7f, SIGSEGV);
  return 0;
}
