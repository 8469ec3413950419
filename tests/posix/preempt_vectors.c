// posix/preempt_vectors.c -- whatever interrupts a loop: x87, SSE, AVX and AVX-512 registers with their masks keep their values.
// env: GMPT_SLICE_US=100
// modes: all-fs
// timeout: 30
#include "expect.h"
#ifndef __x86_64__
int main(void) { skip("x86-64 only"); }
#else

// Each: load all registers from `in`, wait `loops` rounds, store them to `out`.
#define HEAD(name) ".text\n.p2align 4\n.type " name ",@function\n" name ":\n"
#define WAIT "1: dec %rdx\n  jnz 1b\n"
#define TAIL(name) "  ret\n.size " name ",.-" name "\n"
#define R16 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define R32 R16 ",16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
__asm__(HEAD("hold_sse") ".irp r," R16 "\n movups 16*\\r(%rdi), %xmm\\r\n .endr\n" WAIT
        ".irp r," R16 "\n movups %xmm\\r, 16*\\r(%rsi)\n .endr\n" TAIL("hold_sse"));
__asm__(HEAD("hold_avx") ".irp r," R16 "\n vmovups 32*\\r(%rdi), %ymm\\r\n .endr\n" WAIT
        ".irp r," R16 "\n vmovups %ymm\\r, 32*\\r(%rsi)\n .endr\n vzeroupper\n" TAIL("hold_avx"));
__asm__(HEAD("hold_512") ".irp r," R32 "\n vmovups 64*\\r(%rdi), %zmm\\r\n .endr\n"
        ".irp k,1,2,3,4,5,6,7\n kmovw 64*\\k(%rdi), %k\\k\n .endr\n" WAIT
        ".irp r," R32 "\n vmovups %zmm\\r, 64*\\r(%rsi)\n .endr\n"
        ".irp k,1,2,3,4,5,6,7\n kmovw %k\\k, 2048+2*\\k(%rsi)\n .endr\n vzeroupper\n" TAIL("hold_512"));
__asm__(HEAD("hold_x87") ".irp r,0,1,2,3,4,5,6,7\n fldt 16*\\r(%rdi)\n .endr\n" WAIT
        ".irp r,7,6,5,4,3,2,1,0\n fstpt 16*\\r(%rsi)\n .endr\n" TAIL("hold_x87"));
extern void hold_sse(const void* in, void* out, uint64_t loops) __asm__("hold_sse");
extern void hold_avx(const void* in, void* out, uint64_t loops) __asm__("hold_avx");
extern void hold_512(const void* in, void* out, uint64_t loops) __asm__("hold_512");
extern void hold_x87(const void* in, void* out, uint64_t loops) __asm__("hold_x87");

static int has_avx, has_512;
static void* storm(void* a) {
  uint64_t seed = (uintptr_t)a;
  union { unsigned char b[2112]; uint64_t u[264]; long double ld[8]; } in, out;
  for (int i = 0; i < 60; i++) {
    for (unsigned k = 0; k < 264; k++) in.u[k] = rnd(&seed);
    memset(&out, 0, sizeof out);
    hold_sse(&in, &out, 200000);
    EXPECT(!memcmp(&in, &out, 256));
    if (has_avx) {
      hold_avx(&in, &out, 200000);
      EXPECT(!memcmp(&in, &out, 512));
    }
    if (has_512) {
      hold_512(&in, &out, 200000);
      EXPECT(!memcmp(&in, &out, 2048));
      for (int k = 1; k < 8; k++) EXPECT(!memcmp(in.b + 64 * k, out.b + 2048 + 2 * k, 2));
    }
    memset(&in, 0, 128);
    memset(&out, 0, 128);
    for (int k = 0; k < 8; k++) in.ld[k] = (long double)rnd(&seed) / 3;
    hold_x87(&in, &out, 200000);
    for (int k = 0; k < 8; k++) EXPECT(!memcmp(&in.ld[k], &out.ld[k], 10));
    if (i % 16 == 0) sched_yield();
  }
  return NULL;
}

int main(void) {
  watchdog(25);
  has_avx = __builtin_cpu_supports("avx");
  has_512 = __builtin_cpu_supports("avx512f");
  printf("avx %d, avx512 %d\n", !!has_avx, !!has_512);
  enum { T = 12 };
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(storm, num(i + 1));
  for (int i = 0; i < T; i++) join(t[i]);
  return 0;
}
#endif
