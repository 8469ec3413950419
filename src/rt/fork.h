// rt/fork.h -- fork, and libc calls that start a process inside.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

pid_t do_fork();
int do_clone(int (*fn)(void*), void* stack, int flags, void* arg, void* ptid, void* tls, void* ctid);  // on a G
void child_begins(G* g); // in a child that libc's fork did not make, all signals blocked: it is native from here on
void fork_boot();        // registers the child's clean-up; before any other library does

// While one exists the calling G stays on its M, and the kernel knows the true FS base: for libc calls that
// block all signals inside and would not survive a repair by fault.
class TrueFs {
 public:
  TrueFs();
  ~TrueFs();

 private:
  G* g_;
  pid_t pid_;
};

}  // namespace gmpt::rt
