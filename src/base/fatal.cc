// base/fatal.cc -- the end of the process after a broken invariant.
//
// Writes one line to descriptor 2 and dies by an illegal instruction, so that a core dump or a
// debugger shows the place. The write goes through a hook that os installs: base knows no system.
#include "base/fatal.h"

namespace gmpt {

void (*fatal_sink)(const char* text, size_t n);

void fatal(const char* what) {
  size_t n = 0;
  while (what[n]) n++;
  if (fatal_sink) {
    fatal_sink("libgmp: fatal: ", 15);
    fatal_sink(what, n);
    fatal_sink("\n", 1);
  }
  __builtin_trap();
}

}  // namespace gmpt
