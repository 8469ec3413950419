// os/clock.cc -- finding clock_gettime in the vDSO.
//
// The vDSO is an ordinary ELF image at AT_SYSINFO_EHDR; its dynamic section names the symbol table.
// Only __vdso_clock_gettime is wanted, so the lookup is a linear scan, once.
#include "os/clock.h"

#include <elf.h>
#include <linux/auxvec.h>

#include "base/mem.h"
#include "os/auxv.h"

namespace gmpt::os {

namespace {

using GetTime = i64 (*)(int, Ts*);
GetTime vdso_gettime;
Range text;

void* find_symbol(u64 base, const char* want) {
  const auto* eh = reinterpret_cast<const Elf64_Ehdr*>(base);
  const auto* ph = reinterpret_cast<const Elf64_Phdr*>(base + eh->e_phoff);
  const Elf64_Dyn* dyn = nullptr;
  u64 load = 0;
  bool have_load = false;
  for (int i = 0; i < eh->e_phnum; i++) {
    if (ph[i].p_type == PT_LOAD && !have_load) {
      load = base + ph[i].p_offset - ph[i].p_vaddr;
      have_load = true;
      text = Range{load + ph[i].p_vaddr, load + ph[i].p_vaddr + ph[i].p_memsz};
    }
    if (ph[i].p_type == PT_DYNAMIC) dyn = reinterpret_cast<const Elf64_Dyn*>(base + ph[i].p_offset);
  }
  const char* str = nullptr;
  const Elf64_Sym* sym = nullptr;
  const u32* hash = nullptr;
  for (; dyn && dyn->d_tag; dyn++) {
    u64 p = dyn->d_un.d_ptr + load;
    if (dyn->d_tag == DT_STRTAB) str = reinterpret_cast<const char*>(p);
    if (dyn->d_tag == DT_SYMTAB) sym = reinterpret_cast<const Elf64_Sym*>(p);
    if (dyn->d_tag == DT_HASH) hash = reinterpret_cast<const u32*>(p);
  }
  if (!str || !sym) return nullptr;
  // Symbols end where the strings begin when there is no DT_HASH to count them.
  u64 n = hash ? hash[1] : (reinterpret_cast<u64>(str) - reinterpret_cast<u64>(sym)) / sizeof *sym;
  for (u64 i = 0; i < n; i++)
    if (sym[i].st_shndx && str_eq(str + sym[i].st_name, want)) return reinterpret_cast<void*>(load + sym[i].st_value);
  return nullptr;
}

}  // namespace

void clock_init() {
  u64 base = auxv(AT_SYSINFO_EHDR);
  if (base) vdso_gettime = reinterpret_cast<GetTime>(find_symbol(base, "__vdso_clock_gettime"));
}

u64 clock_ns(int clock) {
  Ts t;
  i64 r = vdso_gettime ? vdso_gettime(clock, &t) : sys(__NR_clock_gettime, clock, &t);
  if (r != 0) return 0;
  return static_cast<u64>(t.tv_sec) * kSec + static_cast<u64>(t.tv_nsec);
}

u64 now_ns() { return clock_ns(1 /* CLOCK_MONOTONIC */); }

Range vdso_text() { return text; }

}  // namespace gmpt::os
