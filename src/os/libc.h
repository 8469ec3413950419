// os/libc.h -- the one door to libc: finding its symbols by walking ELF tables, without dlsym or malloc.
//
// What it is
//   dlsym may allocate, and a preloaded allocator calls our pthread_mutex_lock from inside; so symbols
//   are looked up in the link map by GNU hash. find_next() searches the objects after this library in
//   load order (what RTLD_NEXT means), then all others.
//
// Who may call it
//   Anybody, at any time, also before constructors ran.
#pragma once
#include "base/base.h"
#include "os/clock.h"

struct dl_phdr_info;

namespace gmpt::os {

void* find_next(const char* name);      // default version; null if absent

struct LibcPrivate {
  void* (*allocate_tls)(void*);
  void (*deallocate_tls)(void*, bool);
  void (*tls_info)(size_t*, size_t*);
  int (*iterate)(int (*)(dl_phdr_info*, size_t, void*), void*);
  int* (*errno_location)();
  const u32 *desc_tid, *desc_list, *desc_cancel, *desc_size, *desc_specific, *desc_policy, *desc_priority;
  void (*ctype_init)();
  void (*call_tls_dtors)();
  const i64* rseq_offset;
  const u32* rseq_size;
};

const LibcPrivate& libc_private();
Range libc_text();      // executable mappings where preemption must not land
Range ldso_text();
Range own_text();
i64 libc_rseq_offset();  // 0 when this libc knows no rseq

}  // namespace gmpt::os
