// posix/cancel_in_handler.cc -- a thread cancelled in a signal handler, or one that leaves by pthread_exit there, unwinds through what the handler interrupted.
// timeout: 30
#include <initializer_list>
#include "expect.h"

static int never[2], at_work[2];
static sem_t up;
static int order;
struct Note {
  int digit;
  ~Note() { order = order * 10 + digit; }
};

static void blocks(int fd) {
  Note n{1};
  char c;
  SYS(sem_post(&up));
  (void)!read(fd, &c, 1);
  EXPECT(!"came back");
}
static void on_cancel(int) {
  Note n{2};
  blocks(at_work[0]);
}
static void on_exit_(int) {
  Note n{1};
  pthread_exit(num(5));
}
static void* waits(void*) {
  Note n{4};
  [] {
    Note n{3};
    blocks(never[0]);
  }();
  return nullptr;
}
static void wait_up() {
  while (sem_wait(&up) == -1) EXPECT_EQ(errno, EINTR);
}

int main() {
  watchdog(25);
  OK(sem_init(&up, 0, 0));
  SYS(pipe(never));
  SYS(pipe(at_work));
  for (int flags : {0, int(SA_RESTART), int(SA_SIGINFO), int(SA_NODEFER)}) {
    struct sigaction sa{};
    sa.sa_flags = flags;
    sa.sa_handler = on_cancel;
    SYS(sigaction(SIGUSR1, &sa, nullptr));
    sa.sa_handler = on_exit_;
    SYS(sigaction(SIGUSR2, &sa, nullptr));

    order = 0;
    pthread_t t = start(waits, nullptr);
    wait_up();
    sleep_ms(10);
    OK(pthread_kill(t, SIGUSR1));
    wait_up();
    sleep_ms(10);
    OK(pthread_cancel(t));
    EXPECT(join(t) == PTHREAD_CANCELED);
    EXPECT_EQ(order, 12134);  // the handler's two, then those of what it interrupted

    order = 0;
    t = start(waits, nullptr);
    wait_up();
    sleep_ms(10);
    OK(pthread_kill(t, SIGUSR2));
    EXPECT_EQ(join(t), 5);
    EXPECT_EQ(order, 1134);
  }
  return 0;
}
