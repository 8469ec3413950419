// core/boot.h -- from dormant to awake, and back in a forked child.
#pragma once
#include "core/sched.h"

namespace gmpt::core {

// Brings up Ps, and, if the caller is the process's initial thread, M0 with that thread as a G (returned
// in *main_g; else null, and the caller stays a kernel thread). The caller may use libc and holds no lock
// of ours. Null on success, else what is missing: then nothing was changed.
const char* boot(i64 g_word, G** main_g);
void booted(G* main_g);                // last step, after the main G's TLS word was set

// Around fork() on a G: the kernel must know the true FS base, since the child has no handler yet.
void before_fork(G* g);
void after_fork_parent(G* g);
void after_fork_child(G* g);           // everything here is reset; the child is dormant

bool awake();

}  // namespace gmpt::core
