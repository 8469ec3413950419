// preload/sigold.cc -- the older signal calls, libc names.
//
// What it is
//   libc's own reach the kernel's mask and actions directly, which are an M's and ours (core/signal.h). They
//   are written here in terms of the newer ones, as POSIX and glibc describe them, so nothing depends on
//   whether the library is on.
#include <signal.h>
#include <string.h>

#include "preload/interpose.h"

namespace {

bool only(sigset_t* s, int sig) {
  sigemptyset(s);
  return sigaddset(s, sig) == 0;  // else errno is EINVAL
}

// The 32 signals that an int can name.
void put(sigset_t* s, int mask) {
  sigemptyset(s);
  memcpy(s, &mask, sizeof mask);
}
int get(const sigset_t* s) {
  int mask;
  memcpy(&mask, s, sizeof mask);
  return mask;
}

int change(int how, int mask) {
  sigset_t s, old;
  put(&s, mask);
  return sigprocmask(how, &s, &old) < 0 ? -1 : get(&old);
}

}  // namespace

GMPT_API int sighold(int sig) noexcept {
  sigset_t s;
  return only(&s, sig) ? sigprocmask(SIG_BLOCK, &s, nullptr) : -1;
}

GMPT_API int sigrelse(int sig) noexcept {
  sigset_t s;
  return only(&s, sig) ? sigprocmask(SIG_UNBLOCK, &s, nullptr) : -1;
}

GMPT_API int sigignore(int sig) noexcept {
  struct sigaction a {};
  a.sa_handler = SIG_IGN;
  return sigaction(sig, &a, nullptr);
}

GMPT_API sighandler_t sigset(int sig, sighandler_t h) noexcept {
  sigset_t s, old;
  struct sigaction a {}, was;
  if (h == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  if (!only(&s, sig)) return SIG_ERR;
  if (h == SIG_HOLD) {
    if (sigprocmask(SIG_BLOCK, &s, &old) < 0) return SIG_ERR;
    if (sigismember(&old, sig)) return SIG_HOLD;
    return sigaction(sig, nullptr, &was) < 0 ? SIG_ERR : was.sa_handler;
  }
  a.sa_handler = h;
  if (sigaction(sig, &a, &was) < 0 || sigprocmask(SIG_UNBLOCK, &s, &old) < 0) return SIG_ERR;
  return sigismember(&old, sig) ? SIG_HOLD : was.sa_handler;
}

GMPT_API int __sigsuspend(const sigset_t* s) { return sigsuspend(s); }

// Waits with the signal taken out of the mask, or with the mask as it is given: <signal.h> sends the name
// sigpause to the first; the symbol of that name is BSD's.
GMPT_API int __xpg_sigpause(int sig) {
  sigset_t s;
  return sigprocmask(SIG_BLOCK, nullptr, &s) < 0 || sigdelset(&s, sig) < 0 ? -1 : sigsuspend(&s);
}
GMPT_API int gmpt_bsd_sigpause(int mask) __asm__("sigpause");
int gmpt_bsd_sigpause(int mask) {
  sigset_t s;
  put(&s, mask);
  return sigsuspend(&s);
}
GMPT_API int __sigpause(int sig_or_mask, int is_sig) { return is_sig ? __xpg_sigpause(sig_or_mask) : gmpt_bsd_sigpause(sig_or_mask); }

GMPT_API int sigblock(int mask) noexcept { return change(SIG_BLOCK, mask); }
GMPT_API int sigsetmask(int mask) noexcept { return change(SIG_SETMASK, mask); }
GMPT_API int siggetmask() noexcept { return change(SIG_BLOCK, 0); }

GMPT_API int siginterrupt(int sig, int on) noexcept {
  struct sigaction a;
  if (sigaction(sig, nullptr, &a) < 0) return -1;
  a.sa_flags = on ? a.sa_flags & ~SA_RESTART : a.sa_flags | SA_RESTART;
  return sigaction(sig, &a, nullptr);
}
