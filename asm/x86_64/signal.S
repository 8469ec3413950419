// asm/x86_64/signal.S -- the two returns from a signal handler.
//
//   gmpt_sig_restorer    the kernel's frame on the M's signal stack: plain rt_sigreturn.
//   gmpt_sig_landing     return address of a program's handler, whose frame core/signal.cc copied to the
//                        G's own stack. The handler may have blocked and come back on another M, so
//                        the hook sig_return_fix(frame) first blocks all signals on this M and writes this
//                        M's signal stack and the G's mask into the frame; rt_sigreturn then puts
//                        everything back at once.
//   On entry to both rsp = frame + 8; the kernel expects exactly that.
#include "asm.h"

  .text
  .p2align 4
  .globl gmpt_sig_restorer
  .hidden gmpt_sig_restorer
  .type gmpt_sig_restorer, @function
  SIGNAL_FRAME
gmpt_sig_restorer:
  movl $15, %eax
  syscall
  ud2
  .cfi_endproc
  .size gmpt_sig_restorer, . - gmpt_sig_restorer

  .p2align 4
  .globl gmpt_sig_landing
  .hidden gmpt_sig_landing
  .type gmpt_sig_landing, @function
  SIGNAL_FRAME
gmpt_sig_landing:
  leaq -8(%rsp), %rdi
  movq %rsp, %rbx
  andq $-16, %rsp
  call *gmpt_hooks+GMPT_HOOK_SIG_RETURN_FIX(%rip)
  movq %rbx, %rsp
  movl $15, %eax
  syscall
  ud2
  .cfi_endproc
  .size gmpt_sig_landing, . - gmpt_sig_landing

  .section .note.GNU-stack,"",@progbits
