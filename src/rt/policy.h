// rt/policy.h -- scheduling policy and priority of threads.
//
// Results are POSIX error numbers.
#pragma once
#include "rt/thread.h"

namespace gmpt::rt {

int policy_set(G* g, int policy, int priority);
G* g_of_tid(pid_t tid);                    // 0: the caller; null: not ours, ask the kernel
int policy_of_new(const pthread_attr_t* attr, i32* policy, i32* priority);  // by the creator
void policy_begin(Thread* t);              // by the new thread
void policy_end(Thread* t);
void policy_of_main(Thread* t);
void policy_after_fork(Thread* t);         // in the child, still as the forking thread

}  // namespace gmpt::rt
