// posix/cancel_points.c -- every cancellation point acts on a request: one that comes while it waits, and one that was pending before.
// flags: -lrt
// timeout: 60
#include "expect.h"
#include <mqueue.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>
#include <threads.h>

static int empty[2], full[2], sp[2], full_sp[2], listener, unix_full, ep, ev, tfd, file, queue;
static mqd_t mq;
static sem_t sem, shared_sem;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, shared_m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, shared_c;
static pthread_t never;
static mtx_t cm;
static cnd_t cc;
static struct sockaddr_storage unix_name;
static socklen_t unix_len;
static char big[1 << 20];

static struct timespec far_(clockid_t k) { return ts_in(k, 1000 * SEC); }
static struct iovec iov(void) { return (struct iovec){big, sizeof big}; }
static sigset_t usr2(void) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR2);
  return s;
}
static void unlocks(void* a) { OK(pthread_mutex_unlock((pthread_mutex_t*)a)); }

// ---- those that wait: each body never returns ----

#define WAITS(name, ...) static void w_##name(void) { __VA_ARGS__; }
WAITS(read, char b; read(empty[0], &b, 1))
WAITS(readv, struct iovec v = iov(); readv(empty[0], &v, 1))
WAITS(read_event, uint64_t b; read(ev, &b, 8))
WAITS(read_timer, uint64_t b; read(tfd, &b, 8))
WAITS(fgetc, FILE* f = fdopen(dup(empty[0]), "r"); fgetc(f))
WAITS(write, write(full[1], "x", 1))
WAITS(writev, struct iovec v = iov(); writev(full[1], &v, 1))
WAITS(recv, char b; recv(sp[0], &b, 1, 0))
WAITS(recvfrom, char b; recvfrom(sp[0], &b, 1, 0, NULL, NULL))
WAITS(recvmsg, struct iovec v = iov(); struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1}; recvmsg(sp[0], &h, 0))
WAITS(recvmmsg, struct iovec v = iov(); struct mmsghdr h = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}}; recvmmsg(sp[0], &h, 1, 0, NULL))
WAITS(send, send(full_sp[0], "x", 1, 0))
WAITS(sendto, sendto(full_sp[0], "x", 1, 0, NULL, 0))
WAITS(sendmsg, struct iovec v = iov(); struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1}; sendmsg(full_sp[0], &h, 0))
WAITS(sendmmsg, struct iovec v = iov(); struct mmsghdr h = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}}; sendmmsg(full_sp[0], &h, 1, 0))
WAITS(accept, accept(listener, NULL, NULL))
WAITS(accept4, accept4(listener, NULL, NULL, SOCK_CLOEXEC))
WAITS(connect, int fd = socket(AF_UNIX, SOCK_STREAM, 0); connect(fd, (struct sockaddr*)&unix_name, unix_len))
WAITS(poll, struct pollfd p = {empty[0], POLLIN, 0}; poll(&p, 1, -1))
WAITS(poll_nothing, poll(NULL, 0, -1))
WAITS(ppoll, struct pollfd p = {empty[0], POLLIN, 0}; ppoll(&p, 1, NULL, NULL))
WAITS(select, fd_set s; FD_ZERO(&s); FD_SET(empty[0], &s); select(empty[0] + 1, &s, NULL, NULL, NULL))
WAITS(pselect, struct timespec t = {1000, 0}; pselect(0, NULL, NULL, NULL, &t, NULL))
WAITS(epoll_wait, struct epoll_event e; epoll_wait(ep, &e, 1, -1))
WAITS(epoll_pwait, struct epoll_event e; epoll_pwait(ep, &e, 1, 1000000, NULL))
WAITS(splice, splice(empty[0], NULL, full_sp[0], NULL, 10, 0))
WAITS(open, open("fifo1", O_RDONLY))
WAITS(openat, openat(AT_FDCWD, "fifo2", O_WRONLY | O_CLOEXEC))
WAITS(setlkw, struct flock l = {.l_type = F_WRLCK}; int fd = open("file", O_RDWR); fcntl(fd, F_SETLKW, &l))
WAITS(lockf, int fd = open("file", O_RDWR); lockf(fd, F_LOCK, 0))
WAITS(sleep, sleep(1000))
WAITS(usleep, for (;;) usleep(900000))
WAITS(nanosleep, struct timespec t = {1000, 0}; nanosleep(&t, NULL))
WAITS(clock_nanosleep, struct timespec t = far_(CLOCK_REALTIME); clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL))
WAITS(thrd_sleep, struct timespec t = {1000, 0}; thrd_sleep(&t, NULL))
WAITS(pause, pause())
WAITS(sigsuspend, sigset_t s = usr2(); sigsuspend(&s))
WAITS(sigwait, sigset_t s = usr2(); int n; sigwait(&s, &n))
WAITS(sigwaitinfo, sigset_t s = usr2(); sigwaitinfo(&s, NULL))
WAITS(sigtimedwait, sigset_t s = usr2(); struct timespec t = {1000, 0}; sigtimedwait(&s, NULL, &t))
WAITS(sem_wait, sem_wait(&sem))
WAITS(sem_timedwait, struct timespec t = far_(CLOCK_REALTIME); sem_timedwait(&sem, &t))
WAITS(sem_clockwait, struct timespec t = far_(CLOCK_MONOTONIC); sem_clockwait(&sem, CLOCK_MONOTONIC, &t))
WAITS(sem_wait_shared, sem_wait(&shared_sem))
#define HOLDS(mutex, ...)                     \
  OK(pthread_mutex_lock(&mutex));             \
  pthread_cleanup_push(unlocks, &mutex);      \
  for (;;) __VA_ARGS__;                       \
  pthread_cleanup_pop(1)
