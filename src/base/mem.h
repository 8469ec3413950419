// base/mem.h -- declarations of the library's own memory functions, and a string compare.
#pragma once
#include "base/base.h"

extern "C" {
void* memcpy(void* d, const void* s, size_t n);
void* memset(void* d, int c, size_t n);
void* memmove(void* d, const void* s, size_t n);
int memcmp(const void* a, const void* b, size_t n);
}

namespace gmpt {

inline bool str_eq(const char* a, const char* b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}
inline size_t str_len(const char* s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}
inline bool str_has_prefix(const char* s, const char* prefix) {
  while (*prefix)
    if (*s++ != *prefix++) return false;
  return true;
}

}  // namespace gmpt
