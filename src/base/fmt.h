// base/fmt.h -- formatting without allocation, locale or errno, into a caller's buffer.
//
// A full buffer drops the rest: lines made here go to people, not to parsers that need all of it.
#pragma once
#include "base/base.h"

namespace gmpt {

class Fmt {
 public:
  Fmt(char* buf, size_t cap) : buf_(buf), cap_(cap) {}
  Fmt& str(const char* s) { while (*s) put(*s++); return *this; }
  Fmt& chr(char c) { put(c); return *this; }
  Fmt& dec(i64 v) {
    if (v < 0) { put('-'); return udec(u64{0} - static_cast<u64>(v)); }
    return udec(static_cast<u64>(v));
  }
  Fmt& udec(u64 v) {
    char t[20];
    int n = 0;
    do t[n++] = static_cast<char>('0' + v % 10); while (v /= 10);
    while (n) put(t[--n]);
    return *this;
  }
  Fmt& hex(u64 v) {
    char t[16];
    int n = 0;
    do t[n++] = "0123456789abcdef"[v & 15]; while (v >>= 4);
    put('0'); put('x');
    while (n) put(t[--n]);
    return *this;
  }
  const char* data() const { return buf_; }
  size_t size() const { return len_; }
  const char* c_str() { buf_[len_ < cap_ ? len_ : cap_ - 1] = 0; return buf_; }

 private:
  void put(char c) { if (len_ + 1 < cap_) buf_[len_++] = c; }
  char* buf_;
  size_t cap_, len_ = 0;
};

}  // namespace gmpt
