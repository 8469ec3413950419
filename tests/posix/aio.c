// posix/aio.c -- POSIX asynchronous I/O: libc's own threads do the requests, aio_suspend waits for them, to a limit or a signal, and others run.
// flags: -lrt
// timeout: 40
#include <aio.h>

#include "expect.h"

static int stop, ticks;
static void* ticker(void* a) {
  while (!LOAD(stop)) {
    sleep_ms(1);
    ADD(ticks, 1);
  }
  return a;
}
static int done;
static void handler(int s) { (void)s; }
static void* suspends(void* a) {
  const struct aiocb* list[1] = {a};
  FAILS(aio_suspend(list, 1, NULL), EINTR);
  STORE(done, 1);
  return NULL;
}
static void notified(union sigval v) { ADD(*(int*)v.sival_ptr, 1); }

int main(void) {
  watchdog(35);
  pthread_t t = start(ticker, NULL);
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  SYS(sigaction(SIGUSR1, &sa, NULL));

  // A file: written, flushed, read back.
  int fd = (int)SYS(open("file", O_RDWR | O_CREAT, 0600));
  static char out[100000], in[100000];
  for (size_t i = 0; i < sizeof out; i++) out[i] = (char)(i * 7);
  struct aiocb w = {.aio_fildes = fd, .aio_buf = out, .aio_nbytes = sizeof out};
  const struct aiocb* list[2] = {&w, NULL};
  SYS(aio_write(&w));
  while (aio_error(&w) == EINPROGRESS) SYS(aio_suspend(list, 2, NULL));
  EXPECT_EQ(aio_return(&w), sizeof out);
  struct aiocb r = {.aio_fildes = fd, .aio_buf = in, .aio_nbytes = sizeof in};
  int calls = 0;
  r.aio_sigevent.sigev_notify = SIGEV_THREAD;
  r.aio_sigevent.sigev_notify_function = notified;
  r.aio_sigevent.sigev_value.sival_ptr = &calls;
  SYS(aio_read(&r));
  list[0] = &r;
  while (aio_error(&r) == EINPROGRESS) SYS(aio_suspend(list, 1, NULL));
  EXPECT_EQ(aio_return(&r), sizeof in);
  EXPECT(!memcmp(in, out, sizeof in));
  WAIT_UNTIL(LOAD(calls) == 1);

  // A pipe with nothing in it: the limit, then a signal, then the byte.
  int p[2];
  SYS(pipe(p));
  char b = 0;
  struct aiocb q = {.aio_fildes = p[0], .aio_buf = &b, .aio_nbytes = 1};
  SYS(aio_read(&q));
  list[0] = &q;
  struct timespec limit = ts_of(50 * MS);
  int64_t t0 = now_ns();
  int before = LOAD(ticks);
  FAILS(aio_suspend(list, 1, &limit), EAGAIN);
  EXPECT_GE(now_ns() - t0, 50 * MS);
  WAIT_UNTIL(LOAD(ticks) > before + 5);
  pthread_t s = start(suspends, &q);
  while (!LOAD(done)) {
    OK(pthread_kill(s, SIGUSR1));
    sleep_ms(10);
  }
  join(s);
  EXPECT_EQ(aio_error(&q), EINPROGRESS);
  write_all(p[1], "x", 1);
  while (aio_error(&q) == EINPROGRESS) SYS(aio_suspend(list, 1, NULL));
  EXPECT_EQ(aio_return(&q), 1);
  EXPECT_EQ(b, 'x');

  // Several at once.
  struct aiocb many[8], *all[8];
  memset(many, 0, sizeof many);
  for (int i = 0; i < 8; i++) {
    many[i] = (struct aiocb){.aio_fildes = fd, .aio_buf = out + i * 1000, .aio_nbytes = 1000, .aio_offset = i * 1000,
                             .aio_lio_opcode = LIO_WRITE};
    all[i] = &many[i];
  }
  SYS(lio_listio(LIO_WAIT, all, 8, NULL));
  for (int i = 0; i < 8; i++) EXPECT_EQ(aio_return(&many[i]), 1000);
  STORE(stop, 1);
  join(t);
  return 0;
}