WAITS(cond_wait, HOLDS(m, pthread_cond_wait(&c, &m)))
WAITS(cond_timedwait, struct timespec t = far_(CLOCK_REALTIME); HOLDS(m, pthread_cond_timedwait(&c, &m, &t)))
WAITS(cond_clockwait, struct timespec t = far_(CLOCK_MONOTONIC); HOLDS(m, pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t)))
WAITS(cond_wait_shared, HOLDS(shared_m, pthread_cond_wait(&shared_c, &shared_m)))
WAITS(cnd_wait, mtx_lock(&cm); pthread_cleanup_push(unlocks, &cm); for (;;) cnd_wait(&cc, &cm); pthread_cleanup_pop(1))
WAITS(join, pthread_join(never, NULL))
WAITS(timedjoin, struct timespec t = far_(CLOCK_REALTIME); pthread_timedjoin_np(never, NULL, &t))
WAITS(thrd_join, thrd_join(never, NULL))
WAITS(waitpid, waitpid(-1, NULL, 0))
WAITS(wait4, wait4(-1, NULL, 0, NULL))
WAITS(waitid, siginfo_t i; waitid(P_ALL, 0, &i, WEXITED))
WAITS(msgrcv, msgrcv(queue, big, 8, 1, 0))
WAITS(mq_receive, mq_receive(mq, big, sizeof big, NULL))
WAITS(mq_timedreceive, struct timespec t = far_(CLOCK_REALTIME); mq_timedreceive(mq, big, sizeof big, NULL, &t))

// ---- those that act on a pending request, whether or not they would wait ----

WAITS(testcancel, pthread_testcancel())
WAITS(close, close(dup(file)))
WAITS(fsync, fsync(file))
WAITS(fdatasync, fdatasync(file))
WAITS(pread, pread(file, big, 1, 0))
WAITS(pwrite, pwrite(file, big, 1, 0))
WAITS(preadv, struct iovec v = iov(); preadv(file, &v, 1, 0))
WAITS(creat, creat("other", 0600))
WAITS(msync, msync(NULL, 0, MS_SYNC))
WAITS(tcdrain, tcdrain(file))
WAITS(getrandom, getrandom(big, 1, 0))
WAITS(read_file, read(file, big, 1))
WAITS(write_file, write(file, big, 1))
WAITS(msgsnd, struct { long t; } b = {1}; msgsnd(queue, &b, 0, 0))
WAITS(poll_now, struct pollfd p = {empty[0], POLLIN, 0}; poll(&p, 1, 0))
WAITS(sem_free, sem_t s; sem_init(&s, 0, 1); sem_wait(&s))
WAITS(sleep_0, struct timespec t = {0, 1}; nanosleep(&t, NULL))

