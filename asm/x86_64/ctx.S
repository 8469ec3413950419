// asm/x86_64/ctx.S -- leaving and resuming a G, and its first frame.
//
//   void gmpt_mcall(void (*fn)(G*))      rdi = fn. Returns when somebody resumes the G.
//   void gmpt_gogo(G* g)                 rdi = g. Does not return.
//
// Saved on the G's stack, from high to low: return address, rbp rbx r12 r13 r14 r15, then MXCSR
// (4 bytes) and the x87 control word (2 bytes) in one slot. Not saved: caller-saved registers, vector
// registers, flags (the ABI lets calls destroy them) and FS (core/execute writes it when it differs).
// GS holds the M and is never switched.
#include "asm.h"

FUNC(gmpt_mcall)
  PUSH(%rbp)
  PUSH(%rbx)
  PUSH(%r12)
  PUSH(%r13)
  PUSH(%r14)
  PUSH(%r15)
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rdi, %rax
  movq %gs:GMPT_M_CURG, %rdi
  movq %rsp, GMPT_G_SP(%rdi)
  movq %gs:GMPT_M_G0SP, %rsp
  xorl %ebp, %ebp
  .cfi_undefined %rip
  callq *%rax
  ud2
END(gmpt_mcall)

// The CFI below describes the G's stack, which is where rsp points after the first instruction.
FUNC(gmpt_gogo)
  movq GMPT_G_SP(%rdi), %rsp
  .cfi_def_cfa %rsp, 64
  .cfi_offset %rbp, -16
  .cfi_offset %rbx, -24
  .cfi_offset %r12, -32
  .cfi_offset %r13, -40
  .cfi_offset %r14, -48
  .cfi_offset %r15, -56
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  POP(%r15)
  POP(%r14)
  POP(%r13)
  POP(%r12)
  POP(%rbx)
  POP(%rbp)
  ret
END(gmpt_gogo)

// First frame: r12 = fn, r13 = arg. The unwinder stops here.
FUNC(gmpt_g_entry)
  .cfi_undefined %rip
  xorl %ebp, %ebp
  movq %r13, %rdi
  callq *%r12
  ud2
END(gmpt_g_entry)

  .section .note.GNU-stack,"",@progbits
