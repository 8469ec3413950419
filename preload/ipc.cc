// preload/ipc.cc -- System V messages and semaphores, POSIX message queues, libc names.
#include "core/netpoll.h"
#include "preload/interpose.h"
#include "rt/wait.h"

using namespace gmpt;

namespace {
int result(i64 r) { return static_cast<int>(rt::ret(r)); }
}  // namespace

GMPT_API int msgsnd(int id, const void* m, size_t n, int flags) {
  GMPT_NOT_A_G(msgsnd, id, m, n, flags);
  return result(rt::msg_snd(id, m, n, flags));
}
GMPT_API ssize_t msgrcv(int id, void* m, size_t n, long type, int flags) {
  GMPT_NOT_A_G(msgrcv, id, m, n, type, flags);
  return rt::ret(rt::msg_rcv(id, m, n, type, flags));
}
GMPT_API int semop(int id, struct sembuf* ops, size_t n) noexcept {
  GMPT_NOT_A_G(semop, id, ops, n);
  return result(rt::sem_op(id, ops, n, nullptr));
}
GMPT_API int semtimedop(int id, struct sembuf* ops, size_t n, const struct timespec* limit) noexcept {
  GMPT_NOT_A_G(semtimedop, id, ops, n, limit);
  return result(rt::sem_op(id, ops, n, limit));
}

GMPT_API int mq_send(mqd_t q, const char* m, size_t n, unsigned prio) {
  GMPT_NOT_A_G(mq_send, q, m, n, prio);
  return result(rt::mq_snd(q, m, n, prio, nullptr));
}
GMPT_API int mq_timedsend(mqd_t q, const char* m, size_t n, unsigned prio, const struct timespec* at) {
  GMPT_NOT_A_G(mq_timedsend, q, m, n, prio, at);
  return result(rt::mq_snd(q, m, n, prio, at));
}
GMPT_API ssize_t mq_receive(mqd_t q, char* m, size_t n, unsigned* prio) {
  GMPT_NOT_A_G(mq_receive, q, m, n, prio);
  return rt::ret(rt::mq_rcv(q, m, n, prio, nullptr));
}
GMPT_API ssize_t mq_timedreceive(mqd_t q, char* m, size_t n, unsigned* prio, const struct timespec* at) {
  GMPT_NOT_A_G(mq_timedreceive, q, m, n, prio, at);
  return rt::ret(rt::mq_rcv(q, m, n, prio, at));
}
// A queue is a descriptor, which may be polled.
GMPT_API int mq_close(mqd_t q) noexcept {
  if (rt::on() && q >= 0) core::fd_closing(q);
  return os::real().mq_close(q);
}
