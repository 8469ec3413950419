// os/cpu.cc -- affinity, cgroup v1 and v2 quotas, XSAVE.
//
// The quota rule is Go's: min(affinity, max(2, ceil(quota / period))), leaf cgroup only, any error
// means no quota. Files are read with raw system calls into a fixed buffer.
#include "os/cpu.h"

#include <initializer_list>

#include "arch/x86_64.h"
#include "base/mem.h"
#include "os/syscall.h"

namespace gmpt::os {

namespace {

i64 read_file(const char* path, char* buf, size_t cap) {
  i64 fd = sys(__NR_openat, -100, path, 02000000 /* O_CLOEXEC */, 0);
  if (fd < 0) return fd;
  size_t n = 0;
  while (n < cap - 1) {
    i64 r = sys(__NR_read, fd, buf + n, cap - 1 - n);
    if (r <= 0) break;
    n += static_cast<size_t>(r);
  }
  sys(__NR_close, fd);
  buf[n] = 0;
  return static_cast<i64>(n);
}

u64 number(const char*& s) {
  u64 v = 0;
  while (*s >= '0' && *s <= '9') v = v * 10 + static_cast<u64>(*s++ - '0');
  return v;
}

// Path of this process in the hierarchy whose controller list holds `want` ("" = v2).
bool cgroup_path(const char* text, const char* want, char* out, size_t cap) {
  for (const char* p = text; *p;) {
    const char* id_end = p;
    while (*id_end && *id_end != ':') id_end++;
    const char* c = *id_end ? id_end + 1 : id_end;
    const char* c_end = c;
    while (*c_end && *c_end != ':') c_end++;
    bool hit = !*want && c == c_end && *p == '0';
    for (const char* q = c; *want && q < c_end;) {
      const char* e = q;
      while (e < c_end && *e != ',') e++;
      size_t n = str_len(want);
      if (static_cast<size_t>(e - q) == n && memcmp(q, want, n) == 0) hit = true;
      q = e + 1;
    }
    const char* path = *c_end ? c_end + 1 : c_end;
    size_t n = 0;
    while (path[n] && path[n] != '\n') n++;
    if (hit && n < cap) {
      memcpy(out, path, n);
      out[n] = 0;
      return true;
    }
    p = path + n;
    if (*p) p++;
  }
  return false;
}

size_t join(char* out, size_t cap, const char* a, const char* b, const char* c) {
  size_t n = 0;
  for (const char* s : {a, b, c})
    while (*s && n < cap - 1) out[n++] = *s++;
  out[n] = 0;
  return n;
}

// CPUs' worth of quota, rounded up; 0 = none.
u64 cgroup_quota() {
  static char buf[8192], path[1024], file[2048];
  if (read_file("/proc/self/cgroup", buf, sizeof buf) <= 0) return 0;
  char val[64];
  if (cgroup_path(buf, "cpu", path, sizeof path)) {
    for (const char* root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      join(file, sizeof file, root, path, "/cpu.cfs_quota_us");
      if (read_file(file, val, sizeof val) <= 0) continue;
      const char* s = val;
      if (*s == '-') return 0;
      u64 quota = number(s);
      join(file, sizeof file, root, path, "/cpu.cfs_period_us");
      if (read_file(file, val, sizeof val) <= 0) return 0;
      s = val;
      u64 period = number(s);
      return period ? (quota + period - 1) / period : 0;
    }
  }
  if (!cgroup_path(buf, "", path, sizeof path)) return 0;
  join(file, sizeof file, "/sys/fs/cgroup", path, "/cpu.max");
  if (read_file(file, val, sizeof val) <= 0 || val[0] == 'm') return 0;
  const char* s = val;
  u64 quota = number(s);
  if (*s == ' ') s++;
  u64 period = number(s);
  return period ? (quota + period - 1) / period : 0;
}

}  // namespace

u32 default_procs() {
  static u64 mask[1024];
  i64 n = sys(__NR_sched_getaffinity, 0, sizeof mask, mask);
  u64 cpus = 0;
  for (i64 i = 0; i < n / 8; i++) 
    for (u64 m = mask[i]; m; m &= m - 1) cpus++;
  if (!cpus) cpus = 1;
  if (u64 q = cgroup_quota()) cpus = min_of(cpus, max_of(q, u64{2}));
  return static_cast<u32>(min_of(cpus, u64{1024}));
}

Xsave xsave_info() {
  u32 a, b, c, d;
  arch::cpuid(1, 0, &a, &b, &c, &d);
  if (!(c & (1u << 27))) return Xsave{0, 0};  // OSXSAVE
  u32 lo, hi;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  arch::cpuid(13, 0, &a, &b, &c, &d);
  return Xsave{(u64{hi} << 32) | lo, b};
}

}  // namespace gmpt::os
