// preload/vfork.cc -- vfork: a child on the caller's stack and memory, until it executes another program or ends.
//
// What it is
//   The calling G stays on its M, which the kernel suspends; its P goes to others. The child is native from its
//   first instruction on: every name of ours passes its calls on (rt/self.h: on), since what they would change
//   (queues, descriptors, signal tables) is the parent's memory.
//
// Invariants
//   The child returns to the caller and overwrites the stack below it, so nothing of ours lies there while it
//   lives: return address and G are kept in registers, of which the kernel gives each its own.
#include <unistd.h>

#include "core/boot.h"
#include "core/netpoll.h"
#include "preload/interpose.h"

using namespace gmpt;

extern "C" {

struct VforkStart { core::G* g; void* instead; };  // in rax and rdx

VforkStart gmpt_vfork_begin() {
  if (!rt::on() || !core::awake()) return {nullptr, reinterpret_cast<void*>(os::real().vfork)};
  core::G* g = rt::self();
  if (!g) return {nullptr, reinterpret_cast<void*>(&fork)};  // a kernel thread: it has no G to suspend
  core::fds_shared();
  core::pin(g);
  core::before_fork(g);
  core::sys_begin();
  return {g, nullptr};
}

// tls_g stays: others find the G by it (pthread_join).
void gmpt_vfork_child() { rt::tls_vfork_child = true; }

int gmpt_vfork_parent(core::G* g, long r) {
  rt::tls_vfork_child = false;
  core::fds_shared();  // what others opened meanwhile
  core::sys_end();
  core::after_fork_parent(g);
  core::unpin(g);
  return static_cast<int>(rt::ret(r));
}
}

GMPT_API __attribute__((naked)) pid_t vfork() noexcept {
  __asm__(
      "  endbr64\n"
      "  subq $8, %rsp\n"
      "  call gmpt_vfork_begin\n"
      "  addq $8, %rsp\n"
      "  testq %rax, %rax\n"
      "  jz 1f\n"
      "  movq %rax, %rsi\n"
      "  popq %rdi\n"
      "  movl $58, %eax\n"
      "  syscall\n"
      "  pushq %rdi\n"
      "  subq $8, %rsp\n"
      "  testq %rax, %rax\n"
      "  jz 2f\n"
      "  movq %rsi, %rdi\n"
      "  movq %rax, %rsi\n"
      "  call gmpt_vfork_parent\n"
      "  addq $8, %rsp\n"
      "  ret\n"
      "1: jmp *%rdx\n"
      "2: call gmpt_vfork_child\n"
      "  addq $8, %rsp\n"
      "  xorl %eax, %eax\n"
      "  ret\n");
}
