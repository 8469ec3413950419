// os/tcb.cc -- making glibc believe that a G is a thread.
//
// Lineage
//   What glibc's allocate_stack() and start_thread() fill in: self pointers, guards, tid, list, robust
//   list head, resolver pointer. Everything else of a new struct pthread is zero.
//
// Memory orders
//   [table]  refresh: store-release of a finished table  ->  readers: load-acquire.
#include "os/tcb.h"

#include <link.h>

#include "arch/x86_64.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/libc.h"
#include "os/stack.h"

namespace gmpt::os {

TcbFacts tcb;

namespace {

struct Segment { i64 off; const void* image; size_t filesz, memsz; bool libc; };
constexpr u32 kMaxSegments = 256;
// Readers take no lock: a table is never changed once it is published, and never freed (a new one is made
// only when modules came or went).
struct Table { u32 n; Segment at[]; };
Atomic<const Table*> table;
GMPT_GLOBAL_LOCK(refresh_lock);

// Where struct link_map has l_tls_offset, with l_tls_modid behind it, as the modules there are at first show. For a
// module that came later and lies in the static area the loader names no address before a thread has asked
// __tls_get_addr, which code compiled for the static area never does.
constexpr u32 kLinkWords = 148;
u32 link_tls_word;  // 0 = unknown

const i64* link_words(const dl_phdr_info* info) {
  for (const link_map* l = _r_debug.r_map; l; l = l->l_next)
    if (l->l_addr == info->dlpi_addr && l->l_ld) return reinterpret_cast<const i64*>(l);
  return nullptr;
}

int narrow(dl_phdr_info* info, size_t, void* arg) {
  u8* fits = static_cast<u8*>(arg);
  if (!info->dlpi_tls_modid || !info->dlpi_tls_data) return 0;
  const i64* w = link_words(info);
  if (!w) return 0;
  i64 off = static_cast<i64>(arch::thread_pointer() - reinterpret_cast<uptr>(info->dlpi_tls_data));
  for (u32 i = 0; i < kLinkWords; i++)
    if (w[i] != off || w[i + 1] != static_cast<i64>(info->dlpi_tls_modid)) fits[i] = 0;
  return 0;
}

void find_link_tls_word() {
  u8 fits[kLinkWords];
  memset(fits, 1, sizeof fits);
  libc_private().iterate(narrow, fits);
  u32 n = 0;
  for (u32 i = 0; i < kLinkWords; i++)
    if (fits[i]) link_tls_word = i, n++;
  if (n != 1) link_tls_word = 0;
}

// Relative to the control block; >= 0: not in the static area.
i64 static_offset(const dl_phdr_info* info, uptr tp) {
  if (info->dlpi_tls_data) return static_cast<i64>(reinterpret_cast<uptr>(info->dlpi_tls_data) - tp);
  const i64* w = link_tls_word ? link_words(info) : nullptr;
  return w && w[link_tls_word + 1] == static_cast<i64>(info->dlpi_tls_modid) ? -w[link_tls_word] : 0;
}

bool same(const Segment& a, const Segment& b) {
  return a.off == b.off && a.image == b.image && a.filesz == b.filesz && a.memsz == b.memsz;
}

struct Walk {
  void (*init)(void*, i64, const void*, size_t, size_t);
  void* arg;
  uptr tp;
  Segment found[kMaxSegments];
  u32 n;
  bool executable;  // a module wants stacks that may be executed
};

// As ld.so decides: a module that does not say is an old one and may want it. The vDSO is not ld.so's to load.
bool wants_executable_stack(const dl_phdr_info* info) {
  uptr vdso = vdso_text().lo;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type == PT_GNU_STACK) return p.p_flags & PF_X;
    if (p.p_type == PT_LOAD && vdso - info->dlpi_addr - p.p_vaddr < p.p_memsz) return false;
  }
  return true;
}

int on_module(dl_phdr_info* info, size_t, void* arg) {
  Walk* w = static_cast<Walk*>(arg);
  w->executable |= wants_executable_stack(info);
  if (!info->dlpi_tls_modid || w->n == kMaxSegments) return 0;
  i64 off = static_offset(info, w->tp);
  if (off >= 0 || off < -static_cast<i64>(tcb.tls_size)) return 0;  // allocated dynamically
  uptr libc_pc = libc_text().lo;
  bool libc = false;
  const ElfW(Phdr)* tls = nullptr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type == PT_TLS) tls = &p;
    if (p.p_type == PT_LOAD && libc_pc >= info->dlpi_addr + p.p_vaddr && libc_pc < info->dlpi_addr + p.p_vaddr + p.p_memsz) libc = true;
  }
  if (!tls) return 0;
  w->found[w->n++] = Segment{off, reinterpret_cast<const void*>(info->dlpi_addr + tls->p_vaddr), tls->p_filesz, tls->p_memsz, libc};
  return 0;
}

bool among(const Segment* at, u32 n, const Segment& s) {
  for (u32 i = 0; i < n; i++)
    if (same(at[i], s)) return true;
  return false;
}

void fill(uptr t, i32 tid) {
  uptr me = arch::thread_pointer();
  set_word(t, 0, t);
  set_word(t, 16, t);
  *reinterpret_cast<u32*>(t + 24) = 1;              // multiple_threads, for glibcs that look at it
  set_word(t, 0x28, get_word(me, 0x28));            // stack guard
  set_word(t, 0x30, get_word(me, 0x30));            // pointer guard
  set_word(t, tcb.list, t + tcb.list);
  set_word(t, tcb.list + 8, t + tcb.list);
  *reinterpret_cast<i32*>(t + tcb.tid) = tid;
  if (tcb.robust) {
    uptr head = t + tcb.tid + 16;
    set_word(head, 0, head);
    set_word(head, 8, static_cast<u64>(-32));       // from a mutex's list link to its lock word
    set_word(t + tcb.tid + 8, 0, head);
  }
  i64 rseq = libc_rseq_offset();
  if (rseq) *reinterpret_cast<i32*>(t + static_cast<uptr>(rseq) + 4) = -1;  // cpu_id: not registered
  if (tcb.resp_word && tcb.res_state) set_word(t, tcb.resp_word, t + static_cast<uptr>(tcb.res_state));
}

}  // namespace

