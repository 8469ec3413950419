// core/preempt.cc -- may this G be moved here? and the blocks that keep its vector state.
//
// Invariants
//   An XSAVE block has a 64-byte head with the feature mask, then the area. Blocks are never freed. There is
//   address space for one per G from its creation on, which fails without: a G can be preempted when memory is
//   short. One is taken before the G is sent to the landing, which finds it on the stack, since a signal
//   handler that comes between may take the G to another M.
//   A G's blocks in use are a list, the newest first, as landings nest. A landing that is left by cancellation, by a
//   handler's longjmp or by the end of the thread gives its block back then or at the G's next preemption.
//
// Memory orders
//   [xfree]  give: CAS-release on the free list  ->  take: CAS-acquire. Takers hold xlock, so a block that
//            a taker looks at cannot be taken and given back meanwhile (no ABA); takers are on a signal stack and
//            cannot be interrupted; givers need no lock, because they run where a signal may move them.
#include "core/preempt.h"

#include "arch/context.h"
#include <initializer_list>
#include "base/mem.h"
#include "base/options.h"
#include "core/signal.h"
#include "os/fs.h"
#include "core/sys.h"
#include "os/cpu.h"
#include "os/fs.h"
#include "os/libc.h"
#include "os/slab.h"

namespace gmpt::core {

namespace {

struct XBlock {
  XBlock* next;
  u64 frame;         // the landing's, whose block it is
  u32 mask_lo, mask_hi;
  G* g;
};
static_assert(offsetof(XBlock, mask_lo) == GMPT_XSAVE_LO);

os::Range ranges[4];
u32 n_ranges;
os::Xsave xsave;
Atomic<XBlock*> xfree;
GMPT_GLOBAL_LOCK(xlock);
struct Chunk { u8* next; u32 left; };
Chunk chunks[40];  // each as big as all before
u32 n_chunks, chunk;
u32 made, wanted;  // blocks in chunks; Gs

size_t block_size() { return align_up(64 + size_t{xsave.size}, size_t{64}); }

bool movable(u64 pc) {
  for (u32 i = 0; i < n_ranges; i++)
    if (pc >= ranges[i].lo && pc < ranges[i].hi) return false;
  return true;
}

bool more_blocks() {
  u32 n = max_of(made, 64u);
  void* p = n_chunks < 40 ? os::map(n * block_size(), true) : nullptr;
  if (!p) return false;
  chunks[n_chunks++] = {static_cast<u8*>(p), n};
  made += n;
  return true;
}

XBlock* block_take() {
  os::Guard l(xlock);
  for (XBlock* b = xfree.load_acquire(); b;) {
    if (xfree.cas_acquire(b, b->next)) return b;  // [xfree]
    b = xfree.load_acquire();
  }
  while (chunk < n_chunks && !chunks[chunk].left) chunk++;
  if (chunk == n_chunks && !more_blocks()) return nullptr;
  Chunk& c = chunks[chunk];
  auto* b = reinterpret_cast<XBlock*>(c.next);
  c.next += block_size();
  c.left--;
  b->mask_lo = static_cast<u32>(xsave.mask);
  b->mask_hi = static_cast<u32>(xsave.mask >> 32);
  return b;
}

void give_newest(G* g) {
  XBlock* b = static_cast<XBlock*>(g->xblocks);
  g->xblocks = b->next;
  XBlock* head = xfree.load_acquire();
  do b->next = head; while (!xfree.cas_release(head, b));  // [xfree]
}

// ---- called by gmpt_preempt_landing ----

void preempt_begin() {
  arch::gs_set_in_rt(1);  // no P is claimed yet: that may park, and the registers are not safe yet
}

void preempt_park() {
  enter();
  M* m = mm();
  m->pending.fetch_and_acq_rel(~u32{kPendPreempt});
  m->p->stats.preempts++;
  G* g = m->curg;
  if (!cancel_async(g)) yield_preempted();
  leave();
  if (GMPT_UNLIKELY(cancel_async(g)) && async_cancel_hook) {
    preempt_forget(g);  // it unwinds
    async_cancel_hook();
  }
}

// Newer ones are of landings that a handler's longjmp left.
void preempt_end(void* block) {
  G* g = static_cast<XBlock*>(block)->g;  // out of the runtime: the M is anybody's guess
  for (bool last = false; !last && g->xblocks; give_newest(g)) last = g->xblocks == block;
}

}  // namespace

void preempt_boot() {
  gmpt_hooks.preempt_begin = &preempt_begin;
  gmpt_hooks.preempt_park = &preempt_park;
  gmpt_hooks.preempt_end = &preempt_end;
  n_chunks = chunk = made = wanted = 0;  // a forked child: half a change may have been copied
  n_ranges = 0;
  for (os::Range r : {os::libc_text(), os::ldso_text(), os::own_text(), os::vdso_text()})
    if (r.hi) ranges[n_ranges++] = r;
  xsave = os::xsave_info();
  preempt_reserve();  // main's
}

bool preempt_reserve() {
  if (!xsave.size) return true;
  os::Guard l(xlock);
  if (made == wanted && !more_blocks()) return false;
  wanted++;
  return true;
}

void preempt_forget(G* g) {
  while (g->xblocks) give_newest(g);
}

bool preempt_m(M* m) {
  if (!xsave.size) return false;
  if (m->preempt_sent.exchange_acq_rel(1)) return false;
  if (os::tgkill(sched.pid, m->tid, preempt_sig) == 0) return true;
  m->preempt_sent.store_release(0);
  return false;
}

// On the M's signal stack. A request that cannot be honoured here is taken at the next exit from the
// runtime, or sysmon asks again.
bool on_preempt(M* m, os::UContext* uc) {
  G* g = m->curg;
  bool wanted = g && (signal_pending_for(g) || g->errand.load_relaxed() || signals_waiting());
  if (wanted) m->pending.fetch_or_acq_rel(kPendSignal);
  // A request meant for the G before this one, which just began (it may be the very one that room was made for):
  // a new one comes if it stays. 200,000 cycles are 50 to 100 us.
  if (!options.slice_us && arch::rdtsc() - m->turn_tsc < 200000 && g && !wanted && !cancel_async(g)) return false;
  if (m->in_rt) {
    m->pending.fetch_or_acq_rel(kPendPreempt);
    return true;
  }
  if (!g || (!movable(uc->rip) && !cancel_async(g))) return false;  // asynchronous cancellation may hit libc: it is libc's own way
  u64* slot = reinterpret_cast<u64*>(uc->rsp - GMPT_LANDING_SIZE);
  uptr lo = g->stack_lo, hi = g->stack_hi;
  if (uc->rsp >= lo && uc->rsp < hi && uc->rsp - lo < 1024) return false;  // no room for the landing's frame
  // Below the stack pointer: its landing was left. Not so on an alternate stack, which may lie in a frame of this one.
  uptr alt = reinterpret_cast<uptr>(g->altstack.sp);
  bool on_alt = uc->rsp >= alt && uc->rsp - alt <= g->altstack.size && g->altstack.size;
  for (XBlock* b; !on_alt && (b = static_cast<XBlock*>(g->xblocks)) && b->frame < uc->rsp && b->frame >= lo && uc->rsp < hi;)
    give_newest(g);
  XBlock* block = block_take();
  if (!block) return false;
  block->next = static_cast<XBlock*>(g->xblocks);
  block->frame = reinterpret_cast<u64>(slot);
  block->g = g;
  g->xblocks = block;
  slot[0] = reinterpret_cast<u64>(block);
  slot[1] = uc->rip;
  uc->rsp -= GMPT_LANDING_SIZE;
  uc->rip = reinterpret_cast<u64>(&gmpt_preempt_landing);
  return true;
}

}  // namespace gmpt::core
