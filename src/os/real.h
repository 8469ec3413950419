// os/real.h -- the real functions behind the names we take over, typed by their own declarations.
//
// What it is
//   real().name is the next definition of `name` after this library in load order, looked up once, early,
//   without malloc. Null if this libc does not have it. The first question fills the table: constructors
//   of the program's other objects run before ours, and may call any name.
//
// Who may call it
//   rt and preload. Calling through it on a G means the M blocks in the kernel: announce it (core/sys.h).
#pragma once
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/fsuid.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

extern "C" {  // exported by libc, declared in no header (or only with fortification)
[[noreturn]] void __longjmp_chk(struct __jmp_buf_tag*, int) noexcept;
int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;
sighandler_t bsd_signal(int, sighandler_t) noexcept;
sighandler_t sysv_signal(int, sighandler_t) noexcept;
int capset(void*, const void*) noexcept;
int __pthread_mutex_init(pthread_mutex_t*, const pthread_mutexattr_t*);
int __pthread_mutex_destroy(pthread_mutex_t*);
int __pthread_mutex_trylock(pthread_mutex_t*);
int __pthread_mutex_unlock(pthread_mutex_t*);
int __pthread_mutex_lock(pthread_mutex_t*);
int __pthread_rwlock_init(pthread_rwlock_t*, const pthread_rwlockattr_t*);
int __pthread_rwlock_destroy(pthread_rwlock_t*);
int __pthread_rwlock_rdlock(pthread_rwlock_t*);
int __pthread_rwlock_tryrdlock(pthread_rwlock_t*);
int __pthread_rwlock_wrlock(pthread_rwlock_t*);
int __pthread_rwlock_trywrlock(pthread_rwlock_t*);
int __pthread_rwlock_unlock(pthread_rwlock_t*);
int __pthread_once(pthread_once_t*, void (*)());
int __pthread_key_create(pthread_key_t*, void (*)(void*));
int __sched_yield();
int __sched_getscheduler(pid_t);
int __sched_setscheduler(pid_t, int, const struct sched_param*);
int __sched_getparam(pid_t, struct sched_param*);
int __nanosleep(const struct timespec*, struct timespec*);
ssize_t __read(int, void*, size_t);
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread64(int, void*, size_t, off64_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
ssize_t __pwrite64(int, const void*, size_t, off64_t);
int __open(const char*, int, ...);
int __open64(const char*, int, ...);
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
pid_t __wait(int*);
pid_t __waitpid(pid_t, int*, int);
ssize_t __write(int, const void*, size_t);
ssize_t __recv_chk(int, void*, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, struct sockaddr*, socklen_t*);
ssize_t __send(int, const void*, size_t, int);
int __connect(int, const struct sockaddr*, socklen_t);
int __poll(struct pollfd*, nfds_t, int);
int __poll_chk(struct pollfd*, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd*, nfds_t, const struct timespec*, const sigset_t*, size_t);
int __select(int, fd_set*, fd_set*, fd_set*, struct timeval*);
int __close(int);
int __dup2(int, int);
int __pipe(int*);
int __fcntl(int, int, ...);
int __fork();
int __libc_start_main(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
}

namespace gmpt::os {

struct Real {
#define GMPT_CALL(name, ...) __typeof__(&::name) name;
#include "os/calls.def"
#undef GMPT_CALL
};

extern Real real_table;
extern bool real_ready;
void real_init();                 // idempotent; the first call must come before threads exist
inline const Real& real() {
  if (GMPT_UNLIKELY(!real_ready)) real_init();
  return real_table;
}

}  // namespace gmpt::os
