// asm/x86_64/preempt.S -- landing of an asynchronous preemption.
//
//   Entered by core/preempt.cc rewriting a signal context: the handler stores the interrupted PC at
//   old_rsp - 136, below it the block for the vector state, and sets rsp there, which steps over the 128 bytes
//   of red zone that SysV C code may use below its stack pointer. So on entry (%rsp) = block,
//   8(%rsp) = resume PC and CFA = rsp + 144.
//
//   Kept: every integer register, the flags, and through XSAVE with the enabled feature mask all of
//   x87, MXCSR, SSE, AVX, AVX-512, … in a block off the user's stack (a thread with the smallest stack
//   has no room for it). rbx carries the block, rbp the frame, across the calls; both are callee-saved.
//
//   Through gmpt_hooks (arch/context.h):
//   preempt_begin()      marks this M "in the runtime". General registers only.
//   preempt_park()       gives the P to others; returns on some M, outside the runtime.
//   preempt_end(block)   gives the block back, lock-free, touching no M state.
#include "asm.h"

  .text
  .p2align 4
  .globl gmpt_preempt_landing
  .hidden gmpt_preempt_landing
  .type gmpt_preempt_landing, @function
gmpt_preempt_landing:
  .cfi_startproc
  .cfi_signal_frame
  .cfi_def_cfa %rsp, GMPT_LANDING_SIZE
  .cfi_offset %rip, -136
  pushfq
  .cfi_adjust_cfa_offset 8
  cld
  PUSH(%rax)
  PUSH(%rcx)
  PUSH(%rdx)
  PUSH(%rbx)
  PUSH(%rbp)
  PUSH(%rsi)
  PUSH(%rdi)
  PUSH(%r8)
  PUSH(%r9)
  PUSH(%r10)
  PUSH(%r11)
  PUSH(%r12)
  PUSH(%r13)
  PUSH(%r14)
  PUSH(%r15)
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  andq $-16, %rsp
  call *gmpt_hooks+GMPT_HOOK_PREEMPT_BEGIN(%rip)
  movq 128(%rbp), %rbx         // above the flags and 15 registers
  movl GMPT_XSAVE_LO(%rbx), %eax
  movl GMPT_XSAVE_LO+4(%rbx), %edx
  xsave64 64(%rbx)
  fninit                       // the next G expects an empty x87 stack (gogo loads its control word)
  testb $4, GMPT_XSAVE_LO(%rbx)
  jz 1f
  vzeroupper                   // dirty upper halves would slow every SSE instruction of the next G
1:
  call *gmpt_hooks+GMPT_HOOK_PREEMPT_PARK(%rip)
  movl GMPT_XSAVE_LO(%rbx), %eax
  movl GMPT_XSAVE_LO+4(%rbx), %edx
  xrstor64 64(%rbx)
  movq %rbx, %rdi
  call *gmpt_hooks+GMPT_HOOK_PREEMPT_END(%rip)
  movq %rbp, %rsp
  .cfi_def_cfa_register %rsp
  POP(%r15)
  POP(%r14)
  POP(%r13)
  POP(%r12)
  POP(%r11)
  POP(%r10)
  POP(%r9)
  POP(%r8)
  POP(%rdi)
  POP(%rsi)
  POP(%rbp)
  POP(%rbx)
  POP(%rdx)
  POP(%rcx)
  POP(%rax)
  popfq
  .cfi_adjust_cfa_offset -8
  leaq 8(%rsp), %rsp
  .cfi_adjust_cfa_offset -8
  ret $128
  .cfi_endproc
  .size gmpt_preempt_landing, . - gmpt_preempt_landing

  .section .note.GNU-stack,"",@progbits
