// posix/preempt_registers.c -- whatever interrupts a leaf loop: integer registers, flags (direction too) and the red zone keep their values.
// env: GMPT_SLICE_US=100
// modes: all-fs
// timeout: 30
#include "expect.h"
#ifndef __x86_64__
int main(void) { skip("x86-64 only"); }
#else

// hold(seed, out, loops): fills every register from the seed, waits in a loop that changes none of them
// but rcx, stores them all. out[0..14] registers, out[15] flags, out[16..31] the red zone.
__asm__(
    ".text\n.p2align 4\n.type hold,@function\nhold:\n"
    "  .cfi_startproc\n"
    "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  .cfi_adjust_cfa_offset 48\n"
    "  mov %rdx, %rcx\n"
    "  lea 1(%rdi), %rax\n  lea 2(%rdi), %rbx\n  lea 3(%rdi), %rdx\n  lea 4(%rdi), %rbp\n"
    "  lea 5(%rdi), %r8\n  lea 6(%rdi), %r9\n  lea 7(%rdi), %r10\n  lea 8(%rdi), %r11\n"
    "  lea 9(%rdi), %r12\n  lea 10(%rdi), %r13\n  lea 11(%rdi), %r14\n  lea 12(%rdi), %r15\n"
    "  pushq 248(%rsi)\n  popfq\n"  // out[31] holds the flags wanted
    "  mov %rax, -8(%rsp)\n  mov %rbx, -16(%rsp)\n  mov %rdx, -24(%rsp)\n  mov %rbp, -32(%rsp)\n"
    "  mov %r8, -40(%rsp)\n  mov %r9, -48(%rsp)\n  mov %r10, -56(%rsp)\n  mov %r11, -64(%rsp)\n"
    "  mov %r12, -72(%rsp)\n  mov %r13, -80(%rsp)\n  mov %r14, -88(%rsp)\n  mov %r15, -96(%rsp)\n"
    "  mov %rdi, -104(%rsp)\n  mov %rdi, -112(%rsp)\n  mov %rdi, -120(%rsp)\n  mov %rdi, -128(%rsp)\n"
    "1: lea -1(%rcx), %rcx\n  jrcxz 2f\n  jmp 1b\n"
    "2: mov %rax, 0(%rsi)\n  mov %rbx, 8(%rsi)\n  mov %rdx, 16(%rsi)\n  mov %rbp, 24(%rsi)\n"
    "  mov %r8, 32(%rsi)\n  mov %r9, 40(%rsi)\n  mov %r10, 48(%rsi)\n  mov %r11, 56(%rsi)\n"
    "  mov %r12, 64(%rsi)\n  mov %r13, 72(%rsi)\n  mov %r14, 80(%rsi)\n  mov %r15, 88(%rsi)\n"
    "  mov %rdi, 96(%rsi)\n  mov %rcx, 104(%rsi)\n  mov %rsi, 112(%rsi)\n"
    "  lea -128(%rsp), %rsp\n  pushfq\n  popq 120(%rsi)\n  lea 128(%rsp), %rsp\n  cld\n"
    // pushfq wrote below the red zone, which is still whole: copy it.
    "  .irp k, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16\n"
    "    mov -8*\\k(%rsp), %rax\n    mov %rax, 120+8*\\k(%rsi)\n"
    "  .endr\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbp\n  pop %rbx\n"
    "  .cfi_adjust_cfa_offset -48\n"
    "  ret\n  .cfi_endproc\n.size hold,.-hold\n");
extern void hold(uint64_t seed, uint64_t* out, uint64_t loops) __asm__("hold");

// All arithmetic flags and the direction flag, in a pattern; IF and the fixed bit stay as they are.
static const uint64_t kFlags = 0x1 | 0x4 | 0x10 | 0x40 | 0x80 | 0x400 | 0x800;

static void* storm(void* a) {
  uint64_t seed = (uintptr_t)a * 0x0123456789abcdefull;
  for (int i = 0; i < 250; i++) {
    uint64_t out[32], want = 0x202 | (rnd(&seed) & kFlags);
    memset(out, 0, sizeof out);
    out[31] = want;
    hold(seed, out, 200000);
    for (unsigned k = 0; k < 12; k++) EXPECT(out[k] == seed + 1 + k);
    EXPECT(out[12] == seed);
    EXPECT(out[13] == 0);
    EXPECT(out[14] == (uintptr_t)out);
    EXPECT_EQ(out[15] & kFlags, want & kFlags);
    for (unsigned k = 0; k < 12; k++) EXPECT(out[16 + k] == seed + 1 + k);
    for (unsigned k = 12; k < 16; k++) EXPECT(out[16 + k] == seed);
    if (i % 50 == 0) sched_yield();
  }
  return NULL;
}

int main(void) {
  watchdog(25);
  enum { T = 12 };
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(storm, num(i + 1));
  for (int i = 0; i < T; i++) join(t[i]);
  return 0;
}
#endif
