// posix/realtime_toggled.c -- a thread changes its policy while another changes it, too, and signals interrupt it in the middle.
// timeout: 60
#include "realtime.h"

static int stop, quit, handled;
static sem_t posted;

static void on_signal(int s) {
  EXPECT_EQ(s, SIGUSR1);
  ADD(handled, 1);
  if (LOAD(handled) & 1) OK(sem_post(&posted));
}
static void* naps_on(void* a) {
  while (!LOAD(quit)) usleep(100);
  return a;
}
static void* toggles(void* a) {
  while (!LOAD(stop)) {
    set_policy(pthread_self(), SCHED_FIFO, 5);
    set_policy(pthread_self(), SCHED_OTHER, 0);
  }
  while (LOAD(stop) != 2) usleep(1000);
  int policy, priority, real = 0;
  struct sched_param p;
  OK(pthread_getschedparam(pthread_self(), &policy, &p));
  EXPECT_EQ(policy, SCHED_OTHER);
  EXPECT_EQ(p.sched_priority, 0);
  for (int i = 0; i < 20; i++) {  // another may lend its kernel thread a priority for a moment
    usleep(1000);
    real += kernel_policy(&priority) != SCHED_OTHER;
  }
  EXPECT_LE(real, 10);
  return a;
}

int main(void) {
  OK(sem_init(&posted, 0, 0));
  OK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL));
  pthread_t others[3], t;
  for (int i = 0; i < 3; i++) others[i] = start(naps_on, NULL);
  t = start(toggles, NULL);
  int64_t end = now_ns() + 700 * MS;
  for (unsigned k = 0; now_ns() < end; k++) {
    if (k & 1) set_policy(t, SCHED_OTHER, 0);
    else set_policy(t, SCHED_FIFO, 7);
    OK(pthread_kill(t, SIGUSR1));
    usleep(50);
  }
  STORE(stop, 1);
  usleep(20000);
  set_policy(t, SCHED_OTHER, 0);
  STORE(stop, 2);
  join(t);
  STORE(quit, 1);
  for (int i = 0; i < 3; i++) join(others[i]);
  EXPECT_GE(LOAD(handled), 1);
  return 0;
}
