// posix/old_symbols.c -- names and symbol versions that only programs linked long ago ask for mean what they meant, for every thread.
// timeout: 30
#include "expect.h"
#ifndef __x86_64__
int main(void) { skip("the versions are those of x86-64"); }
#else

#define OLD(version, type, name, ...) \
  extern type old_##name(__VA_ARGS__); \
  __asm__(".symver old_" #name ", " #name "@" version)
OLD("GLIBC_2.2.5", int, pthread_yield, void);
OLD("GLIBC_2.2.5", int, pthread_create, pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
OLD("GLIBC_2.2.5", int, pthread_join, pthread_t, void**);
OLD("GLIBC_2.2.5", int, pthread_cond_init, pthread_cond_t*, const pthread_condattr_t*);
OLD("GLIBC_2.2.5", int, pthread_cond_wait, pthread_cond_t*, pthread_mutex_t*);
OLD("GLIBC_2.2.5", int, pthread_cond_timedwait, pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
OLD("GLIBC_2.2.5", int, pthread_cond_signal, pthread_cond_t*);
OLD("GLIBC_2.2.5", int, pthread_cond_broadcast, pthread_cond_t*);
OLD("GLIBC_2.2.5", int, pthread_cond_destroy, pthread_cond_t*);
OLD("GLIBC_2.2.5", int, __pthread_mutex_init, pthread_mutex_t*, const pthread_mutexattr_t*);
OLD("GLIBC_2.2.5", int, __pthread_mutex_lock, pthread_mutex_t*);
OLD("GLIBC_2.2.5", int, __pthread_mutex_trylock, pthread_mutex_t*);
OLD("GLIBC_2.2.5", int, __pthread_mutex_unlock, pthread_mutex_t*);
OLD("GLIBC_2.2.5", int, __pthread_mutex_destroy, pthread_mutex_t*);
OLD("GLIBC_2.2.5", int, __pthread_mutexattr_init, pthread_mutexattr_t*);
OLD("GLIBC_2.2.5", int, __pthread_mutexattr_settype, pthread_mutexattr_t*, int);
OLD("GLIBC_2.2.5", int, __pthread_mutexattr_destroy, pthread_mutexattr_t*);
OLD("GLIBC_2.2.5", int, pthread_mutexattr_setkind_np, pthread_mutexattr_t*, int);
OLD("GLIBC_2.2.5", int, pthread_mutexattr_getkind_np, const pthread_mutexattr_t*, int*);
OLD("GLIBC_2.4", int, pthread_mutexattr_setrobust_np, pthread_mutexattr_t*, int);
OLD("GLIBC_2.4", int, pthread_mutexattr_getrobust_np, pthread_mutexattr_t*, int*);
OLD("GLIBC_2.4", int, pthread_mutex_consistent_np, pthread_mutex_t*);
OLD("GLIBC_2.2.5", int, __pthread_rwlock_init, pthread_rwlock_t*, const pthread_rwlockattr_t*);
OLD("GLIBC_2.2.5", int, __pthread_rwlock_rdlock, pthread_rwlock_t*);
OLD("GLIBC_2.2.5", int, __pthread_rwlock_tryrdlock, pthread_rwlock_t*);
OLD("GLIBC_2.2.5", int, __pthread_rwlock_wrlock, pthread_rwlock_t*);
OLD("GLIBC_2.2.5", int, __pthread_rwlock_trywrlock, pthread_rwlock_t*);
OLD("GLIBC_2.2.5", int, __pthread_rwlock_unlock, pthread_rwlock_t*);
OLD("GLIBC_2.2.5", int, __pthread_rwlock_destroy, pthread_rwlock_t*);
OLD("GLIBC_2.2.5", int, __pthread_once, pthread_once_t*, void (*)(void));
OLD("GLIBC_2.2.5", int, __pthread_key_create, pthread_key_t*, void (*)(void*));
OLD("GLIBC_2.2.5", void*, __pthread_getspecific, pthread_key_t);
OLD("GLIBC_2.2.5", int, __pthread_setspecific, pthread_key_t, const void*);
OLD("GLIBC_2.2.5", int, sem_init, sem_t*, int, unsigned);
OLD("GLIBC_2.2.5", int, sem_wait, sem_t*);
OLD("GLIBC_2.2.5", int, sem_post, sem_t*);
OLD("GLIBC_2.2.5", void, pthread_kill_other_threads_np, void);
OLD("GLIBC_2.2.5", int, __sched_getscheduler, pid_t);
OLD("GLIBC_2.2.5", int, __sched_setscheduler, pid_t, int, const struct sched_param*);
OLD("GLIBC_2.2.5", int, __sched_getparam, pid_t, struct sched_param*);
struct old_cleanup { void (*f)(void*); void* arg; int type; struct old_cleanup* prev; };
OLD("GLIBC_2.2.5", void, _pthread_cleanup_push, struct old_cleanup*, void (*)(void*), void*);
OLD("GLIBC_2.2.5", void, _pthread_cleanup_pop, struct old_cleanup*, int);
OLD("GLIBC_2.2.5", void, _pthread_cleanup_push_defer, struct old_cleanup*, void (*)(void*), void*);
OLD("GLIBC_2.2.5", void, _pthread_cleanup_pop_restore, struct old_cleanup*, int);

static pthread_mutex_t m;
static pthread_rwlock_t rw;
static pthread_cond_t c;  // zeros, as old programs have it
static sem_t s;
static pthread_key_t key;
static pthread_once_t once;
static int turn, once_ran, ended;
static long counter;
static void once_body(void) { ADD(once_ran, 1); }
static void end(void* a) { ADD(ended, a != NULL); }

static void* plays(void* a) {
  int me = (int)(intptr_t)a;
  EXPECT(old___pthread_getspecific(key) == NULL);
  OK(old___pthread_setspecific(key, num(me + 1)));
  OK(old___pthread_once(&once, once_body));
  EXPECT_EQ(LOAD(once_ran), 1);
  for (int i = 0; i < 300; i++) {
    OK(old___pthread_mutex_lock(&m));
    while (turn != me) OK(old_pthread_cond_wait(&c, &m));
    turn = !me;
    OK(i & 1 ? old_pthread_cond_signal(&c) : old_pthread_cond_broadcast(&c));
    OK(old___pthread_mutex_unlock(&m));
    OK(i & 1 ? old___pthread_rwlock_wrlock(&rw) : old___pthread_rwlock_rdlock(&rw));
    counter += i & 1;
    EXPECT_EQ(i & 1 ? old___pthread_rwlock_tryrdlock(&rw) : old___pthread_rwlock_trywrlock(&rw), EBUSY);
    OK(old___pthread_rwlock_unlock(&rw));
    if (i % 32 == 0) old_pthread_yield();
  }
  OK(old_sem_post(&s));
  EXPECT_EQ(old___pthread_getspecific(key), me + 1);
  return a;
}

// A spinner that gives its turn away by the old name lets the one it waits for run.
static int flag;
static void* sets(void* a) {
  STORE(flag, 1);
  return a;
}
static void* yields(void* a) {
  pthread_t t = start(sets, NULL);
  while (!LOAD(flag)) OK(old_pthread_yield());
  join(t);
  struct sched_param p = {.sched_priority = -1};
  EXPECT_EQ(old___sched_getscheduler(gettid()), SCHED_OTHER);
  OK(old___sched_setscheduler(gettid(), SCHED_BATCH, &(struct sched_param){0}));
  EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  OK(old___sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0}));
  OK(old___sched_getparam(gettid(), &p));
  EXPECT_EQ(p.sched_priority, 0);
  return a;
}

// Cleanups of programs from before exceptions: found by the unwinding, in order.
static char order[8];
static int n;
static void note(void* a) { order[n++] = (char)(intptr_t)a; }
static void* cleans(void* a) {
  struct old_cleanup x, y, z;
  old__pthread_cleanup_push(&x, note, num('a'));
  old__pthread_cleanup_push_defer(&y, note, num('b'));
  old__pthread_cleanup_push(&z, note, num('c'));
  old__pthread_cleanup_pop(&z, 1);
  old__pthread_cleanup_pop_restore(&y, 0);
  old__pthread_cleanup_push_defer(&y, note, num('d'));
  if (a) pthread_exit(a);
  for (;;) sleep_ms(1000);
}

int main(void) {
  watchdog(25);
  pthread_mutexattr_t a;
  OK(old___pthread_mutexattr_init(&a));
  OK(old_pthread_mutexattr_setkind_np(&a, PTHREAD_MUTEX_ERRORCHECK));
  int v = -1;
  OK(old_pthread_mutexattr_getkind_np(&a, &v));
  EXPECT_EQ(v, PTHREAD_MUTEX_ERRORCHECK);
  OK(old___pthread_mutex_init(&m, &a));
  OK(old___pthread_rwlock_init(&rw, NULL));
  OK(old_sem_init(&s, 0, 0));
  OK(old___pthread_key_create(&key, end));
  pthread_t t[2];
  for (int r = 0; r < 3; r++) {
    for (int i = 0; i < 2; i++) OK(old_pthread_create(&t[i], NULL, plays, num(i)));
    for (int i = 0; i < 2; i++) OK(old_sem_wait(&s));
    for (int i = 0; i < 2; i++) OK(old_pthread_join(t[i], NULL));
    OK(old_pthread_cond_destroy(&c));
    OK(old_pthread_cond_init(&c, NULL));
  }
  EXPECT_EQ(counter, 3 * 2 * 150);
  EXPECT_EQ(ended, 6);
  OK(old___pthread_mutex_trylock(&m));
  EXPECT_EQ(old___pthread_mutex_lock(&m), EDEADLK);
  struct timespec lim = ts_in(CLOCK_REALTIME, 20 * MS);
  int e;
  while ((e = old_pthread_cond_timedwait(&c, &m, &lim)) == 0) {
  }
  EXPECT_EQ(e, ETIMEDOUT);
  EXPECT_EQ(old___pthread_mutex_destroy(&m), EBUSY);
  OK(old___pthread_mutex_unlock(&m));
  OK(old___pthread_mutex_destroy(&m));
  OK(old___pthread_rwlock_destroy(&rw));

  OK(old___pthread_mutexattr_settype(&a, PTHREAD_MUTEX_NORMAL));
  OK(old_pthread_mutexattr_setrobust_np(&a, PTHREAD_MUTEX_ROBUST));
  OK(old_pthread_mutexattr_getrobust_np(&a, &v));
  EXPECT_EQ(v, PTHREAD_MUTEX_ROBUST);
  OK(old___pthread_mutex_init(&m, &a));
  EXPECT_EQ(old_pthread_mutex_consistent_np(&m), EINVAL);
  OK(old___pthread_mutexattr_destroy(&a));

  for (int i = 0; i < 4; i++) join(start(yields, NULL));
  EXPECT_EQ(join(start(cleans, num(1))), 1);
  EXPECT(!strcmp(order, "cda"));
  n = 0;
  pthread_t p = start(cleans, NULL);
  OK(pthread_cancel(p));
  EXPECT(join(p) == PTHREAD_CANCELED);
  EXPECT(!strcmp(order, "cda"));
  old_pthread_kill_other_threads_np();  // does nothing: threads are of one process
  return 0;
}
#endif
