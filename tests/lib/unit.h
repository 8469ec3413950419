// tests/lib/unit.h -- cmocka for C++ files, and a random number that repeats.
//
// UNIT_SEED in the environment sets the start of the random numbers; a failure prints it.
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
extern "C" {
#include <cmocka.h>
}
#undef fail  // a macro of cmocka's, and a member of every stream

inline uint64_t unit_state;
inline uint32_t unit_random() {
  if (!unit_state) {
    const char* s = getenv("UNIT_SEED");
    unit_state = s ? strtoull(s, nullptr, 0) : 88172645463325252u;
    fprintf(stderr, "UNIT_SEED=%llu\n", static_cast<unsigned long long>(unit_state));
  }
  unit_state ^= unit_state << 13;
  unit_state ^= unit_state >> 7;
  unit_state ^= unit_state << 17;
  return static_cast<uint32_t>(unit_state >> 16);
}

#endif
