// preload/interpose.h -- how a libc name is taken over.
//
// What it is
//   GMPT_API exports the definition. GMPT_NATIVE(name, args…) returns the real function's result when the
//   library is off. Bodies only convert: the meaning is in rt/.
//
//   A name also needs its row in os/calls.def; the list of exports and the pointers to the real
//   functions come from there, and make check compares the two.
#pragma once
#include "os/real.h"
#include "rt/self.h"

#define GMPT_API extern "C" __attribute__((visibility("default")))
#define GMPT_NATIVE(name, ...) \
  do { if (GMPT_UNLIKELY(!::gmpt::rt::on())) return ::gmpt::os::real().name(__VA_ARGS__); } while (0)
// For calls that block in the kernel on a thread that is not a G.
#define GMPT_NOT_A_G(name, ...) \
  do { if (GMPT_UNLIKELY(!::gmpt::rt::on() || !::gmpt::rt::self())) return ::gmpt::os::real().name(__VA_ARGS__); } while (0)
