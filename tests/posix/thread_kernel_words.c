// posix/thread_kernel_words.c -- get_robust_list, set_robust_list and set_tid_address by number are the thread's own, not those of a kernel thread.
// timeout: 20
#include "expect.h"
#include <linux/futex.h>
#include <stddef.h>

struct list { struct list* next; };
struct head { struct list list; long offset; struct list* pending; };
struct lock { uint32_t word; struct list link; };

static uint32_t ended, released;
static struct lock held;
static struct head mine;

static void* looks(void* a) {
  struct head *head = NULL, *again = NULL;
  size_t size = 0;
  SYS(syscall(SYS_get_robust_list, 0, &head, &size));
  EXPECT_EQ(size, sizeof *head);
  EXPECT(head != NULL && head->list.next == &head->list);
  SYS(syscall(SYS_get_robust_list, (int)gettid(), &again, &size));
  EXPECT(again == head);
  SYS(syscall(SYS_set_robust_list, head, size));
  FAILS(syscall(SYS_set_robust_list, head, size + 1), EINVAL);

  // A list of its own: the lock it ends with becomes "owner died".
  mine.list.next = &held.link;
  mine.offset = (long)offsetof(struct lock, word) - (long)offsetof(struct lock, link);
  held.link.next = &mine.list;
  STORE(held.word, (uint32_t)gettid());
  SYS(syscall(SYS_set_robust_list, &mine, sizeof mine));
  SYS(syscall(SYS_get_robust_list, 0, &head, &size));
  EXPECT(head == &mine);

  EXPECT_EQ(SYS(syscall(SYS_set_tid_address, &ended)), gettid());
  return a;
}

// Nobody can join it any more, natively: the word that join waits for is another now.
static void a_detached_thread(void) {
  STORE(ended, 1);
  pthread_t t = start(looks, NULL);
  OK(pthread_detach(t));
  while (LOAD(ended)) syscall(SYS_futex, &ended, FUTEX_WAIT, 1, NULL, NULL, 0);
  EXPECT_EQ(LOAD(held.word), FUTEX_OWNER_DIED);
}

static void* gone(void* a) {
  EXPECT_EQ(SYS(syscall(SYS_set_tid_address, a)), gettid());  // the kernel does not mind
  STORE(released, 1);
  return NULL;
}

int main(void) {
  a_detached_thread();
  a_detached_thread();
  pthread_t t = start(gone, (void*)16);
  OK(pthread_detach(t));
  WAIT_UNTIL(LOAD(released));
  sleep_ms(20);
  return 0;
}
