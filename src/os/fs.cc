// os/fs.cc -- probing the FS modes; the trap region of the lazy one.
#include "os/fs.h"

#include <linux/auxvec.h>

#include "arch/context.h"
#include "arch/x86_64.h"
#include "os/auxv.h"
#include "os/sig.h"

namespace gmpt::os {

FsMode fs_mode = FsMode::kSyscall;

namespace {

constexpr size_t kTrapBytes = 64 << 20;  // TLS offsets reach no further than half of it, on either side
uptr trap;
bool has_instruction;
u64 dummy_tcb[64];

// Steps over the four bytes of `rdfsbase %rax`-like probes.
void on_sigill(int, SigInfo*, UContext* uc) {
  has_instruction = false;
  uc->rip += 5;
}

bool probe_instruction() {
  KSigaction sa{}, old{};
  sa.handler = reinterpret_cast<void*>(&on_sigill);
  sa.flags = kSaSiginfo | kSaRestorer | kSaNodefer;
  sa.restorer = reinterpret_cast<void*>(&gmpt_sig_restorer);
  if (sigaction(4 /* SIGILL */, &sa, &old) != 0) return false;
  has_instruction = true;
  u64 v;
  __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xc0" /* rdfsbase %rax, 5 bytes */ : "=a"(v)::"memory");
  sigaction(4, &old, nullptr);
  return has_instruction;
}

}  // namespace

bool fs_init(FsMode wanted) {
  bool kernel_keeps = auxv(AT_HWCAP2) & 2;
  bool works = kernel_keeps || probe_instruction();
  has_instruction = works;
  if (wanted == FsMode::kSyscall || !works) fs_mode = FsMode::kSyscall;
  else if (wanted == FsMode::kFsgsbase && kernel_keeps) fs_mode = FsMode::kFsgsbase;
  else if (wanted == FsMode::kAuto && kernel_keeps) fs_mode = FsMode::kFsgsbase;
  else fs_mode = FsMode::kLazy;
  if (fs_mode == FsMode::kLazy && !trap) {
    i64 r = sys(__NR_mmap, 0, kTrapBytes, 0, 0x4022, -1, 0);
    if (r < 0 && r > -4096) fs_mode = FsMode::kSyscall;
    else trap = static_cast<uptr>(r) + kTrapBytes / 2;
  }
  return true;
}

uptr fs_initial() {
  dummy_tcb[0] = dummy_tcb[2] = reinterpret_cast<u64>(dummy_tcb);
  return fs_mode == FsMode::kLazy ? trap : reinterpret_cast<uptr>(dummy_tcb);
}

void fs_take(u64 base) {
  if (fs_mode != FsMode::kLazy) return;
  sys(__NR_arch_prctl, 0x1002, trap);
  arch::wrfsbase(base);
}

void fs_give(u64 base) {
  if (fs_mode == FsMode::kLazy) sys(__NR_arch_prctl, 0x1002, base);  // in the other modes it knows
}

bool fs_repair(u64 base) {
  if (fs_mode != FsMode::kLazy || arch::rdfsbase() != trap || !base) return false;
  arch::wrfsbase(base);
  return true;
}

uptr gs_base() {
  if (has_instruction) return arch::rdgsbase();
  uptr v = 0;
  sys(__NR_arch_prctl, 0x1004 /* ARCH_GET_GS */, &v);
  return v;
}

}  // namespace gmpt::os
