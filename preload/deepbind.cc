// preload/deepbind.cc -- objects loaded with RTLD_DEEPBIND: their references to libc's names become references to ours.
//
// What it is
//   Such an object looks for names in itself and in what it needs first, libc among that, and only then where
//   preloaded libraries stand. One lock taken through libc here and through us there is two different
//   locks. So after the load every slot of the object's, and of what came with it, that holds libc's
//   function of a name of ours, or is still to be bound to it, gets ours.
//
// Invariants
//   D1  Only undefined names are touched, and only if they went to libc: what the object or one of its own
//       libraries defines stays as RTLD_DEEPBIND wants it.
//   D2  All happens in the loader's own iteration, under its lock: no object goes away meanwhile.
//
// Limits
//   Constructors have run by then, with libc's functions (docs/differences.md).
//
// Rejected
//   Taking the flag out: names that the object has in common with the program would change their meaning.
//   Changing libc's symbol table: whoever asks for the next definition after ours would get ours again.
//
// Proof and tests   tests/posix/dlopen_deepbind.c
#include "preload/deepbind.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "os/syscall.h"

// Addresses of our definitions; the types do not matter here.
#define GMPT_EXPORT(name, ...) extern "C" const char gmpt_own_##name __asm__(#name);
#define GMPT_CALL GMPT_EXPORT
#include "os/calls.def"
#undef GMPT_CALL
#undef GMPT_EXPORT

namespace gmpt {

namespace {

struct Name {
  const char* name;
  const void* ours;
};
#define GMPT_EXPORT(name, ...) {#name, &gmpt_own_##name},
#define GMPT_CALL GMPT_EXPORT
const Name names[] = {
#include "os/calls.def"
};
#undef GMPT_CALL
#undef GMPT_EXPORT

const void* ours(const char* name) {
  for (const Name& n : names)
    if (strcmp(n.name, name) == 0) return n.ours;
  return nullptr;
}

struct Range {
  uptr lo = 0, hi = 0;
  bool has(uptr a) const { return a >= lo && a < hi; }
};

Range loaded(const dl_phdr_info* o) {
  Range r{~uptr{0}, 0};
  for (int i = 0; i < o->dlpi_phnum; i++) {
    const ElfW(Phdr)& p = o->dlpi_phdr[i];
    if (p.p_type != PT_LOAD) continue;
    if (o->dlpi_addr + p.p_vaddr < r.lo) r.lo = o->dlpi_addr + p.p_vaddr;
    if (o->dlpi_addr + p.p_vaddr + p.p_memsz > r.hi) r.hi = o->dlpi_addr + p.p_vaddr + p.p_memsz;
  }
  return r;
}

struct Object {
  uptr base = 0;
  Range all, relro;
  const ElfW(Dyn)* dynamic = nullptr;

  explicit Object(const dl_phdr_info* o) : base(o->dlpi_addr), all(loaded(o)) {
    for (int i = 0; i < o->dlpi_phnum; i++) {
      const ElfW(Phdr)& p = o->dlpi_phdr[i];
      if (p.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(base + p.p_vaddr);
      if (p.p_type == PT_GNU_RELRO) relro = {base + p.p_vaddr, base + p.p_vaddr + p.p_memsz};
    }
  }
  // The loader has made addresses of most of these.
  uptr value(i64 tag) const {
    for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; d++)
      if (d->d_tag == tag) return d->d_un.d_ptr;
    return 0;
  }
  template <class T>
  const T* table(i64 tag) const {
    uptr v = value(tag);
    return reinterpret_cast<const T*>(v && v < base ? v + base : v);
  }
};

constexpr uptr kPage = 4096;

void set(const Object& o, uptr* slot, const void* to) {
  uptr page = reinterpret_cast<uptr>(slot) & ~(kPage - 1);
  bool sealed = o.relro.has(reinterpret_cast<uptr>(slot));
  if (sealed && os::sys(__NR_mprotect, page, kPage, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot, reinterpret_cast<uptr>(to), __ATOMIC_RELEASE);
  if (sealed) os::sys(__NR_mprotect, page, kPage, PROT_READ);
}

void rebind_table(const Object& o, const Range& libc, const ElfW(Rela)* r, uptr bytes) {
  auto* symbols = o.table<ElfW(Sym)>(DT_SYMTAB);
  auto* strings = o.table<char>(DT_STRTAB);
  if (!r || !symbols || !strings) return;
  for (auto* end = r + bytes / sizeof *r; r < end; r++) {
    u32 type = static_cast<u32>(ELF64_R_TYPE(r->r_info));
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && (type != R_X86_64_64 || r->r_addend)) continue;
    const ElfW(Sym)& s = symbols[ELF64_R_SYM(r->r_info)];
    if (s.st_shndx != SHN_UNDEF) continue;
    auto* slot = reinterpret_cast<uptr*>(o.base + r->r_offset);
    uptr now = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    bool unbound = type == R_X86_64_JUMP_SLOT && o.all.has(now);
    if (!unbound && !libc.has(now)) continue;
    if (const void* to = ours(strings + s.st_name)) set(o, slot, to);
  }
}

struct Work {
  uptr first;          // where the object asked for is
  bool found = false;  // it and those after it in the list
  Range libc;
};

int find_libc(dl_phdr_info* o, size_t, void* p) {
  Range r = loaded(o);
  if (!r.has(reinterpret_cast<uptr>(&gnu_get_libc_version))) return 0;
  static_cast<Work*>(p)->libc = r;
  return 1;
}

int rebind_one(dl_phdr_info* info, size_t, void* p) {
  auto* w = static_cast<Work*>(p);
  w->found |= info->dlpi_addr == w->first;
  Object o(info);
  if (!w->found || !o.dynamic || o.all.lo == w->libc.lo || o.all.has(reinterpret_cast<uptr>(&rebind_one))) return 0;
  rebind_table(o, w->libc, o.table<ElfW(Rela)>(DT_RELA), o.value(DT_RELASZ));
  if (o.value(DT_PLTREL) == DT_RELA) rebind_table(o, w->libc, o.table<ElfW(Rela)>(DT_JMPREL), o.value(DT_PLTRELSZ));
  return 0;
}

}  // namespace

void rebind(void* handle) {
  struct link_map* m = nullptr;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &m) != 0 || !m) return;
  Work w{m->l_addr, false, {}};
  dl_iterate_phdr(&find_libc, &w);
  if (w.libc.hi) dl_iterate_phdr(&rebind_one, &w);
}

}  // namespace gmpt
