// os/stack.h -- address space for thread stacks: slots of one size with a guard below each.
//
// What it is
//   A StackClass hands out slots [guard | stack) from big lazily committed mappings. A slot is never
//   given back to the kernel; it stays with its G for life (core/spawn.cc recycles the pair).
//
// Invariants
//   Slots of a chunk lie back to back, so the guard of one and the top of the one below share a page
//   of page tables: 4 KB of tables per touched stack, not 8.
//
// Who may call it
//   Anybody inside the runtime. No libc.
#pragma once
#include "os/futex.h"

namespace gmpt::os {

struct StackSlot {
  uptr lo, hi;  // usable bytes; the guard lies below lo
};

// From now on all stacks may be executed, as libc has it once a module asks for that.
void stacks_executable();
// Forked child: nobody's stacks any more, but what a parent's thread left there may be read until the child makes
// threads of its own, as natively.
void stacks_child();
void drop_parents_stacks(uptr keep, uptr keep_too);  // ... which is now; the slots in which these addresses lie stay

class StackClass {
 public:
  void init(size_t size, size_t guard) { size_ = size; guard_ = guard; }
  size_t size() const { return size_; }
  size_t guard() const { return guard_; }
  // False when the kernel has no more address space or memory.
  bool take(StackSlot* out);
  void reset() {  // forked child
    lock_.reset();
    next_ = end_ = 0;
  }

 private:
  bool grow();
  size_t size_ = 0, guard_ = 0;
  Lock lock_;
  uptr next_ = 0, end_ = 0;
  u32 chunk_slots_ = 0;
};

}  // namespace gmpt::os