const char* tcb_init(i64 g_word) {
  const LibcPrivate& p = libc_private();
  if (!p.allocate_tls || !p.deallocate_tls || !p.tls_info || !p.iterate) return "_dl_allocate_tls";
  if (!p.desc_tid || !p.desc_list || !p.desc_cancel || !p.desc_size || !p.desc_specific) return "_thread_db_* descriptors";
  p.tls_info(&tcb.tls_size, &tcb.tls_align);
  tcb.tid = p.desc_tid[2];
  tcb.list = p.desc_list[2];
  tcb.cancelhandling = p.desc_cancel[2];
  tcb.specific = p.desc_specific[2];
  if (p.desc_policy && p.desc_priority) tcb.policy = p.desc_policy[2], tcb.priority = p.desc_priority[2];
  tcb.size = *p.desc_size;
  tcb.g_word = g_word;
  uptr me = arch::thread_pointer();
  tcb.errno_word = static_cast<i64>(reinterpret_cast<uptr>(p.errno_location()) - me);
  uptr head = me + tcb.tid + 16;
  tcb.robust = get_word(head, 8) == static_cast<u64>(-32);  // the list itself is not empty if this thread holds one
  find_link_tls_word();
  tcb_refresh(nullptr, nullptr);
  return nullptr;
}

void tcb_refresh(void (*init)(void*, i64, const void*, size_t, size_t), void* arg) {
  static Walk w;  // too big for a small stack
  Guard g(refresh_lock);
  w.init = init;
  w.arg = arg;
  w.tp = arch::thread_pointer();
  w.n = 0;
  w.executable = false;
  libc_private().iterate(on_module, &w);
  if (w.executable) stacks_executable();
  const Table* old = table.load_relaxed();
  bool change = !old || old->n != w.n;
  // The place of one that is gone may be another's soon, and is expected to be zero (rt/dl.cc).
  for (u32 i = 0; init && old && i < old->n; i++) {
    const Segment& s = old->at[i];
    if (!among(w.found, w.n, s)) init(arg, s.off, nullptr, 0, s.memsz);
  }
  for (u32 i = 0; i < w.n; i++) {
    if (old && among(old->at, old->n, w.found[i])) continue;
    change = true;
    if (init) init(arg, w.found[i].off, w.found[i].image, w.found[i].filesz, w.found[i].memsz);
  }
  if (!change) return;
  Table* t = static_cast<Table*>(map(sizeof(Table) + w.n * sizeof(Segment)));
  if (!t) return;
  t->n = w.n;
  for (u32 i = 0; i < w.n; i++) t->at[i] = w.found[i];
  table.store_release(t);  // [table]
}

Placement tcb_place(uptr top) {
  uptr t = align_down(top - tcb.size, max_of(static_cast<uptr>(tcb.tls_align), uptr{64}));
  uptr tls = t - (tcb.tls_size - tcb.size);
  return Placement{t, align_down(tls, uptr{16})};
}

bool tcb_create(uptr t, i32 tid) {
  if (!libc_private().allocate_tls(reinterpret_cast<void*>(t))) return false;
  fill(t, tid);
  return true;
}

bool tcb_has_dynamic(uptr t) {
  struct Dtv { u64 val, to_free; };
  const Dtv* dtv = reinterpret_cast<const Dtv*>(get_word(t, 8));
  u64 n = dtv[-1].val;
  for (u64 i = 1; i <= n; i++)
    if (dtv[i].val != ~u64{0} && dtv[i].val && dtv[i].to_free) return true;
  return false;
}

void tcb_reset(uptr t, i32 tid) {
  const Table* now = table.load_acquire();  // [table]
  for (u32 i = 0; i < now->n; i++) {
    const Segment& g = now->at[i];
    if (g.libc) continue;
    u8* d = reinterpret_cast<u8*>(t + static_cast<uptr>(g.off));
    memcpy(d, g.image, g.filesz);
    memset(d + g.filesz, 0, g.memsz - g.filesz);
  }
  *reinterpret_cast<u32*>(t + tcb.cancelhandling) = 0;
  *reinterpret_cast<i32*>(t + static_cast<uptr>(tcb.errno_word)) = 0;
  fill(t, tid);
}

bool tcb_rebuild(uptr t, i32 tid) {
  u8 keep[2048];  // libc's segment: its pointers to the malloc cache and arena must survive
  i64 off = 0;
  size_t n = 0;
  const Table* now = table.load_acquire();  // [table]
  for (u32 i = 0; i < now->n; i++)
    if (now->at[i].libc && now->at[i].memsz <= sizeof keep) off = now->at[i].off, n = now->at[i].memsz;
  memcpy(keep, reinterpret_cast<void*>(t + static_cast<uptr>(off)), n);
  libc_private().deallocate_tls(reinterpret_cast<void*>(t), false);
  if (!libc_private().allocate_tls(reinterpret_cast<void*>(t))) return false;
  memcpy(reinterpret_cast<void*>(t + static_cast<uptr>(off)), keep, n);
  tcb_reset(t, tid);
  return true;
}

}  // namespace gmpt::os
