// posix/stdio_streams.c -- stdio over pipes and popen works in many threads while others run, and closed streams give their numbers back cleanly.
// timeout: 30
#include "expect.h"

static void* feeds(void* a) {
  FILE* f = (FILE*)a;
  for (int i = 0; i < 100; i++) {
    fprintf(f, "line %d\n", i);
    if (i % 10 == 0) {
      fflush(f);
      sleep_ms(1);
    }
  }
  OK(fclose(f));
  return NULL;
}
static void* lines(void* a) {
  (void)a;
  for (int r = 0; r < 3; r++) {
    int p[2];
    SYS(pipe2(p, O_CLOEXEC));
    FILE *in = fdopen(p[0], "r"), *out = fdopen(p[1], "w");
    EXPECT(in && out);
    pthread_t t = start(feeds, out);
    char b[64], want[64];
    for (int i = 0; i < 100; i++) {
      EXPECT(fgets(b, sizeof b, in) == b);
      snprintf(want, sizeof want, "line %d\n", i);
      EXPECT(!strcmp(b, want));
    }
    EXPECT(fgets(b, sizeof b, in) == NULL && feof(in));
    join(t);
    int n = fileno(in);
    OK(fclose(in));
    // The number is free again: sockets take it now.
    int v[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, v));
    (void)n;
    write_all(v[0], "x", 1);
    read_all(v[1], b, 1);
    FAILS(recv(v[1], b, 1, MSG_DONTWAIT), EAGAIN);
    close(v[0]);
    EXPECT_EQ(recv(v[1], b, 1, 0), 0);
    close(v[1]);
  }
  return NULL;
}
static void* reads_x(void* a) {
  char b = 0;
  EXPECT_EQ(read((int)(intptr_t)a, &b, 1), 1);
  return num(b);
}
// One thread only: descriptor numbers are predictable.
static void reuse(void) {
  for (int r = 0; r < 20; r++) {
    int p[2];
    SYS(pipe2(p, O_CLOEXEC));
    pthread_t t = start(reads_x, num(p[0]));  // the library has seen this number wait
    write_all(p[1], "a", 1);
    EXPECT_EQ(join(t), 'a');
    FILE* f = fdopen(p[0], "r");
    OK(fclose(f));  // closed inside libc
    int q[2];
    SYS(r & 1 ? pipe2(q, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, q));
    EXPECT_EQ(q[0], p[0]);
    t = start(reads_x, num(q[0]));
    sleep_ms(2);
    write_all(q[1], "b", 1);
    EXPECT_EQ(join(t), 'b');
    close(q[0]);
    close(q[1]);
    close(p[1]);
    FILE* c = popen("echo one; sleep 0.01; echo two", "r");
    EXPECT(c != NULL);
    char b[16];
    int n = fileno(c);
    EXPECT(fgets(b, sizeof b, c) && !strcmp(b, "one\n"));
    EXPECT(fgets(b, sizeof b, c) && !strcmp(b, "two\n"));
    EXPECT_EQ(pclose(c), 0);
    SYS(pipe2(q, O_CLOEXEC));
    EXPECT_EQ(q[0], n);
    t = start(reads_x, num(q[0]));
    sleep_ms(2);
    write_all(q[1], "c", 1);
    EXPECT_EQ(join(t), 'c');
    close(q[0]);
    close(q[1]);
  }
}
static FILE* shared;
static void* prints(void* a) {
  for (int i = 0; i < 300; i++) fprintf(shared, "%d:%0*d\n", (int)(intptr_t)a, 40, i);
  return NULL;
}

int main(void) {
  watchdog(25);
  reuse();
  pthread_t t[12];
  for (int i = 0; i < 12; i++) t[i] = start(lines, num(i));
  for (int i = 0; i < 12; i++) join(t[i]);
  // One stream, many writers: lines are whole.
  shared = tmpfile();
  EXPECT(shared != NULL);
  for (int i = 0; i < 12; i++) t[i] = start(prints, num(i));
  for (int i = 0; i < 12; i++) join(t[i]);
  rewind(shared);
  char b[128];
  int next[12] = {0}, who, what, n = 0;
  while (fgets(b, sizeof b, shared)) {
    EXPECT_EQ(sscanf(b, "%d:%d", &who, &what), 2);
    EXPECT_EQ(what, next[who]++);
    n++;
  }
  EXPECT_EQ(n, 3600);
  OK(fclose(shared));
  return 0;
}
