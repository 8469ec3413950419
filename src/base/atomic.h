// base/atomic.h -- the only atomics in the tree: the memory order is in the method's name.
//
// What it is
//   A thin wrapper over the compiler's builtins. There is no default order and no operator, so that
//   every access in a lock-free protocol says what it needs and can be found with grep.
//
// Memory orders
//   fence() is the StoreLoad barrier of the submit/park handshakes; each use names its partner.
//
// Not here
//   std::atomic: it would do, but it hides the order in an argument that defaults to seq_cst.
#pragma once
#include <stdint.h>

namespace gmpt {

template <class T>
class Atomic {
 public:
  constexpr Atomic() : v_{} {}
  constexpr explicit Atomic(T v) : v_(v) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load_relaxed() const { return __atomic_load_n(&v_, __ATOMIC_RELAXED); }
  T load_acquire() const { return __atomic_load_n(&v_, __ATOMIC_ACQUIRE); }
  void store_relaxed(T v) { __atomic_store_n(&v_, v, __ATOMIC_RELAXED); }
  void store_release(T v) { __atomic_store_n(&v_, v, __ATOMIC_RELEASE); }
  T exchange_acq_rel(T v) { return __atomic_exchange_n(&v_, v, __ATOMIC_ACQ_REL); }
  bool cas_acq_rel(T& expected, T desired) {
    return __atomic_compare_exchange_n(&v_, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  bool cas_acquire(T& expected, T desired) {
    return __atomic_compare_exchange_n(&v_, &expected, desired, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }
  bool cas_release(T& expected, T desired) {
    return __atomic_compare_exchange_n(&v_, &expected, desired, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
  T fetch_add_relaxed(T n) { return __atomic_fetch_add(&v_, n, __ATOMIC_RELAXED); }
  T fetch_add_acq_rel(T n) { return __atomic_fetch_add(&v_, n, __ATOMIC_ACQ_REL); }
  T fetch_sub_acq_rel(T n) { return __atomic_fetch_sub(&v_, n, __ATOMIC_ACQ_REL); }
  T fetch_or_acq_rel(T n) { return __atomic_fetch_or(&v_, n, __ATOMIC_ACQ_REL); }
  T fetch_and_acq_rel(T n) { return __atomic_fetch_and(&v_, n, __ATOMIC_ACQ_REL); }
  T* raw() { return &v_; }

 private:
  T v_;
};

// A word that belongs to the program (a lock word, a counter in its object), seen as an Atomic.
template <class T>
inline Atomic<T>& as_atomic(T* p) {
  static_assert(sizeof(Atomic<T>) == sizeof(T));
  return *reinterpret_cast<Atomic<T>*>(p);
}

inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void compiler_barrier() { __asm__ volatile("" ::: "memory"); }

}  // namespace gmpt
