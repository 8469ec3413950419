// asm/x86_64/clone.S -- start of a kernel thread without libc.
//
//   i64 gmpt_clone(u64 flags, void* stack, i32* ptid, void* tls, i32* ctid, void (*fn)(void*), void* arg)
//   rdi flags, rsi stack top, rdx ptid, rcx tls, r8 ctid, r9 fn, 8(%rsp) arg.
//   Parent: returns the thread id or -errno. Child: calls fn(arg) on the new stack; fn does not return.
//   The system call takes flags, stack, ptid, ctid (r10), tls (r8).
#include "asm.h"

FUNC(gmpt_clone)
  movq 8(%rsp), %rax
  andq $-16, %rsi
  subq $16, %rsi
  movq %rax, (%rsi)
  movq %r9, 8(%rsi)
  movq %r8, %r10
  movq %rcx, %r8
  movl $56, %eax
  syscall
  testq %rax, %rax
  jz 1f
  ret
1:
  .cfi_undefined %rip
  xorl %ebp, %ebp
  popq %rdi
  popq %rax
  callq *%rax
  ud2
END(gmpt_clone)

//   void gmpt_thread_gone(u32* flag): says so and ends the calling kernel thread. The flag's reader may reuse the
//   stack at once: nothing here touches it after the store. Signals are blocked.
FUNC(gmpt_thread_gone)
  movl $1, (%rdi)
  movl $60, %eax
  xorl %edi, %edi
  syscall
  ud2
END(gmpt_thread_gone)

  .section .note.GNU-stack,"",@progbits
