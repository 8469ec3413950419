// os/tcb.h -- glibc's thread-control block as seen from outside: where fields lie, making and resetting one.
//
// What it is
//   Offsets come from the thread_db descriptors that libc exports, never from headers. A block is
//   placed at the top of a G's stack: [stack … | static TLS | struct pthread | top).
//
// Invariants
//   create() and refresh() call libc (they may allocate): only outside the runtime, on a thread that
//   owns its FS. reset() and place() do not.
//   A recycled block keeps libc's own TLS segment (its malloc cache and arena stay warm); every other
//   module's segment goes back to its initial image.
#pragma once
#include "base/base.h"

namespace gmpt::os {

struct TcbFacts {
  u32 tid, list, cancelhandling, size;   // offsets in struct pthread; its size
  u32 specific;                          // first-level table of keys
  u32 policy, priority;                  // of scheduling; 0 = unknown
  size_t tls_size, tls_align;            // static TLS including struct pthread
  i64 g_word;                            // our one TLS word: TCB + g_word holds the G
  i64 errno_word, resp_word;             // libc's errno and resolver pointer, relative to the TCB
  i64 res_state;                         // the resolver state inside struct pthread; 0 = unknown
  bool robust;                           // the robust list head was where 2.36 has it
};

extern TcbFacts tcb;

// Fills the facts. Returns null, or the name of what is missing. Calls libc.
const char* tcb_init(i64 g_word);

struct Placement { uptr tcb, stack_top; };
Placement tcb_place(uptr top);

bool tcb_create(uptr t, i32 tid);        // false: no memory
void tcb_reset(uptr t, i32 tid);
bool tcb_has_dynamic(uptr t);            // has TLS blocks outside the static area (dlopen'ed modules)
bool tcb_rebuild(uptr t, i32 tid);       // reset() for such a block; calls libc

// After dlopen or dlclose: looks at the modules again. For each module that newly lies in the static
// area, calls init(arg, offset, image, filesz, memsz) so that existing blocks can be filled; for each that has
// gone the same with no image.
void tcb_refresh(void (*init)(void*, i64 off, const void* image, size_t filesz, size_t memsz), void* arg);

inline void set_word(uptr t, i64 off, u64 v) { *reinterpret_cast<u64*>(t + static_cast<uptr>(off)) = v; }
inline u64 get_word(uptr t, i64 off) { return *reinterpret_cast<u64*>(t + static_cast<uptr>(off)); }

}  // namespace gmpt::os
