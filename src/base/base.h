// base/base.h -- short names for integers, branch hints, alignment, and the checks that end the process.
//
// What it is
//   GMPT_CHECK is always on: a broken invariant in a scheduler turns into somebody else's hang an
//   hour later, so it ends the process at once with a constant string. GMPT_DCHECK is for builds
//   configured with --enable-debug.
//
// Not here
//   Anything that allocates, formats through libc, or can fail.
#pragma once
#include <stddef.h>
#include <stdint.h>

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;
using uptr = uintptr_t;

#define GMPT_LIKELY(x) __builtin_expect(!!(x), 1)
#define GMPT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define GMPT_NOINLINE __attribute__((noinline))
#define GMPT_CACHE_ALIGNED alignas(64)

namespace gmpt {

[[noreturn]] void fatal(const char* what);  // base/fatal.cc

constexpr u64 kNever = ~u64{0};             // a deadline that does not come
constexpr u64 kMs = 1000000, kUs = 1000, kSec = 1000000000;
constexpr size_t kPage = 4096;

template <class T>
constexpr T align_up(T v, T a) { return (v + a - 1) & ~(a - 1); }
template <class T>
constexpr T align_down(T v, T a) { return v & ~(a - 1); }
template <class T>
constexpr T min_of(T a, T b) { return a < b ? a : b; }
template <class T>
constexpr T max_of(T a, T b) { return a > b ? a : b; }

}  // namespace gmpt

#define GMPT_CHECK(cond, what) \
  do { if (GMPT_UNLIKELY(!(cond))) ::gmpt::fatal(what); } while (0)
#ifdef GMPT_DEBUG_BUILD
#define GMPT_DCHECK(cond, what) GMPT_CHECK(cond, what)
#else
#define GMPT_DCHECK(cond, what) do { } while (0)
#endif
