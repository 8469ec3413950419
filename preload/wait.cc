// preload/wait.cc -- waiting for children, libc names.
#include "preload/interpose.h"
#include "rt/wait.h"

using namespace gmpt;

namespace {
pid_t result(i64 r) { return static_cast<pid_t>(rt::ret(r)); }
}  // namespace

GMPT_API pid_t wait(int* status) {
  GMPT_NOT_A_G(wait, status);
  return result(rt::wait_child(-1, status, 0, nullptr));
}
GMPT_API pid_t __wait(int* status) { return wait(status); }
GMPT_API pid_t waitpid(pid_t pid, int* status, int options) {
  GMPT_NOT_A_G(waitpid, pid, status, options);
  return result(rt::wait_child(pid, status, options, nullptr));
}
GMPT_API pid_t __waitpid(pid_t pid, int* status, int options) { return waitpid(pid, status, options); }
GMPT_API pid_t wait3(int* status, int options, struct rusage* ru) noexcept {
  GMPT_NOT_A_G(wait3, status, options, ru);
  return result(rt::wait_child(-1, status, options, ru));
}
GMPT_API pid_t wait4(pid_t pid, int* status, int options, struct rusage* ru) noexcept {
  GMPT_NOT_A_G(wait4, pid, status, options, ru);
  return result(rt::wait_child(pid, status, options, ru));
}
GMPT_API int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  GMPT_NOT_A_G(waitid, type, id, info, options);
  return result(rt::wait_id(type, id, info, options));
}
