// rt/epoll.h -- epoll_wait on the program's own epoll instances. Conventions as in rt/poll.h.
#pragma once
#include <sys/epoll.h>

#include "rt/poll.h"

namespace gmpt::rt {

i64 epoll_wait(int ep, struct epoll_event* events, int max, u64 limit, const u64* mask);

}  // namespace gmpt::rt
