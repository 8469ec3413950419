// rt/mainexit.h -- the end of threads, and of main as a thread.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

[[noreturn]] void thread_end(G* g);   // thread.cc: destructors, then the end
void main_ends();                     // pthread_exit in main, or where a forked child began; then the process may end
void wait_for_last();                 // the initial thread is no more: until it is the only one left
void main_exit_check(u64 mask);       // on g0, a thread ended, with this signal mask: if main waits for the last one, wake it
int run_main(int (*main)(int, char**, char**), int argc, char** argv, char** envp);

}  // namespace gmpt::rt
