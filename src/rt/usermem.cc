// rt/usermem.cc -- asking the kernel whether memory can be read or written, by calls that do nothing else.
//
// Rejected
//   Catching the fault: SIGSEGV belongs to the program, and is caught by us in one FS mode only.
//   process_vm_readv: sandboxes forbid it.
#include "rt/usermem.h"

namespace gmpt::rt {

bool on_own_stack(const void* p, size_t n) {
  G* g = self();
  uptr at = reinterpret_cast<uptr>(p), here = reinterpret_cast<uptr>(__builtin_frame_address(0));
  uptr hi = here + kPage;  // main's has no known end; a page is what locals need
  if (g) hi = min_of(g->stack_hi, hi);
  return at >= here && at < hi && n <= hi - at;
}

namespace {

// Asks at one address in each page; the first is p.
template <class F>
bool all_pages(const void* p, size_t n, F ask) {
  uptr at = reinterpret_cast<uptr>(p), end = at + n;
  if (end < at) return false;
  for (; at < end; at = align_down(at, uptr{kPage}) + kPage)
    if (at < kPage || ask(at) == -os::kEFAULT) return false;
  return true;
}

}  // namespace

// A call that fails only after it read eight bytes, in one page if they are aligned, is the kernel's cheapest opinion.
bool readable(const void* p, size_t n) {
  if (on_own_stack(p, n)) return true;
  return all_pages(p, n, [](uptr at) { return os::sys(__NR_rt_sigprocmask, 99 /* no such way */, align_down(at, uptr{8}), 0, 8); });
}

// It writes the number of a CPU.
bool writable(void* p, size_t n) {
  if (on_own_stack(p, n)) return true;
  return all_pages(p, n, [](uptr at) { return os::sys(__NR_getcpu, at, 0, 0); });
}

}  // namespace gmpt::rt
