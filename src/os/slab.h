// os/slab.h -- never-freed objects of one type from the runtime's own mappings.
//
// What it is
//   Gs, Ms and preemption blocks live here. Memory is type-stable: a stale pointer to a G always
//   points to some G, which the sequence numbers in core/wait.h rely on.
//
// Invariants
//   Objects start zeroed. take() returns null when the kernel gives no more memory.
#pragma once
#include "os/futex.h"

namespace gmpt::os {

class Slab {
 public:
  constexpr Slab(size_t object, size_t chunk) : object_(object), chunk_(chunk) {}
  void* take() {
    Guard g(lock_);
    if (left_ < object_) {
      u8* p = static_cast<u8*>(map(chunk_));
      if (!p) return nullptr;
      next_ = p;
      left_ = chunk_;
    }
    void* r = next_;
    next_ += object_;
    left_ -= object_;
    return r;
  }
  void reset() {  // forked child: whoever was inside is gone, and so is what it was doing
    lock_.reset();
    left_ = 0;
  }

 private:
  const size_t object_, chunk_;
  Lock lock_;
  u8* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace gmpt::os
