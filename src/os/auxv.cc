// os/auxv.cc -- reading /proc/self/auxv and the environment without libc.
//
// ld.so's __libc_stack_end points at argc on the initial stack: argv, envp and the vector follow it.
// It is exported by ld.so for exactly such readers and is valid before any constructor runs.
#include "os/auxv.h"

extern "C" void* __libc_stack_end;

namespace gmpt::os {

namespace {
u64* vec;
char** env;
}  // namespace

void auxv_init() {
  if (vec) return;
  u64* p = static_cast<u64*>(__libc_stack_end);
  u64 argc = *p;
  char** e = reinterpret_cast<char**>(p + argc + 2);
  env = e;
  while (*e) e++;
  vec = reinterpret_cast<u64*>(e + 1);
}

u64 auxv(u64 type) {
  auxv_init();
  for (u64* a = vec; a[0]; a += 2)
    if (a[0] == type) return a[1];
  return 0;
}

char** environ_() {
  auxv_init();
  return env;
}

}  // namespace gmpt::os
