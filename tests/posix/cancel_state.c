// posix/cancel_state.c -- states and types of cancellation: disabled, deferred, asynchronous; what is no cancellation point; the order of cleanups.
// timeout: 30
#include "expect.h"

static int phase, go;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t bar;

// Disabled: calls that wait finish; the request acts at the first point after enabling.
static void* disabled(void* a) {
  int p[2], old;
  SYS(pipe(p));
  OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
  EXPECT_EQ(old, PTHREAD_CANCEL_ENABLE);
  STORE(phase, 1);
  while (!LOAD(go)) sleep_ms(1);
  EXPECT_EQ(usleep(1000), 0);
  SYS(write(p[1], "x", 1));
  char x;
  EXPECT_EQ(read(p[0], &x, 1), 1);
  pthread_testcancel();
  OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
  EXPECT_EQ(old, PTHREAD_CANCEL_DISABLE);
  STORE(phase, 2);  // enabling is no point
  pthread_testcancel();
  STORE(phase, 3);
  return a;
}

// No cancellation points: the request waits until the call is done.
static void* locks(void* a) {
  switch ((intptr_t)a) {
    case 0: STORE(phase, 1); OK(pthread_mutex_lock(&m)); STORE(phase, 2); OK(pthread_mutex_unlock(&m)); break;
    case 1: STORE(phase, 1); OK(pthread_rwlock_wrlock(&rw)); STORE(phase, 2); OK(pthread_rwlock_unlock(&rw)); break;
    case 2: STORE(phase, 1); pthread_barrier_wait(&bar); STORE(phase, 2); break;
  }
  pthread_testcancel();
  STORE(phase, 3);
  return a;
}

// Asynchronous: no call needed. Also from the thread itself, and when the type is changed with a request pending.
static volatile int spin = 1;
static void* spins(void* a) {
  int old;
  OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
  EXPECT_EQ(old, PTHREAD_CANCEL_DEFERRED);
  STORE(phase, 1);
  while (spin) {
  }
  return a;
}
static void* becomes_asynchronous(void* a) {
  STORE(phase, 1);
  while (!LOAD(go)) sched_yield();
  STORE(phase, 2);
  OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
  STORE(phase, 3);
  return a;
}
static void* enables_asynchronous(void* a) {
  OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
  OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
  STORE(phase, 1);
  while (!LOAD(go)) sched_yield();
  STORE(phase, 2);
  OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
  STORE(phase, 3);
  return a;
}
static void* cancels_itself(void* a) {
  OK(pthread_cancel(pthread_self()));
  STORE(phase, 2);
  if (a) OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
  else sleep_ms(1);
  STORE(phase, 3);
  return a;
}

// Cleanups run innermost first, those popped do not, then thread-specific data, even when cleanups and destructors wait.
static char order[32];
static int n;
static pthread_key_t key;
static void note(void* a) {
  sleep_ms(1);
  pthread_testcancel();  // a thread that ends cannot be cancelled again
  order[n++] = (char)(intptr_t)a;
}
static void inner(void) {
  pthread_cleanup_push(note, num('c'));
  pthread_cleanup_push(note, num('-'));
  pthread_cleanup_pop(0);
  pthread_cleanup_push(note, num('x'));
  pthread_cleanup_pop(1);
  pthread_cleanup_push(note, num('d'));
  STORE(phase, 1);
  for (;;) pause();
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
}
static void* cleans(void* a) {
  OK(pthread_setspecific(key, num('k')));
  pthread_cleanup_push(note, num('a'));
  pthread_cleanup_push(note, num('b'));
  inner();
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return a;
}

// pthread_cleanup_push_defer_np: deferred inside, what it was before afterwards.
static void* defers(void* a) {
  int type;
  OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
  pthread_cleanup_push_defer_np(note, num('p'));
  STORE(phase, 1);
  while (!LOAD(go)) {
  }
  STORE(phase, 2);
  OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
  EXPECT_EQ(type, PTHREAD_CANCEL_DEFERRED);
  pthread_cleanup_pop_restore_np(1);  // asynchronous again, with the request pending
  for (int i = 0; i < 1000; i++) pthread_testcancel();
  STORE(phase, 3);
  return a;
}

static void cancelled_at(int want, pthread_t t) {
  EXPECT(join(t) == PTHREAD_CANCELED);
  EXPECT_EQ(phase, want);
  phase = go = 0;
}
static pthread_t ready(void* (*f)(void*), void* a) {
  pthread_t t = start(f, a);
  WAIT_UNTIL(LOAD(phase) == 1);
  return t;
}

int main(void) {
  watchdog(25);
  EXPECT_EQ(pthread_setcancelstate(99, NULL), EINVAL);
  EXPECT_EQ(pthread_setcanceltype(99, NULL), EINVAL);
  for (int r = 0; r < 20; r++) {
    pthread_t t = ready(disabled, NULL);
    OK(pthread_cancel(t));
    STORE(go, 1);
    cancelled_at(2, t);
  }

  OK(pthread_barrier_init(&bar, NULL, 2));
  OK(pthread_mutex_lock(&m));
  OK(pthread_rwlock_wrlock(&rw));
  for (int i = 0; i < 3; i++) {
    pthread_t t = ready(locks, num(i));
    sleep_ms(20);
    OK(pthread_cancel(t));
    sleep_ms(20);
    EXPECT_EQ(LOAD(phase), 1);
    EXPECT_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
    if (i == 0) OK(pthread_mutex_unlock(&m));
    if (i == 1) OK(pthread_rwlock_unlock(&rw));
    if (i == 2) pthread_barrier_wait(&bar);
    cancelled_at(2, t);
  }

  for (int r = 0; r < 20; r++) {
    pthread_t t = ready(spins, NULL);
    OK(pthread_cancel(t));
    cancelled_at(1, t);
    t = ready(becomes_asynchronous, NULL);
    OK(pthread_cancel(t));
    STORE(go, 1);
    cancelled_at(2, t);
    t = ready(enables_asynchronous, NULL);
    OK(pthread_cancel(t));
    STORE(go, 1);
    cancelled_at(2, t);
    cancelled_at(2, start(cancels_itself, num(0)));
    cancelled_at(2, start(cancels_itself, num(1)));
  }

  OK(pthread_key_create(&key, note));
  pthread_t t = ready(cleans, NULL);
  OK(pthread_cancel(t));
  sleep_ms(1);
  (void)pthread_cancel(t);
  cancelled_at(1, t);
  EXPECT(!strcmp(order, "xdcbak"));

  t = ready(defers, NULL);
  OK(pthread_cancel(t));
  sleep_ms(5);
  EXPECT_EQ(LOAD(phase), 1);
  STORE(go, 1);
  cancelled_at(2, t);

  // One that has ended and was not joined yet: no error, no effect.
  t = start(cancels_itself, num(0));
  WAIT_UNTIL(LOAD(phase) == 2);
  sleep_ms(20);
  OK(pthread_cancel(t));
  EXPECT(join(t) == PTHREAD_CANCELED);
  return 0;
}
