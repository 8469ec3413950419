// preload/public.cc -- gmpthreads.h, the library's own names.
#include "gmpthreads.h"

#include "core/boot.h"
#include "core/trace.h"
#include "preload/interpose.h"

using namespace gmpt;

GMPT_API int gmpt_active() { return core::awake(); }
GMPT_API int gmpt_procs() { return core::awake() ? static_cast<int>(core::sched.n_procs) : 0; }
GMPT_API void gmpt_dump() {
  if (core::awake()) core::dump_gs();
}
