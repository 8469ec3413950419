// core/find_order.h -- an order in which a thief visits the Ps: each once, from a random start, with a
// random step coprime to their number.
#pragma once
#include "base/base.h"

namespace gmpt::core {

class StealOrder {
 public:
  StealOrder(u32 n, u32 random) : n_(n), left_(n) {
    pos_ = random % n;
    step_ = coprime(n, random / n);
  }
  bool step(u32* i) {
    if (!left_) return false;
    left_--;
    *i = pos_;
    pos_ = (pos_ + step_) % n_;
    return true;
  }

 private:
  static u32 gcd(u32 a, u32 b) {
    while (b) {
      u32 t = a % b;
      a = b;
      b = t;
    }
    return a;
  }
  static u32 coprime(u32 n, u32 r) {
    if (n <= 2) return 1;
    for (u32 c = 1 + r % (n - 1);; c = c + 1 < n ? c + 1 : 1)
      if (gcd(c, n) == 1) return c;
  }
  u32 n_, left_, pos_, step_;
};

}  // namespace gmpt::core