#define W(name) {#name, w_##name, 1, 1}
static struct entry {
  const char* name;
  void (*body)(void);
  int waits;      // run it, cancel it while it waits
  int pending;    // call it with a request pending
  int entered, cleaned;
} table[] = {
  W(read), W(readv), W(read_event), W(read_timer), W(fgetc), W(write), W(writev), W(recv), W(recvfrom), W(recvmsg), W(recvmmsg),
  W(send), W(sendto), W(sendmsg), W(sendmmsg), W(accept), W(accept4), W(connect), W(poll), W(poll_nothing), W(ppoll), W(select),
  W(pselect), W(epoll_wait), W(epoll_pwait), W(splice), W(open), W(openat), W(setlkw), W(lockf), W(sleep), W(usleep),
  W(nanosleep), W(clock_nanosleep), W(thrd_sleep), W(pause), W(sigsuspend), W(sigwait), W(sigwaitinfo), W(sigtimedwait),
  W(sem_wait), W(sem_timedwait), W(sem_clockwait), W(sem_wait_shared), W(cond_wait), W(cond_timedwait), W(cond_clockwait),
  W(cond_wait_shared), W(cnd_wait), {"join", w_join, 1, 1}, {"timedjoin", w_timedjoin, 1, 1},
  {"thrd_join", w_thrd_join, 1, 1}, W(waitpid), W(wait4), W(waitid), W(msgrcv), W(mq_receive), W(mq_timedreceive),
#define P(name) {#name, w_##name, 0, 1}
  P(testcancel), P(close), P(fsync), P(fdatasync), P(pread), P(pwrite), P(preadv), P(creat), P(msync), P(tcdrain), P(getrandom),
  P(read_file), P(write_file), P(msgsnd), P(poll_now), P(sem_free), P(sleep_0),
};
enum { N = sizeof table / sizeof *table };

static void cleans(void* a) { STORE(((struct entry*)a)->cleaned, 1); }
static void* is_cancelled(void* a) {
  struct entry* e = (struct entry*)a;
  pthread_cleanup_push(cleans, e);
  STORE(e->entered, 1);
  e->body();
  pthread_cleanup_pop(0);
  return NULL;
}
static int go;
static void* has_request(void* a) {
  struct entry* e = (struct entry*)a;
  int old;
  OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
  EXPECT_EQ(old, PTHREAD_CANCEL_ENABLE);
  STORE(e->entered, 1);
  while (!LOAD(go)) sleep_ms(1);
  OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
  return is_cancelled(e);
}

static pthread_t t[N];
static void run(void* (*f)(void*), size_t want) {
  for (int i = 0; i < N; i++) table[i].entered = table[i].cleaned = 0;
  for (int i = 0; i < N; i++)
    if (*(int*)((char*)&table[i] + want)) t[i] = start(f, &table[i]);
  for (int i = 0; i < N; i++)
    if (*(int*)((char*)&table[i] + want)) WAIT_UNTIL(LOAD(table[i].entered));
  if (want == offsetof(struct entry, waits)) sleep_ms(100);
  for (int i = 0; i < N; i++)
    if (*(int*)((char*)&table[i] + want)) {
      EXPECT_EQ(LOAD(table[i].cleaned), 0);
      OK(pthread_cancel(t[i]));
      OK(pthread_cancel(t[i]));  // once is enough, twice is no error
    }
  STORE(go, 1);
  for (int i = 0; i < N; i++)
    if (*(int*)((char*)&table[i] + want)) {
      struct timespec limit = ts_in(CLOCK_REALTIME, 10 * SEC);
      void* r = NULL;
      int e = pthread_timedjoin_np(t[i], &r, &limit);
      if (e != 0 || r != PTHREAD_CANCELED || !table[i].cleaned) fprintf(stderr, "%s: join %d, result %p\n", table[i].name, e, r);
      EXPECT(e == 0 && r == PTHREAD_CANCELED && table[i].cleaned);
    }
  STORE(go, 0);
}

