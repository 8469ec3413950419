// os/real.cc -- filling the table of real functions.
#include "os/real.h"

#include "os/libc.h"

namespace gmpt::os {

Real real_table;
bool real_ready;

void real_init() {
  if (real_ready) return;
  void** slot = reinterpret_cast<void**>(&real_table);
#define GMPT_CALL(name, ...) *slot++ = find_next(#name);
#include "os/calls.def"
#undef GMPT_CALL
  real_ready = true;
}

}  // namespace gmpt::os
