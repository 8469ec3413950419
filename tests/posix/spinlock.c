// posix/spinlock.c -- spin locks exclude, and a spinner waiting for a holder that is not running does not stop it from running again.
// timeout: 30
#include "expect.h"

static pthread_spinlock_t s;
static long counter;
static void* counts(void* a) {
  for (int i = 0; i < 5000; i++) {
    OK(pthread_spin_lock(&s));
    counter++;
    OK(pthread_spin_unlock(&s));
  }
  return a;
}
static int holding;
static void* holds_asleep(void* a) {
  OK(pthread_spin_lock(&s));
  STORE(holding, 1);
  sleep_ms(30);
  sched_yield();
  OK(pthread_spin_unlock(&s));
  return a;
}
static void* spins(void* a) {
  OK(pthread_spin_lock(&s));
  counter++;
  OK(pthread_spin_unlock(&s));
  return a;
}
// A spin lock of the program's own, which no library sees.
static volatile int own;
static void* own_holds(void* a) {
  while (__atomic_exchange_n(&own, 1, __ATOMIC_ACQUIRE)) {
  }
  STORE(holding, 1);
  sleep_ms(30);
  __atomic_store_n(&own, 0, __ATOMIC_RELEASE);
  return a;
}
static void* own_spins(void* a) {
  while (__atomic_exchange_n(&own, 1, __ATOMIC_ACQUIRE)) {
  }
  counter++;
  __atomic_store_n(&own, 0, __ATOMIC_RELEASE);
  return a;
}

int main(void) {
  watchdog(25);
  OK(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE));
  pthread_t t[8];
  for (int i = 0; i < 8; i++) t[i] = start(counts, NULL);
  for (int i = 0; i < 8; i++) join(t[i]);
  EXPECT_EQ(counter, 40000);

  OK(pthread_spin_lock(&s));
  EXPECT_EQ(pthread_spin_trylock(&s), EBUSY);
  OK(pthread_spin_unlock(&s));
  OK(pthread_spin_trylock(&s));
  OK(pthread_spin_unlock(&s));

  for (int own_lock = 0; own_lock < 2; own_lock++)
    for (int r = 0; r < 3; r++) {
      counter = holding = 0;
      pthread_t h = start(own_lock ? own_holds : holds_asleep, NULL);
      WAIT_UNTIL(LOAD(holding));
      for (int i = 0; i < 4; i++) t[i] = start(own_lock ? own_spins : spins, NULL);
      join(h);
      for (int i = 0; i < 4; i++) join(t[i]);
      EXPECT_EQ(counter, 4);
    }
  OK(pthread_spin_destroy(&s));
  return 0;
}
