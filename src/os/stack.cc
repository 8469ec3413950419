// os/stack.cc -- reserving, guarding and populating stacks.
//
// Rejected
//   mprotect for the guard: two mappings a stack, which ends at vm.max_map_count (32,765 stacks).
//   Only kernels without MADV_GUARD_INSTALL (before 6.13) get it.
//   Stacks that may be executed from the beginning: a weakness, where no module asks for it.
//   Letting the first touch fault the top pages in: 18-23 µs each on virtual machines, against under
//   4 µs for both with one MADV_POPULATE_WRITE (measured 2026-11, 2 vCPU guest).
#include "os/stack.h"

#include <initializer_list>

#include "os/slab.h"

namespace gmpt::os {

namespace {
constexpr int kMadvGuardInstall = 102, kMadvPopulateWrite = 23;
constexpr size_t kTopPages = 2 * kPage;
bool no_guard_install, no_populate;  // learned once; racing writers agree

void give_back(uptr lo, uptr hi) {
  if (lo < hi) sys(__NR_madvise, lo, hi - lo, 4 /* MADV_DONTNEED */);
}

bool install_guard(uptr lo, size_t n) {
  if (!n) return true;
  if (!no_guard_install) {
    if (sys(__NR_madvise, lo, n, kMadvGuardInstall) == 0) return true;
    no_guard_install = true;
  }
  return sys(__NR_mprotect, lo, n, 0) == 0;
}

struct Chunk {
  Chunk* next;
  uptr lo;
  size_t pitch, guard;
  u32 slots;
};
GMPT_GLOBAL_LOCK(chunks_lock);
constinit Slab chunk_slab(sizeof(Chunk), 16 << 10);
Chunk* chunks;    // the latest first
Chunk* left;      // the first of those that a parent made
bool executable;  // chunks_lock

void make_executable(const Chunk* c) {
  constexpr int kAll = 7;   // read, write, execute
  if (!no_guard_install) {  // guards of that kind stay
    sys(__NR_mprotect, c->lo, c->slots * c->pitch, kAll);
    return;
  }
  for (u32 i = 0; i < c->slots; i++) sys(__NR_mprotect, c->lo + i * c->pitch + c->guard, c->pitch - c->guard, kAll);
}

bool note_chunk(uptr lo, size_t pitch, size_t guard, u32 slots) {
  Guard g(chunks_lock);
  Chunk* c = static_cast<Chunk*>(chunk_slab.take());
  if (!c) return false;
  *c = {chunks, lo, pitch, guard, slots};
  chunks = c;
  if (executable) make_executable(c);
  return true;
}
}  // namespace

void stacks_executable() {
  Guard g(chunks_lock);
  if (executable) return;
  executable = true;
  for (const Chunk* c = chunks; c; c = c->next) make_executable(c);
}

void stacks_child() {
  chunk_slab.reset();
  left = chunks;
}

void drop_parents_stacks(uptr keep, uptr keep_too) {
  Guard g(chunks_lock);
  for (Chunk* c = left; c; c = c->next) {
    uptr from = c->lo, end = c->lo + c->slots * c->pitch;
    for (uptr at : {min_of(keep, keep_too), max_of(keep, keep_too)}) {
      if (at < from || at >= end) continue;
      uptr slot = c->lo + (at - c->lo) / c->pitch * c->pitch;
      give_back(from, slot);
      from = slot + c->pitch;
    }
    give_back(from, end);
  }
  left = nullptr;
}

// Chunks double so that a program with ten threads reserves little and one with a million maps few.
bool StackClass::grow() {
  size_t pitch = size_ + guard_;
  u32 slots = chunk_slots_ ? min_of(chunk_slots_ * 2, 1024u) : 16;
  while (slots > 1 && slots * pitch > (size_t{16} << 30)) slots /= 2;
  for (; slots; slots /= 2) {
    void* p = map(slots * pitch, true);
    if (!p) continue;
    sys(__NR_madvise, p, slots * pitch, 15 /* MADV_NOHUGEPAGE: one touched page must cost one page */);
    if (!note_chunk(reinterpret_cast<uptr>(p), pitch, guard_, slots)) {
      unmap(p, slots * pitch);
      return false;
    }
    next_ = reinterpret_cast<uptr>(p);
    end_ = next_ + slots * pitch;
    chunk_slots_ = slots;
    return true;
  }
  return false;
}

bool StackClass::take(StackSlot* out) {
  uptr at;
  {
    Guard g(lock_);
    if (next_ == end_ && !grow()) return false;
    at = next_;
    next_ += size_ + guard_;
  }
  if (!install_guard(at, guard_)) return false;  // out of mappings: the slot is lost, the caller reports EAGAIN
  out->lo = at + guard_;
  out->hi = at + guard_ + size_;
  if (!no_populate) {
    size_t n = min_of(kTopPages, size_);
    i64 r = sys(__NR_madvise, out->hi - n, n, kMadvPopulateWrite);
    if (r == -kEINVAL) no_populate = true;
    else if (r == -kENOMEM) return false;
  }
  return true;
}

}  // namespace gmpt::os
