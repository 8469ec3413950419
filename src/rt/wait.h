// rt/wait.h -- waiting for children, and for System V and POSIX message queues and semaphores.
//
// Results are the system call's; -errno on failure.
#pragma once
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "rt/self.h"

namespace gmpt::rt {

i64 wait_child(pid_t pid, int* status, int options, struct rusage* ru);
i64 wait_id(idtype_t type, id_t id, siginfo_t* info, int options);

i64 msg_snd(int id, const void* m, size_t n, int flags);
i64 msg_rcv(int id, void* m, size_t n, long type, int flags);
i64 sem_op(int id, struct sembuf* ops, size_t n, const struct timespec* limit);

i64 mq_snd(mqd_t q, const char* m, size_t n, unsigned prio, const struct timespec* at);
i64 mq_rcv(mqd_t q, char* m, size_t n, unsigned* prio, const struct timespec* at);

}  // namespace gmpt::rt
