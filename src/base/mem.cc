// base/mem.cc -- the four memory functions that a compiler may call on its own.
//
// GCC turns struct copies and zeroing into calls of these names even in freestanding code. Hidden
// definitions here keep them inside the library: libc's are reached through the dynamic linker,
// may be replaced by the program, and use vector registers that the core must leave alone.
#include "base/base.h"

extern "C" {

__attribute__((visibility("hidden"))) void* memcpy(void* d, const void* s, size_t n) {
  void* r = d;
  __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
  return r;
}

__attribute__((visibility("hidden"))) void* memset(void* d, int c, size_t n) {
  void* r = d;
  __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
  return r;
}

__attribute__((visibility("hidden"))) void* memmove(void* d, const void* s, size_t n) {
  u8* dp = static_cast<u8*>(d);
  const u8* sp = static_cast<const u8*>(s);
  if (dp <= sp || dp >= sp + n) return memcpy(d, s, n);
  while (n--) dp[n] = sp[n];
  return d;
}

__attribute__((visibility("hidden"))) int memcmp(const void* a, const void* b, size_t n) {
  const u8 *x = static_cast<const u8*>(a), *y = static_cast<const u8*>(b);
  for (; n; n--, x++, y++)
    if (*x != *y) return *x < *y ? -1 : 1;
  return 0;
}

}  // extern "C"
