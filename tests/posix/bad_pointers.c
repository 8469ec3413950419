// posix/bad_pointers.c -- calls about threads, signals and time answer EFAULT for memory that is not there, in every thread; what ends at a page's end is taken.
#include "expect.h"
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define BAD ((void*)16)
#define FAULTS(call) (errno = 0, EXPECT_EQ((long)(call), -1), EXPECT_EQ(errno, EFAULT))
static char* page;  // one page, and nothing to read after it

static void names(void) {
  char buf[16], *end = page + 4096;
  FAULTS(prctl(PR_GET_NAME, BAD));
  FAULTS(prctl(PR_SET_NAME, BAD));
  memcpy(end - 4, "abc", 4);
  OK(prctl(PR_SET_NAME, end - 4));
  OK(prctl(PR_GET_NAME, buf));
  EXPECT(strcmp(buf, "abc") == 0);
  memset(end - 15, 'x', 15);
  OK(prctl(PR_SET_NAME, end - 15));
  FAULTS(prctl(PR_SET_NAME, end - 4));
  FAULTS(prctl(PR_GET_NAME, end - 4));
  OK(prctl(PR_GET_NAME, end - 16));
  EXPECT(strcmp(end - 16, "xxxxxxxxxxxxxxx") == 0);
}
static void policies(void) {
  int* last = (int*)(page + 4096 - 4);
  *last = 77;
  FAULTS(sched_getparam(0, BAD));
  FAULTS(sched_setparam(0, BAD));
  FAULTS(sched_setscheduler(0, SCHED_OTHER, BAD));
  FAULTS(syscall(SYS_sched_getparam, 0, BAD));
  FAULTS(syscall(SYS_sched_setparam, 0, BAD));
  FAULTS(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, BAD));
  OK(sched_getparam(0, (struct sched_param*)last));
  EXPECT_EQ(*last, 0);
  OK(sched_setparam(0, (struct sched_param*)last));
  EXPECT_EQ(syscall(SYS_sched_getparam, 0, NULL), -1);
  EXPECT_EQ(errno, EINVAL);
  FAULTS(sched_setaffinity(0, 8, BAD));
  FAULTS(sched_getaffinity(0, 128, BAD));
  FAULTS(sched_rr_get_interval(0, BAD));
}
static void masks(void) {
  struct timespec none = {0, 0};
  uint64_t* last = (uint64_t*)(page + 4096 - 8);
  sigset_t set;
  sigemptyset(&set);
  FAULTS(syscall(SYS_rt_sigaction, SIGUSR1, BAD, NULL, 8));
  FAULTS(syscall(SYS_rt_sigaction, SIGUSR1, NULL, BAD, 8));
  FAULTS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, BAD, NULL, 8));
  FAULTS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, BAD, 8));
  FAULTS(sigprocmask(SIG_BLOCK, NULL, BAD));
  *last = 0;
  OK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, last, last, 8));
  FAULTS(sigaltstack(BAD, NULL));
  FAULTS(sigaltstack(NULL, BAD));
  FAULTS(sigpending(BAD));
  FAULTS(sigtimedwait(BAD, NULL, &none));
  FAULTS(sigtimedwait(&set, NULL, BAD));
  FAULTS(sigsuspend(BAD));
  FAULTS(syscall(SYS_rt_sigtimedwait, BAD, NULL, &none, 8));
  FAULTS(syscall(SYS_rt_sigsuspend, BAD, 8));
  FAULTS(syscall(SYS_rt_sigpending, BAD, 8));
  FAULTS(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR1, BAD));
  FAULTS(syscall(SYS_get_robust_list, 0, BAD, BAD));
}
static void times(void) {
  timer_t t;
  struct timespec* last = (struct timespec*)(page + 4096) - 1;
  *last = (struct timespec){0, 1000};
  FAULTS(nanosleep(BAD, NULL));
  OK(nanosleep(last, last));
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, BAD, NULL), EFAULT);
  EXPECT_EQ(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, BAD, NULL), EFAULT);
  FAULTS(clock_gettime(CLOCK_THREAD_CPUTIME_ID, BAD));
  OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, last));
  FAULTS(getrusage(RUSAGE_THREAD, BAD));
  FAULTS(syscall(SYS_timer_create, CLOCK_MONOTONIC, BAD, &t));
  FAULTS(syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, NULL, BAD));
}
static void* all(void* a) {
  names();
  policies();
  masks();
  times();
  return a;
}

int main(void) {
  page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(page != MAP_FAILED);
  OK(mprotect(page + 4096, 4096, PROT_NONE));
  pthread_t t;
  OK(pthread_create(&t, NULL, all, NULL));
  OK(pthread_join(t, NULL));
  all(NULL);
  return 0;
}
