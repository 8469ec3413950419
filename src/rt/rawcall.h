// rt/rawcall.h -- system calls that the program makes by number and that need more than passing on.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

// A new process with memory of its own: fork, vfork, clone, clone3. In the child the caller is a plain thread.
i64 raw_fork(long nr, long a, long b, long c, long d, long e);

i64 raw_sigaction(int sig, const void* act, void* old, size_t set_size);   // kernel layouts
i64 raw_sigmask(int how, const u64* set, u64* old, size_t set_size);
i64 raw_queue_signal(pid_t pid, pid_t tid, int sig, const void* info);
[[noreturn]] void raw_exit();             // of this thread alone

}  // namespace gmpt::rt
