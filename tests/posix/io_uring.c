// posix/io_uring.c -- io_uring_enter by number waits for completions, the ring polls as a descriptor does, and other threads run meanwhile.
// timeout: 40
#include <linux/io_uring.h>
#include <sys/mman.h>

#include "expect.h"

static int stop, ticks;
static void* ticker(void* a) {
  while (!LOAD(stop)) {
    sleep_ms(1);
    ADD(ticks, 1);
  }
  return a;
}

static int ring;
static struct io_uring_params params;
static char *sq, *cq;
static struct io_uring_sqe* sqes;
static uint32_t* at(char* base, uint32_t off) { return (uint32_t*)(void*)(base + off); }

static void setup(void) {
  ring = (int)syscall(SYS_io_uring_setup, 8, &params);
  if (ring == -1) skip("no io_uring here");
  size_t sq_size = params.sq_off.array + params.sq_entries * 4;
  size_t cq_size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
  sq = mmap(NULL, sq_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  cq = mmap(NULL, cq_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
  sqes = mmap(NULL, params.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
  EXPECT(sq != MAP_FAILED && cq != MAP_FAILED && (void*)sqes != MAP_FAILED);
}
static void submit_read(int fd, void* buf, uint32_t n, uint64_t tag) {
  uint32_t tail = *at(sq, params.sq_off.tail), i = tail & *at(sq, params.sq_off.ring_mask);
  sqes[i] = (struct io_uring_sqe){.opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)buf, .len = n, .user_data = tag};
  at(sq, params.sq_off.array)[i] = i;
  STORE(*at(sq, params.sq_off.tail), tail + 1);
  EXPECT_EQ(syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0), 1);
}
static int completion(uint64_t tag) {
  uint32_t head = *at(cq, params.cq_off.head);
  if (head == LOAD(*at(cq, params.cq_off.tail))) return -1000;
  struct io_uring_cqe* c = &((struct io_uring_cqe*)(void*)(cq + params.cq_off.cqes))[head & *at(cq, params.cq_off.ring_mask)];
  EXPECT_EQ(c->user_data, tag);
  int r = c->res;
  STORE(*at(cq, params.cq_off.head), head + 1);
  return r;
}

static int by_poll, done;
static void* waits(void* a) {
  if (by_poll) {
    struct pollfd p = {ring, POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, -1), 1);
  } else {
    while (syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) == -1) EXPECT_EQ(errno, EINTR);
  }
  STORE(done, 1);
  return a;
}

int main(void) {
  watchdog(35);
  setup();
  pthread_t t = start(ticker, NULL);
  int p[2];
  char b[8];
  SYS(pipe(p));
  for (uint64_t i = 0; i < 10; i++) {
    by_poll = i & 1;
    done = 0;
    submit_read(p[0], b, sizeof b, i);
    pthread_t w = start(waits, NULL);
    int before = LOAD(ticks);
    WAIT_UNTIL(LOAD(ticks) > before + 10);
    EXPECT_EQ(LOAD(done), 0);
    EXPECT_EQ(completion(i), -1000);
    write_all(p[1], "ring", 4);
    join(w);
    EXPECT_EQ(completion(i), 4);
    EXPECT(!memcmp(b, "ring", 4));
  }
  // The ring and a plain read take turns on one pipe.
  submit_read(p[0], b, sizeof b, 99);
  write_all(p[1], "a", 1);
  EXPECT_GE(syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0), 0);
  EXPECT_EQ(completion(99), 1);
  write_all(p[1], "b", 1);
  read_all(p[0], b, 1);
  EXPECT_EQ(b[0], 'b');
  close(ring);
  STORE(stop, 1);
  join(t);
  return 0;
}
