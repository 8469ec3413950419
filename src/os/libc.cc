// os/libc.cc -- GNU hash lookup through the link map.
//
// The list of loaded objects is ld.so's _r_debug, exported for debuggers and stable for decades. Only
// the default version of a symbol counts (bit 15 of its version index is clear).
#include "os/libc.h"

#include <link.h>

#include "base/mem.h"

extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace gmpt::os {

namespace {

struct Tables {
  const ElfW(Sym)* sym = nullptr;
  const char* str = nullptr;
  const u32* hash = nullptr;
  const u16* ver = nullptr;
};

// ld.so relocates these d_ptr values of ordinary objects in place; the vDSO's stay relative.
Tables tables(const link_map* l) {
  Tables t;
  for (const ElfW(Dyn)* d = l->l_ld; d && d->d_tag != DT_NULL; d++) {
    uptr p = d->d_un.d_ptr;
    if (p < l->l_addr) p += l->l_addr;
    switch (d->d_tag) {
      case DT_SYMTAB: t.sym = reinterpret_cast<const ElfW(Sym)*>(p); break;
      case DT_STRTAB: t.str = reinterpret_cast<const char*>(p); break;
      case DT_GNU_HASH: t.hash = reinterpret_cast<const u32*>(p); break;
      case DT_VERSYM: t.ver = reinterpret_cast<const u16*>(p); break;
    }
  }
  return t;
}

u32 gnu_hash(const char* s) {
  u32 h = 5381;
  for (; *s; s++) h = h * 33 + static_cast<u8>(*s);
  return h;
}

void* lookup(const link_map* l, const char* name, u32 h) {
  Tables t = tables(l);
  if (!t.sym || !t.str || !t.hash) return nullptr;
  u32 n_buckets = t.hash[0], sym_off = t.hash[1], bloom_n = t.hash[2], shift = t.hash[3];
  if (!n_buckets || !bloom_n) return nullptr;
  const u64* bloom = reinterpret_cast<const u64*>(t.hash + 4);
  const u32* buckets = reinterpret_cast<const u32*>(bloom + bloom_n);
  const u32* chain = buckets + n_buckets;
  u64 word = bloom[(h / 64) % bloom_n];
  u64 mask = (u64{1} << (h % 64)) | (u64{1} << ((h >> shift) % 64));
  if ((word & mask) != mask) return nullptr;
  u32 i = buckets[h % n_buckets];
  if (i < sym_off) return nullptr;
  for (;; i++) {
    u32 c = chain[i - sym_off];
    const ElfW(Sym)& s = t.sym[i];
    if ((c | 1) == (h | 1) && s.st_shndx != SHN_UNDEF && str_eq(t.str + s.st_name, name) && (!t.ver || !(t.ver[i] & 0x8000))) {
      void* p = reinterpret_cast<void*>(l->l_addr + s.st_value);
      int type = s.st_info & 15;
      if (type == STT_TLS) return nullptr;
      if (type == 10 /* STT_GNU_IFUNC */) return reinterpret_cast<void* (*)()>(p)();
      return p;
    }
    if (c & 1) return nullptr;
  }
}

template <class T>
void get(T*& slot, const char* name) { slot = reinterpret_cast<T*>(find_next(name)); }

uptr own_base() { return reinterpret_cast<uptr>(&__ehdr_start); }

Range text_of(uptr base) {
  Range r{~uptr{0}, 0};
  const auto* eh = reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* ph = reinterpret_cast<const ElfW(Phdr)*>(base + eh->e_phoff);
  for (int i = 0; i < eh->e_phnum; i++)
    if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X)) {
      r.lo = min_of(r.lo, base + ph[i].p_vaddr);
      r.hi = max_of(r.hi, base + ph[i].p_vaddr + ph[i].p_memsz);
    }
  return r;
}

// Text of the object that contains pc. Shared objects begin with their ELF header at l_addr.
Range text_around(const void* pc) {
  uptr at = reinterpret_cast<uptr>(pc);
  for (const link_map* l = _r_debug.r_map; l; l = l->l_next) {
    const auto* eh = reinterpret_cast<const ElfW(Ehdr)*>(l->l_addr);
    if (!l->l_addr || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0) continue;
    Range r = text_of(l->l_addr);
    if (at >= r.lo && at < r.hi) return r;
  }
  return Range{0, 0};
}

}  // namespace

void* find_next(const char* name) {
  u32 h = gnu_hash(name);
  bool after = false;
  for (const link_map* l = _r_debug.r_map; l; l = l->l_next) {
    if (after) {
      if (void* p = lookup(l, name, h)) return p;
    } else if (l->l_addr == own_base()) {
      after = true;
    }
  }
  for (const link_map* l = _r_debug.r_map; l; l = l->l_next)
    if (l->l_addr != own_base())
      if (void* p = lookup(l, name, h)) return p;
  return nullptr;
}

const LibcPrivate& libc_private() {
  static LibcPrivate p;
  static bool done;
  if (done) return p;
  get(p.allocate_tls, "_dl_allocate_tls");
  get(p.deallocate_tls, "_dl_deallocate_tls");
  get(p.tls_info, "_dl_get_tls_static_info");
  get(p.iterate, "dl_iterate_phdr");
  get(p.errno_location, "__errno_location");
  get(p.ctype_init, "__ctype_init");
  get(p.call_tls_dtors, "__call_tls_dtors");
  get(p.desc_tid, "_thread_db_pthread_tid");
  get(p.desc_list, "_thread_db_pthread_list");
  get(p.desc_cancel, "_thread_db_pthread_cancelhandling");
  get(p.desc_size, "_thread_db_sizeof_pthread");
  get(p.desc_specific, "_thread_db_pthread_specific");
  get(p.desc_policy, "_thread_db_pthread_schedpolicy");
  get(p.desc_priority, "_thread_db_pthread_schedparam_sched_priority");
  get(p.rseq_offset, "__rseq_offset");
  get(p.rseq_size, "__rseq_size");
  done = true;
  return p;
}

i64 libc_rseq_offset() { return libc_private().rseq_offset ? *libc_private().rseq_offset : 0; }

Range libc_text() {
  static Range r;
  if (!r.hi) r = text_around(reinterpret_cast<const void*>(libc_private().errno_location));
  return r;
}

Range ldso_text() {
  static Range r;
  if (!r.hi) r = text_around(reinterpret_cast<const void*>(libc_private().allocate_tls));
  return r;
}

Range own_text() { return text_of(own_base()); }

}  // namespace gmpt::os
