// posix/preempt_rounding.c -- rounding modes and floating-point control words are per thread, survive every switch, and are inherited at creation.
// flags: -frounding-math -lm
// env: GMPT_SLICE_US=100
// modes: all-fs
// timeout: 30
#include "expect.h"
#include <fenv.h>
#ifndef __x86_64__
int main(void) { skip("x86-64 only"); }
#else

static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
static unsigned mxcsr(void) {
  unsigned v;
  __asm__ volatile("stmxcsr %0" : "=m"(v));
  return v;
}
static void set_mxcsr(unsigned v) { __asm__ volatile("ldmxcsr %0" ::"m"(v)); }
static unsigned short cw(void) {
  unsigned short v;
  __asm__ volatile("fnstcw %0" : "=m"(v));
  return v;
}
static void set_cw(unsigned short v) { __asm__ volatile("fldcw %0" ::"m"(v)); }

static volatile double one = 1.0, three = 3.0;
static double third[4];
static void* check_inherited(void* a) {
  EXPECT_EQ(mxcsr() & ~0x3fu, *(unsigned*)a & ~0x3fu);
  EXPECT_EQ(cw(), ((unsigned*)a)[1]);
  return NULL;
}

static void* storm(void* a) {
  int me = (int)(intptr_t)a, k = me % 4;
  OK(fesetround(modes[k]));
  unsigned ftz = me & 4 ? 0x8040 : 0;  // flush-to-zero, denormals-are-zero
  set_mxcsr((mxcsr() & ~0x3fu) | ftz);
  // x87 precision: 24, 53 or 64 bits.
  static const unsigned short pc[] = {0x000, 0x200, 0x300};
  set_cw((unsigned short)((cw() & ~0x300) | pc[me % 3]));
  unsigned m = mxcsr() & ~0x3fu;
  unsigned short c = cw();
  int sp[2];
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
  for (int i = 0; i < 200; i++) {
    for (int n = 0; n < 20000; n++) {
      double d = one / three;
      EXPECT(d == third[k]);
    }
    char b = 0;
    switch (i % 5) {
      case 0: sched_yield(); break;
      case 1: usleep(100); break;
      case 2:
        write_all(sp[0], &b, 1);
        read_all(sp[1], &b, 1);
        break;
      case 3: {
        unsigned want[2] = {m, c};
        if (i % 15 == 3) join(start(check_inherited, want));
        break;
      }
    }
    EXPECT_EQ(mxcsr() & ~0x3fu, m);
    EXPECT_EQ(cw(), c);
    EXPECT_EQ(fegetround(), modes[k]);
  }
  close(sp[0]);
  close(sp[1]);
  return NULL;
}

int main(void) {
  watchdog(25);
  for (int k = 0; k < 4; k++) {
    OK(fesetround(modes[k]));
    third[k] = one / three;
  }
  OK(fesetround(FE_TONEAREST));
  EXPECT(third[1] < third[2]);
  enum { T = 24 };
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(storm, num(i));
  for (int i = 0; i < T; i++) join(t[i]);
  EXPECT_EQ(fegetround(), FE_TONEAREST);
  return 0;
}
#endif
