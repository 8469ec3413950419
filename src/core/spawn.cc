// core/spawn.cc -- birth, death and recycling of Gs.
//
// Invariants
//   A G keeps its slot and control block for life. Free lists: per P for the default size (64, spilling
//   to 31, refilled to 32, as Go), one per pool otherwise.
//
// Rejected
//   Go's runnext for every G just made: of several, the last then runs first. Kernel threads begin in the order in
//   which they were made, near enough that programs count on it (the first installs what the others use). So
//   only a G before which none waits takes runnext, until its creator makes another one: thieves leave runnext
//   alone for a moment, and create-and-join stays on one P.
#include "core/spawn.h"

#include "arch/context.h"
#include "core/cputime.h"
#include "core/ownm.h"
#include "core/preempt.h"
#include "core/sigqueue.h"
#include "os/slab.h"
#include "os/tcb.h"

namespace gmpt::core {

namespace {

// One for each size of stack and guard there ever was: push only. The first, of the default size, stays in front.
constinit Atomic<StackPool*> pools{};
constinit os::Slab pool_slab(align_up(sizeof(StackPool), size_t{64}), 16 << 10);
GMPT_GLOBAL_LOCK(pools_lock);
constinit os::Slab g_slab(align_up(sizeof(G), size_t{64}), 256 << 10);
Atomic<u64> next_id;
// Above any kernel thread id, below FUTEX_TID_MASK; 28 bits, so that it fits a CPU-clock id too.
constexpr i32 kFirstTid = 1 << 22;

// Each process begins elsewhere: process-shared locks compare owners by these ids.
i32 tid_of(u64 n) {
  u32 base = static_cast<u32>(sched.pid) * 2654435761u;
  return kFirstTid + 1 + static_cast<i32>((base + static_cast<u32>(n)) % 0x0f000000);
}

G* new_g() {
  G* g = static_cast<G*>(g_slab.take());
  if (!g) return nullptr;
  g->timer.pos = -1;
  g->waiter.g = g;
  u64 n = next_id.fetch_add_relaxed(1);
  g->id = n;
  g->tid = tid_of(n);
  G* head = sched.all_gs.load_acquire();
  do g->all_next = head; while (!sched.all_gs.cas_acq_rel(head, g));
  return g;
}

// A recycled thread is another thread: it gets another id.
void renumber(G* g) {
  u64 n = next_id.fetch_add_relaxed(1);
  g->id = n;
  g->tid = tid_of(n);
}

void entry_on_g(void* arg) {
  G* g = static_cast<G*>(arg);
  g->entry(g);
  fatal("a thread came back from its end");
}

void exit_on_g0(G* g) {
  cpu_out(g);
  M* m = mm();
  bool m_ends = m->changed || m->ends || g->private_p;
  if (GMPT_UNLIKELY(g->pins)) {
    m_ends |= timer_pins_over(g, true) > 0;  // a timer that counts this M's time shall count nobody else's
    g->pins = 0;
    g->locked_m = nullptr;
    m->locked_g = nullptr;
  }
  g->private_p = false;  // nobody readies it any more
  m->curg = nullptr;
  g->m = nullptr;
  preempt_forget(g);
  u64 mask = g->sigmask;
  g->sigmask = 0;
  g->errand.store_relaxed(0);
  g->state.store_release(GState::kDead);
  counted_at_end(mask);
  fence();  // [give]
  if (GMPT_UNLIKELY(g->sigpending.load_relaxed())) give_back(g, ~u64{0}, true);
  g->on_exit(g);  // may put g back to its pool, or wake the thread that will
  if (GMPT_UNLIKELY(m_ends)) own_m_ends();
  schedule();
}

}  // namespace

static StackPool* find_pool(size_t size, size_t guard) {
  for (StackPool* p = pools.load_acquire(); p; p = p->next.load_acquire())
    if (p->stacks.size() == size && p->stacks.guard() == guard) return p;
  return nullptr;
}

StackPool* pool_for(size_t size, size_t guard) {
  if (StackPool* p = find_pool(size, guard)) return p;
  os::Guard l(pools_lock);
  if (StackPool* p = find_pool(size, guard)) return p;
  auto* p = static_cast<StackPool*>(pool_slab.take());
  if (!p) return nullptr;
  p->stacks.init(size, guard);
  StackPool* first = pools.load_relaxed();
  p->next.store_relaxed(first ? first->next.load_relaxed() : nullptr);
  (first ? first->next : pools).store_release(p);
  return p;
}

void set_default_pool(size_t size, size_t guard) {
  if (StackPool* p = pool_for(size, guard)) p->is_default = true;
}

// The list of a private P would be forgotten with it.
static P* lists_of(StackPool* pool, bool have_p) {
  return have_p && pool->is_default && !mm()->p->is_private ? mm()->p : nullptr;
}

G* g_take(StackPool* pool, bool* fresh, bool have_p) {
  *fresh = false;
  P* p = lists_of(pool, have_p);
  if (p) {
    if (p->free_gs.empty() && as_atomic(&pool->free.head).load_relaxed()) {
      os::Guard l(pool->lock);
      while (p->free_gs.n < 32 && !pool->free.empty()) p->free_gs.push(pool->free.pop());
    }
    if (!p->free_gs.empty()) {
      G* g = p->free_gs.pop();
      renumber(g);
      return g;
    }
  } else {
    os::Guard l(pool->lock);
    if (!pool->free.empty()) {
      G* g = pool->free.pop();
      renumber(g);
      return g;
    }
  }
  os::StackSlot slot;
  if (!preempt_reserve() || !pool->stacks.take(&slot)) return nullptr;
  G* g = new_g();
  if (!g) return nullptr;
  os::Placement at = os::tcb_place(slot.hi);
  g->slot = slot;
  g->pool = pool;
  g->fs = at.tcb;
  *fresh = true;
  return g;
}

void g_put(G* g, bool have_p) {
  StackPool* pool = g->pool;
  P* p = lists_of(pool, have_p);
  if (!p) {
    os::Guard l(pool->lock);
    pool->free.push(g);
    return;
  }
  // Last in, first out: the warmest stack is used next.
  g->link = p->free_gs.head;
  p->free_gs.head = g;
  if (!p->free_gs.tail) p->free_gs.tail = g;
  if (++p->free_gs.n < 64) return;
  GList keep;
  while (keep.n < 31) keep.push(p->free_gs.pop());
  os::Guard l(pool->lock);
  while (!p->free_gs.empty()) pool->free.push(p->free_gs.pop());
  p->free_gs = keep;
}

bool g_start(G* g, void (*entry)(G*), bool have_p, const OwnM* own) {
  g->entry = entry;
  g->sp = arch::make_context(g->top, &entry_on_g, g, arch::mxcsr(), arch::x87_cw());
  g->locked_m = nullptr;
  g->sigpending.store_relaxed(0);
  if (have_p && GMPT_UNLIKELY(own || mm()->changed) && !own_m_for(g, own != nullptr, own ? own->policy : -1, own ? own->priority : 0)) return false;
  g->why = Why::kNone;
  g->cpu_cycles.store_relaxed(0);
  g->cpu_ns.store_relaxed(0);
  g->cpu_told.store_relaxed(0);
  g->cancel_req.store_relaxed(0);
  g->owns_fds = false;
  counted_at_birth(g->sigmask);
  if (have_p) {
    P* p = mm()->p;
    p->stats.spawned++;
    bool first = p->runq.empty();
    if (G* before = p->runq.next.load_relaxed(); before && before == p->newborn && (before = p->runq.take_next())) runq_put(p, before, false);
    p->newborn = first ? g : nullptr;
    ready(g, first);
  } else {
    sched.stats.spawned++;
    ready_outside(g);
  }
  return true;
}

[[noreturn]] void g_exit() {
  gmpt_mcall(&exit_on_g0);
  __builtin_unreachable();
}

G* g_adopt_main() {
  G* g = new_g();
  if (!g) return nullptr;
  g->tid = os::gettid();
  g->fs = arch::thread_pointer();
  g->state.store_release(GState::kRunning);
  sched.n_gs.fetch_add_acq_rel(1);
  return g;
}

void drop_parents_stacks() {
  os::drop_parents_stacks(arch::thread_pointer(), reinterpret_cast<uptr>(__builtin_frame_address(0)));
}

void spawn_reset() {
  for (StackPool* p = pools.load_relaxed(); p; p = p->next.load_relaxed()) {
    p->lock.reset();
    p->stacks.reset();
    p->free = GList{};
  }
  g_slab.reset();
  pool_slab.reset();
  os::stacks_child();
}

}  // namespace gmpt::core
