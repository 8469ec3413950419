// preload/context.cc -- getcontext and its kin: coroutines of the program, and handlers that switch stacks.
//
// What it is
//   The registers as libc saves them, in ucontext_t's own layout. The mask is the thread's: libc reads and writes the
//   kernel's, which is an M's, and never lets us know.
//
// Invariants
//   Saved is what the caller finds when it goes on, which may happen more than once: nothing of ours stays on its stack.
//   A context of makecontext ends in gmpt_context_ends, not in libc's code of that kind, for the mask of uc_link.
#include <stdarg.h>
#include <stdlib.h>
#include <ucontext.h>

#include "base/mem.h"
#include "core/boot.h"
#include "core/signal.h"
#include "preload/interpose.h"

using namespace gmpt;

extern "C" {

// One of the two may be null. Handlers of what the new mask opens run here, on the old stack, as they do natively.
__attribute__((visibility("hidden"))) void gmpt_context_masks(ucontext_t* save, const ucontext_t* load) {
  u64 now = 0;
  if (load) memcpy(&now, &load->uc_sigmask, sizeof now);
  rt::tls_syscall_frame = 0;
  core::G* g = rt::on() && core::awake() ? rt::self() : nullptr;
  if (!g) {
    os::sigprocmask(2, load ? &now : nullptr, save ? reinterpret_cast<u64*>(&save->uc_sigmask) : nullptr);
    return;
  }
  if (save) memcpy(&save->uc_sigmask, &g->sigmask, sizeof now);
  now &= ~(os::sig_bit(os::kSigCancel) | os::sig_bit(os::kSigSetxid));
  if (load) core::change_mask(g, 2, &now);
}

// rdi: where to. Leaves rdi and rsi as they are.
#define GMPT_SAVE \
  "  movq %rbx, 0x80(%rdi)\n" \
  "  movq %rbp, 0x78(%rdi)\n" \
  "  movq %r12, 0x48(%rdi)\n" \
  "  movq %r13, 0x50(%rdi)\n" \
  "  movq %r14, 0x58(%rdi)\n" \
  "  movq %r15, 0x60(%rdi)\n" \
  "  movq %rdi, 0x68(%rdi)\n" \
  "  movq %rsi, 0x70(%rdi)\n" \
  "  movq %rdx, 0x88(%rdi)\n" \
  "  movq %rcx, 0x98(%rdi)\n" \
  "  movq %r8, 0x28(%rdi)\n" \
  "  movq %r9, 0x30(%rdi)\n" \
  "  movq (%rsp), %rcx\n" \
  "  movq %rcx, 0xa8(%rdi)\n" \
  "  leaq 8(%rsp), %rcx\n" \
  "  movq %rcx, 0xa0(%rdi)\n" \
  "  leaq 0x1a8(%rdi), %rcx\n" \
  "  movq %rcx, 0xe0(%rdi)\n" \
  "  fnstenv (%rcx)\n" \
  "  fldenv (%rcx)\n"              /* storing it masks all exceptions */ \
  "  stmxcsr 0x1c0(%rdi)\n"

// rsi: from where. Does not come back.
#define GMPT_LOAD \
  "  movq 0xe0(%rsi), %rcx\n" \
  "  fldenv (%rcx)\n" \
  "  ldmxcsr 0x1c0(%rsi)\n" \
  "  movq 0xa0(%rsi), %rsp\n" \
  "  movq 0x80(%rsi), %rbx\n" \
  "  movq 0x78(%rsi), %rbp\n" \
  "  movq 0x48(%rsi), %r12\n" \
  "  movq 0x50(%rsi), %r13\n" \
  "  movq 0x58(%rsi), %r14\n" \
  "  movq 0x60(%rsi), %r15\n" \
  "  pushq 0xa8(%rsi)\n" \
  "  movq 0x68(%rsi), %rdi\n" \
  "  movq 0x88(%rsi), %rdx\n" \
  "  movq 0x98(%rsi), %rcx\n" \
  "  movq 0x28(%rsi), %r8\n" \
  "  movq 0x30(%rsi), %r9\n" \
  "  movq 0x70(%rsi), %rsi\n" \
  "  xorl %eax, %eax\n" \
  "  ret\n"

GMPT_API __attribute__((naked)) int getcontext(ucontext_t*) noexcept {
  __asm__(
      "  endbr64\n" GMPT_SAVE
      "  subq $8, %rsp\n"
      "  .cfi_adjust_cfa_offset 8\n"
      "  xorl %esi, %esi\n"
      "  call gmpt_context_masks\n"
      "  addq $8, %rsp\n"
      "  .cfi_adjust_cfa_offset -8\n"
      "  xorl %eax, %eax\n"
      "  ret\n");
}

GMPT_API __attribute__((naked)) int swapcontext(ucontext_t*, const ucontext_t*) noexcept {
  __asm__(
      "  endbr64\n" GMPT_SAVE
      "  pushq %rsi\n"
      "  .cfi_adjust_cfa_offset 8\n"
      "  call gmpt_context_masks\n"
      "  popq %rsi\n"
      "  .cfi_adjust_cfa_offset -8\n" GMPT_LOAD);
}

GMPT_API __attribute__((naked)) int setcontext(const ucontext_t*) noexcept {
  __asm__(
      "  endbr64\n"
      "  movq %rdi, %rsi\n"
      "  pushq %rsi\n"
      "  .cfi_adjust_cfa_offset 8\n"
      "  xorl %edi, %edi\n"
      "  call gmpt_context_masks\n"
      "  popq %rsi\n"
      "  .cfi_adjust_cfa_offset -8\n" GMPT_LOAD);
}

// The function of a made context returns to here; rbx points at its uc_link on the stack. Nobody called this.
__attribute__((naked, visibility("hidden"))) void gmpt_context_ends() {
  __asm__(
      "  .cfi_undefined rip\n"
      "  movq %rbx, %rsp\n"
      "  popq %rdi\n"
      "  andq $-16, %rsp\n"
      "  testq %rdi, %rdi\n"
      "  jz 1f\n"
      "  call setcontext@PLT\n"
      "1: call exit@PLT\n"
      "  hlt\n");
}
}

// Arguments are ints by the book and pointers in practice: eight bytes each.
GMPT_API void makecontext(ucontext_t* u, void (*f)(), int n, ...) noexcept {
  constexpr int kInRegs[] = {REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8, REG_R9};
  int on_stack = n > 6 ? n - 6 : 0;
  u64* sp = reinterpret_cast<u64*>(static_cast<u8*>(u->uc_stack.ss_sp) + u->uc_stack.ss_size) - (on_stack + 1);
  sp = reinterpret_cast<u64*>(align_down(reinterpret_cast<uptr>(sp), uptr{16})) - 1;
  greg_t* regs = u->uc_mcontext.gregs;
  regs[REG_RIP] = reinterpret_cast<greg_t>(f);
  regs[REG_RBX] = reinterpret_cast<greg_t>(sp + on_stack + 1);
  regs[REG_RSP] = reinterpret_cast<greg_t>(sp);
  sp[0] = reinterpret_cast<u64>(&gmpt_context_ends);
  sp[on_stack + 1] = reinterpret_cast<u64>(u->uc_link);
  va_list ap;
  va_start(ap, n);
  for (int i = 0; i < n; i++) {
    u64 v = va_arg(ap, u64);
    if (i < 6) regs[kInRegs[i]] = static_cast<greg_t>(v);
    else sp[i - 5] = v;
  }
  va_end(ap);
}
