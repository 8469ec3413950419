// rt/wait.cc -- waits in the kernel that no descriptor stands for: children, System V IPC, message queues.
//
// What it is
//   Each is one blocking call with the P on offer. The Ms share one System V undo list, so SEM_UNDO means
//   the process, as it does for native threads.
//
// Rejected
//   Message queues in the netpoller, which Linux would allow: whoever received would have to know of every
//   other receiver, in this process and outside, to park on an edge safely.
#include "rt/wait.h"

#include "rt/io.h"
#include "rt/offer.h"

namespace gmpt::rt {

i64 wait_child(pid_t pid, int* status, int options, struct rusage* ru) {
  return blocking([=] { return os::sys(__NR_wait4, pid, status, options, ru); });
}

i64 wait_id(idtype_t type, id_t id, siginfo_t* info, int options) {
  return blocking([=] { return os::sys(__NR_waitid, type, id, info, options, nullptr); });
}

i64 msg_snd(int id, const void* m, size_t n, int flags) {
  return blocking([=] { return os::sys(__NR_msgsnd, id, m, n, flags); });
}

i64 msg_rcv(int id, void* m, size_t n, long type, int flags) {
  return blocking([=] { return os::sys(__NR_msgrcv, id, m, n, type, flags); });
}

i64 sem_op(int id, struct sembuf* ops, size_t n, const struct timespec* limit) {
  Left left(limit);
  return offered([&] { return os::sys(__NR_semtimedop, id, ops, n, left.get()); });
}

i64 mq_snd(mqd_t q, const char* m, size_t n, unsigned prio, const struct timespec* at) {
  return blocking([=] { return os::sys(__NR_mq_timedsend, q, m, n, prio, at); });
}

i64 mq_rcv(mqd_t q, char* m, size_t n, unsigned* prio, const struct timespec* at) {
  return blocking([=] { return os::sys(__NR_mq_timedreceive, q, m, n, prio, at); });
}

}  // namespace gmpt::rt
