// preload/process.cc -- starting processes and this one: fork, spawn, main, dlopen.
#include <stdarg.h>

#include "core/boot.h"
#include "core/netpoll.h"
#include "core/trace.h"
#include "base/options.h"
#include "os/tcb.h"
#include "preload/deepbind.h"
#include "preload/interpose.h"
#include "rt/dl.h"
#include "rt/fork.h"
#include "rt/thread.h"

using namespace gmpt;

GMPT_API pid_t fork() noexcept {
  GMPT_NATIVE(fork);
  return rt::do_fork();
}
GMPT_API pid_t __fork() { return fork(); }

// Three more arguments, which libc takes from where they would be, given or not.
GMPT_API int clone(int (*fn)(void*), void* stack, int flags, void* arg, ...) noexcept {
  va_list more;
  va_start(more, arg);
  void *ptid = va_arg(more, void*), *tls = va_arg(more, void*), *ctid = va_arg(more, void*);
  va_end(more);
  if (!rt::on() || !rt::self() || !fn || !stack) return os::real().clone(fn, stack, flags, arg, ptid, tls, ctid);
  return rt::do_clone(fn, stack, flags, arg, ptid, tls, ctid);
}
GMPT_API int __clone(int (*fn)(void*), void* stack, int flags, void* arg, ...) noexcept {
  va_list more;
  va_start(more, arg);
  void *ptid = va_arg(more, void*), *tls = va_arg(more, void*), *ctid = va_arg(more, void*);
  va_end(more);
  return clone(fn, stack, flags, arg, ptid, tls, ctid);
}

namespace {
// The child has what is open and is not closed by exec.
struct Shares {
  Shares() { core::fds_shared(); }
  ~Shares() { core::fds_shared(); }  // what others opened meanwhile
};
}  // namespace

GMPT_API int daemon(int nochdir, int noclose) noexcept {
  Shares shares;
  GMPT_NATIVE(daemon, nochdir, noclose);
  rt::TrueFs fs;
  return os::real().daemon(nochdir, noclose);
}

GMPT_API int system(const char* cmd) {
  Shares shares;
  GMPT_NATIVE(system, cmd);
  rt::TrueFs fs;
  return os::real().system(cmd);
}
GMPT_API FILE* popen(const char* cmd, const char* mode) {
  Shares shares;
  GMPT_NATIVE(popen, cmd, mode);
  rt::TrueFs fs;
  return os::real().popen(cmd, mode);
}
GMPT_API int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* fa, const posix_spawnattr_t* attr,
                         char* const argv[], char* const envp[]) {
  Shares shares;
  GMPT_NATIVE(posix_spawn, pid, path, fa, attr, argv, envp);
  rt::TrueFs fs;
  return os::real().posix_spawn(pid, path, fa, attr, argv, envp);
}
GMPT_API int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* fa, const posix_spawnattr_t* attr,
                          char* const argv[], char* const envp[]) {
  Shares shares;
  GMPT_NATIVE(posix_spawnp, pid, file, fa, attr, argv, envp);
  rt::TrueFs fs;
  return os::real().posix_spawnp(pid, file, fa, attr, argv, envp);
}
GMPT_API void abort() noexcept {
  // libc blocks all signals inside, and a core dump should show the true thread.
  if (rt::on() && rt::self()) {
    core::pin(rt::self());
    core::before_fork(rt::self());
  }
  os::real().abort();
  __builtin_unreachable();
}

GMPT_API void* dlopen(const char* file, int flags) noexcept {
  char path[4096];
  void* h = os::real().dlopen(rt::file_for_caller(file, __builtin_return_address(0), path, sizeof path), flags);
  if (flags & RTLD_DEEPBIND && rt::on()) rebind(h);
  rt::modules_changed();
  return h;
}
GMPT_API void* dlmopen(Lmid_t ns, const char* file, int flags) noexcept {
  char path[4096];
  if (ns == LM_ID_BASE) file = rt::file_for_caller(file, __builtin_return_address(0), path, sizeof path);
  void* h = os::real().dlmopen(ns, file, flags);
  if (flags & RTLD_DEEPBIND && ns == LM_ID_BASE && rt::on()) rebind(h);
  rt::modules_changed();
  return h;
}
GMPT_API int dlclose(void* h) noexcept {
  int r = os::real().dlclose(h);
  rt::modules_changed();
  return r;
}

namespace {

int (*program_main)(int, char**, char**);
int main_in_frame(int argc, char** argv, char** envp) { return rt::run_main(program_main, argc, argv, envp); }

__attribute__((constructor)) void at_load() { rt::on(); }

__attribute__((destructor)) void at_unload() {
  if (options.stats && core::awake()) core::print_stats();
}

}  // namespace

GMPT_API int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                               void* stack_end) {
  rt::on();
  program_main = main;
  return os::real().__libc_start_main(rt::on() ? main_in_frame : main, argc, argv, init, fini, rtld_fini, stack_end);
}
