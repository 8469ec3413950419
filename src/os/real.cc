// os/real.cc -- filling the table of real functions.
#include "os/real.h"

#include "os/libc.h"

namespace gmpt::os {

Real real_table;

void real_init() {
  static bool done;
  if (done) return;
  done = true;
  void** slot = reinterpret_cast<void**>(&real_table);
#define GMPT_CALL(name, ...) *slot++ = find_next(#name);
#include "os/calls.def"
#undef GMPT_CALL
}

}  // namespace gmpt::os
