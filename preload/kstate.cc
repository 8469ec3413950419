// preload/kstate.cc -- affinity, niceness, credentials, namespaces and the rest of a kernel thread's state, libc names.
//
// What it is
//   Each call goes to the kernel thread that the caller keeps from then on (rt/kstate.h), or, for the ids
//   that POSIX gives to the process, to all of them.
#include "rt/kstate.h"
#include "rt/rlimit.h"

#include <limits.h>
#include <stdarg.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "core/boot.h"
#include "preload/interpose.h"
#include "rt/policy.h"

using namespace gmpt;

namespace {

core::G* ours(pthread_t t) { return rt::on() && core::awake() ? rt::g_of(t) : nullptr; }
core::G* ours_tid(pid_t tid) { return rt::on() && core::awake() ? rt::g_of_tid(tid) : nullptr; }
bool on_a_g() { return rt::on() && core::awake() && rt::self(); }

// As libc's wrapper: success is 0, what the kernel did not write is zero.
i64 affinity_get(core::G* g, size_t size, cpu_set_t* set) {
  i64 n = rt::affinity_get(g, min_of(size, size_t{INT_MAX}), set);
  if (n < 0) return n;
  memset(reinterpret_cast<u8*>(set) + n, 0, size - static_cast<size_t>(n));
  return 0;
}

template <class F>
int on_own_m(F call) { return static_cast<int>(rt::ret(rt::on_own_m(call))); }

}  // namespace

GMPT_API int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t* set) noexcept {
  core::G* g = ours_tid(tid);
  return g ? static_cast<int>(rt::ret(rt::affinity_set(g, size, set))) : os::real().sched_setaffinity(tid, size, set);
}
GMPT_API int sched_getaffinity(pid_t tid, size_t size, cpu_set_t* set) noexcept {
  core::G* g = ours_tid(tid);
  return g ? static_cast<int>(rt::ret(affinity_get(g, size, set))) : os::real().sched_getaffinity(tid, size, set);
}
GMPT_API int pthread_setaffinity_np(pthread_t t, size_t size, const cpu_set_t* set) noexcept {
  core::G* g = ours(t);
  return g ? static_cast<int>(-rt::affinity_set(g, size, set)) : os::real().pthread_setaffinity_np(t, size, set);
}
GMPT_API int pthread_getaffinity_np(pthread_t t, size_t size, cpu_set_t* set) noexcept {
  core::G* g = ours(t);
  return g ? static_cast<int>(-affinity_get(g, size, set)) : os::real().pthread_getaffinity_np(t, size, set);
}
GMPT_API int sched_rr_get_interval(pid_t tid, struct timespec* t) noexcept {
  core::G* g = ours_tid(tid);
  return os::real().sched_rr_get_interval(g ? rt::kernel_tid(g) : tid, t);
}

GMPT_API int setpriority(__priority_which_t which, id_t who, int n) noexcept {
  core::G* g = which == PRIO_PROCESS ? ours_tid(static_cast<pid_t>(who)) : nullptr;
  return g ? static_cast<int>(rt::ret(rt::nice_set(g, n))) : os::real().setpriority(which, who, n);
}
GMPT_API int getpriority(__priority_which_t which, id_t who) noexcept {
  core::G* g = which == PRIO_PROCESS ? ours_tid(static_cast<pid_t>(who)) : nullptr;
  return g ? rt::nice_get(g) : os::real().getpriority(which, who);
}
GMPT_API int nice(int by) noexcept {
  if (!on_a_g()) return os::real().nice(by);
  i64 r = rt::nice_set(rt::self(), rt::nice_get(rt::self()) + by);
  if (r < 0) return static_cast<int>(rt::ret(r == -EACCES ? -EPERM : r));
  return rt::nice_get(rt::self());
}

GMPT_API int unshare(int flags) noexcept {
  if (!on_a_g()) return os::real().unshare(flags);
  return on_own_m([=] { return os::sys(__NR_unshare, flags); });
}
GMPT_API int setns(int fd, int type) noexcept {
  if (!on_a_g()) return os::real().setns(fd, type);
  return on_own_m([=] { return os::sys(__NR_setns, fd, type); });
}
GMPT_API int personality(unsigned long p) noexcept {
  if (!on_a_g() || p == 0xffffffff) return os::real().personality(p);
  return on_own_m([=] { return os::sys(__NR_personality, p); });
}
GMPT_API int setfsuid(uid_t id) noexcept {
  if (!on_a_g() || id == static_cast<uid_t>(-1)) return os::real().setfsuid(id);
  return static_cast<int>(rt::on_own_m([=] { return os::sys(__NR_setfsuid, id); }));
}
GMPT_API int setfsgid(gid_t id) noexcept {
  if (!on_a_g() || id == static_cast<gid_t>(-1)) return os::real().setfsgid(id);
  return static_cast<int>(rt::on_own_m([=] { return os::sys(__NR_setfsgid, id); }));
}
GMPT_API int capset(void* header, const void* data) noexcept {
  if (!on_a_g()) return os::real().capset(header, data);
  return on_own_m([=] { return os::sys(__NR_capset, header, data); });
}

