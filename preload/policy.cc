// preload/policy.cc -- scheduling policy and priority of threads, libc names.
#include "rt/policy.h"

#include "core/boot.h"
#include "preload/interpose.h"
#include "rt/usermem.h"

using namespace gmpt;

namespace {

core::G* ours(pthread_t t) { return rt::on() && core::awake() ? rt::g_of(t) : nullptr; }
core::G* ours_tid(pid_t tid) { return rt::on() && core::awake() ? rt::g_of_tid(tid) : nullptr; }

}  // namespace

GMPT_API int pthread_getschedparam(pthread_t t, int* policy, struct sched_param* p) noexcept {
  core::G* g = ours(t);
  if (!g) return os::real().pthread_getschedparam(t, policy, p);
  *policy = rt::policy_get(g, &p->sched_priority);
  return 0;
}
GMPT_API int pthread_setschedparam(pthread_t t, int policy, const struct sched_param* p) noexcept {
  core::G* g = ours(t);
  return g ? rt::policy_set(g, policy, p->sched_priority) : os::real().pthread_setschedparam(t, policy, p);
}
GMPT_API int pthread_setschedprio(pthread_t t, int priority) noexcept {
  core::G* g = ours(t);
  int was;
  return g ? rt::policy_set(g, rt::policy_get(g, &was), priority) : os::real().pthread_setschedprio(t, priority);
}

GMPT_API int sched_getscheduler(pid_t tid) noexcept {
  core::G* g = ours_tid(tid);
  int priority;
  return g ? rt::policy_get(g, &priority) : os::real().sched_getscheduler(tid);
}
GMPT_API int sched_getparam(pid_t tid, struct sched_param* p) noexcept {
  core::G* g = ours_tid(tid);
  if (!g || !p || !rt::writable(p, sizeof *p)) return os::real().sched_getparam(g ? 0 : tid, p);
  p->sched_priority = rt::priority_in_force(g);
  return 0;
}
GMPT_API int sched_setscheduler(pid_t tid, int policy, const struct sched_param* p) noexcept {
  core::G* g = ours_tid(tid);
  if (!g || !p || !rt::readable(p, sizeof *p)) return os::real().sched_setscheduler(g ? 0 : tid, policy, p);
  return static_cast<int>(rt::ret(-rt::policy_set(g, policy, p->sched_priority)));
}
GMPT_API int sched_setparam(pid_t tid, const struct sched_param* p) noexcept {
  core::G* g = ours_tid(tid);
  if (!g || !p || !rt::readable(p, sizeof *p)) return os::real().sched_setparam(g ? 0 : tid, p);
  return static_cast<int>(rt::ret(-rt::policy_set(g, rt::thread_of(g)->policy, p->sched_priority)));
}

GMPT_API int __sched_getscheduler(pid_t tid) { return sched_getscheduler(tid); }
GMPT_API int __sched_setscheduler(pid_t tid, int policy, const struct sched_param* p) { return sched_setscheduler(tid, policy, p); }
GMPT_API int __sched_getparam(pid_t tid, struct sched_param* p) { return sched_getparam(tid, p); }
