// rt/policy.h -- scheduling policy and priority of threads.
//
// Results are POSIX error numbers.
#pragma once
#include "core/spawn.h"
#include "rt/thread.h"

namespace gmpt::rt {

int policy_set(G* g, int policy, int priority);
G* g_of_tid(pid_t tid);                    // 0: the caller; null: not ours, ask the kernel
pid_t process_of(pid_t pid);               // a thread's id is one more name of its process, for kill()
int policy_get(G* g, int* priority);       // the policy, and the priority
int priority_in_force(G* g);               // with a mutex's ceiling
int policy_of_new(const pthread_attr_t* attr, i32* policy, i32* priority);  // by the creator
void policy_taken(Thread* t, int policy, int priority);  // the caller's M, which it keeps, has them in the kernel by now
// By the creator, a G: is the new thread to have an M of its own at once? Fills in what that M is to get.
bool policy_wants_m(Thread* t, core::OwnM* own);
void policy_begin(Thread* t);              // by the new thread, and when another one changed its record
void policy_end(Thread* t);                // by the thread that ends
void policy_of_main(Thread* t);
bool ordered_by_kernel(G* g);              // does the kernel choose between g's M and other Ms?
void policy_after_fork(Thread* t);         // in the child, still as the forking thread

}  // namespace gmpt::rt