GMPT_API int prctl(int option, ...) noexcept {
  va_list ap;
  va_start(ap, option);
  unsigned long a = va_arg(ap, unsigned long), b = va_arg(ap, unsigned long), c = va_arg(ap, unsigned long), d = va_arg(ap, unsigned long);
  va_end(ap);
  if (!on_a_g()) return os::real().prctl(option, a, b, c, d);
  return static_cast<int>(rt::ret(rt::prctl_on_g(option, a, b, c, d)));
}

GMPT_API long ptrace(enum __ptrace_request request, ...) noexcept {
  va_list ap;
  va_start(ap, request);
  auto pid = va_arg(ap, pid_t);
  void *addr = va_arg(ap, void*), *data = va_arg(ap, void*);
  va_end(ap);
  bool binds = request == PTRACE_TRACEME || request == PTRACE_ATTACH || request == PTRACE_SEIZE;
  if (!on_a_g() || !binds) return os::real().ptrace(request, pid, addr, data);
  return on_own_m([=] { return os::sys(__NR_ptrace, static_cast<int>(request), pid, addr, data); });
}

// The ids of the process. -1 is "leave it" for those that take two or three.
namespace {
template <class... A>
int ids(long nr, A... a) {
  long v[3] = {static_cast<long>(a)...};
  return static_cast<int>(rt::ret(rt::set_ids(nr, v[0], v[1], v[2])));
}
bool everywhere() { return rt::on() && core::awake(); }
constexpr uid_t kKeep = static_cast<uid_t>(-1);
}  // namespace

GMPT_API int setuid(uid_t id) noexcept { return everywhere() ? ids(__NR_setuid, id) : os::real().setuid(id); }
GMPT_API int setgid(gid_t id) noexcept { return everywhere() ? ids(__NR_setgid, id) : os::real().setgid(id); }
GMPT_API int setreuid(uid_t r, uid_t e) noexcept { return everywhere() ? ids(__NR_setreuid, r, e) : os::real().setreuid(r, e); }
GMPT_API int setregid(gid_t r, gid_t e) noexcept { return everywhere() ? ids(__NR_setregid, r, e) : os::real().setregid(r, e); }
GMPT_API int setresuid(uid_t r, uid_t e, uid_t s) noexcept {
  return everywhere() ? ids(__NR_setresuid, r, e, s) : os::real().setresuid(r, e, s);
}
GMPT_API int setresgid(gid_t r, gid_t e, gid_t s) noexcept {
  return everywhere() ? ids(__NR_setresgid, r, e, s) : os::real().setresgid(r, e, s);
}
GMPT_API int seteuid(uid_t id) noexcept {
  if (!everywhere()) return os::real().seteuid(id);
  return id == kKeep ? static_cast<int>(rt::ret(-EINVAL)) : ids(__NR_setresuid, kKeep, id, kKeep);
}
GMPT_API int setegid(gid_t id) noexcept {
  if (!everywhere()) return os::real().setegid(id);
  return id == kKeep ? static_cast<int>(rt::ret(-EINVAL)) : ids(__NR_setresgid, kKeep, id, kKeep);
}
GMPT_API int setgroups(size_t n, const gid_t* list) noexcept {
  return everywhere() ? ids(__NR_setgroups, n, reinterpret_cast<long>(list)) : os::real().setgroups(n, list);
}
GMPT_API int initgroups(const char* user, gid_t group) {
  if (!everywhere()) return os::real().initgroups(user, group);
  int n = 65536 / sizeof(gid_t);
  auto* list = static_cast<gid_t*>(malloc(65536));
  if (!list) return -1;
  getgrouplist(user, group, list, &n);
  n = min_of(n, static_cast<int>(65536 / sizeof(gid_t)));
  i64 r = rt::set_ids(__NR_setgroups, n, reinterpret_cast<long>(list), 0);
  free(list);
  return static_cast<int>(rt::ret(r));
}

// ---- limits ----

// One layout on this machine, with and without 64.
GMPT_API int setrlimit64(__rlimit_resource_t what, const struct rlimit64* l) noexcept {
  if (rt::on() && what == RLIMIT_NPROC) rt::before_nproc_limit(reinterpret_cast<const struct rlimit*>(l));
  return os::real().setrlimit64(what, l);
}
GMPT_API int setrlimit(__rlimit_resource_t what, const struct rlimit* l) noexcept {
  return setrlimit64(what, reinterpret_cast<const struct rlimit64*>(l));
}
GMPT_API int prlimit64(pid_t pid, __rlimit_resource what, const struct rlimit64* l, struct rlimit64* old) noexcept {
  if (rt::on() && what == RLIMIT_NPROC && (pid == 0 || pid == getpid())) rt::before_nproc_limit(reinterpret_cast<const struct rlimit*>(l));
  return os::real().prlimit64(pid, what, l, old);
}
GMPT_API int prlimit(pid_t pid, __rlimit_resource what, const struct rlimit* l, struct rlimit* old) noexcept {
  return prlimit64(pid, what, reinterpret_cast<const struct rlimit64*>(l), reinterpret_cast<struct rlimit64*>(old));
}