static void* parks(void* a) {
  for (;;) sleep_ms(100000);
  return a;
}
static void fill(int fd) {
  SYS(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
  while (write(fd, big, sizeof big) > 0 || write(fd, big, 1) > 0) {
  }
  SYS(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK));
}

int main(void) {
  watchdog(55);
  sigset_t s = usr2();
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  SYS(pipe(empty));
  SYS(pipe(full));
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, full_sp));
  fill(full[1]);
  fill(full_sp[0]);
  listener = tcp_listen(4);
  unix_full = (int)SYS(socket(AF_UNIX, SOCK_STREAM, 0));
  unix_name.ss_family = AF_UNIX;
  SYS(bind(unix_full, (struct sockaddr*)&unix_name, sizeof(sa_family_t)));
  SYS(listen(unix_full, 0));
  unix_len = sizeof unix_name;
  SYS(getsockname(unix_full, (struct sockaddr*)&unix_name, &unix_len));
  for (;;) {
    int fd = (int)SYS(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    if (connect(fd, (struct sockaddr*)&unix_name, unix_len) == -1) break;
  }
  ep = (int)SYS(epoll_create1(0));
  ev = (int)SYS(eventfd(0, 0));
  tfd = (int)SYS(timerfd_create(CLOCK_MONOTONIC, 0));
  file = (int)SYS(open("file", O_RDWR | O_CREAT | O_TRUNC, 0600));
  SYS(mkfifo("fifo1", 0600));
  SYS(mkfifo("fifo2", 0600));
  queue = (int)SYS(msgget(IPC_PRIVATE, 0600));
  char name[64];
  snprintf(name, sizeof name, "/expect-cancel-%d", (int)getpid());
  struct mq_attr qa = {.mq_maxmsg = 2, .mq_msgsize = 16};
  mq = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &qa);
  if (mq != (mqd_t)-1) mq_unlink(name);
  OK(sem_init(&sem, 0, 0));
  OK(sem_init(&shared_sem, 1, 0));
  pthread_mutexattr_t ma;
  pthread_condattr_t ca;
  OK(pthread_mutexattr_init(&ma));
  OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
  OK(pthread_mutex_init(&shared_m, &ma));
  OK(pthread_condattr_init(&ca));
  OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
  OK(pthread_cond_init(&shared_c, &ca));
  mtx_init(&cm, mtx_plain);
  cnd_init(&cc);
  never = start(parks, NULL);
  // A child that holds the file's lock, and that the wait calls wait for.
  int told[2];
  SYS(pipe(told));
  pid_t child = (pid_t)SYS(fork());
  if (child == 0) {
    struct flock l = {.l_type = F_WRLCK};
    SYS(fcntl(file, F_SETLK, &l));
    write_all(told[1], "x", 1);
    for (;;) sleep(1000);
  }
  char x;
  read_all(told[0], &x, 1);
  for (int i = 0; mq == (mqd_t)-1 && i < N; i++)
    if (!strncmp(table[i].name, "mq_", 3)) table[i].waits = table[i].pending = 0;
  // One may join a thread at a time, and each of these leaves it joinable.
  static const char* const joins[] = {"join", "timedjoin", "thrd_join"};
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < N; i++)
      for (int j = 0; j < 3; j++)
        if (!strcmp(table[i].name, joins[j])) table[i].waits = table[i].pending = j == round;
    run(is_cancelled, offsetof(struct entry, waits));
    run(has_request, offsetof(struct entry, pending));
  }
  // Nothing stayed locked, and nothing was eaten.
  OK(pthread_mutex_trylock(&m));
  OK(pthread_mutex_trylock(&shared_m));
  SYS(sem_post(&sem));
  SYS(sem_trywait(&sem));
  SYS(kill(child, SIGKILL));
  SYS(waitpid(child, NULL, 0));
  SYS(msgctl(queue, IPC_RMID, NULL));
  OK(pthread_cancel(never));
  EXPECT(join(never) == PTHREAD_CANCELED);
  return 0;
}
