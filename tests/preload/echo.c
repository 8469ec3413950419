// preload/echo.c -- the programs of syscall_cost.sh and echo_many.sh: a server with a thread for each connection, an accept loop, their client.
//
//     echo server echo | accept CONNECTIONS    prints its port, ends after so many
//     echo server daemon CONNECTIONS           the same as echo, in a process that was forked and forks
//     echo server main CONNECTIONS             the same as echo, but main serves: it listens before there are threads
//     echo server pipe MESSAGES                a ping-pong between two threads
//     echo client PORT CONNECTIONS REQUESTS [PAUSE_US]
//                                              each connection asks REQUESTS times, all of them at once each time;
//                                              every reply has to come, and to be its own
#include "expect.h"

enum { SIZE = 64 };

static void* echo(void* arg) {
  int s = (int)(intptr_t)arg;
  char b[4096];
  ssize_t n;
  while ((n = SYS(read(s, b, sizeof b))) > 0) EXPECT_EQ(write(s, b, (size_t)n), n);
  close(s);
  return NULL;
}

static int echoes, connections;
static void* server(void* arg) {
  if (arg) {  // with threads, and before the first connection
    pid_t pid = (pid_t)SYS(fork());
    if (pid == 0) _exit(0);
    reap_ok(pid);
  }
  int l = tcp_listen(4096);
  printf("%d\n", ntohs(name_of(l).sin_port));
  fflush(stdout);
  pthread_t* t = malloc((size_t)connections * sizeof *t);
  for (int i = 0; i < connections; i++) {
    int s = (int)SYS(accept(l, NULL, NULL));
    if (echoes) t[i] = start(echo, num(s));
    else close(s);
  }
  if (echoes)
    for (int i = 0; i < connections; i++) join(t[i]);
  free(t);
  return arg;
}

static int ping[2], pong[2];
static void* answers(void* arg) {
  char b[4096];
  ssize_t n;
  while ((n = SYS(read(ping[0], b, sizeof b))) > 0) EXPECT_EQ(write(pong[1], b, (size_t)n), n);
  return NULL;
}
static void pipes(int messages) {
  SYS(pipe(ping));
  SYS(pipe(pong));
  pthread_t t = start(answers, NULL);
  char b[4096] = {0};
  for (int i = 0; i < messages; i++) {
    EXPECT_EQ(write(ping[1], b, SIZE), SIZE);
    EXPECT_EQ(read(pong[0], b, sizeof b), SIZE);
  }
  close(ping[1]);
  join(t);
}

static const char* request(char* b, int connection, int round) {
  memset(b, 0, SIZE);
  snprintf(b, SIZE, "request %d of connection %d", round, connection);
  return b;
}
static void client(int port, int requests, int pause_us) {
  int* s = malloc((size_t)connections * sizeof *s);
  char b[SIZE], in[SIZE];
  for (int i = 0; i < connections; i++) {
    s[i] = (int)SYS(socket(AF_INET, SOCK_STREAM, 0));
    struct sockaddr_in a = loopback(htons((in_port_t)port));
    SYS(connect(s[i], (struct sockaddr*)&a, sizeof a));
    if (pause_us) usleep((useconds_t)pause_us);
  }
  for (int r = 0; r < requests; r++) {
    for (int i = 0; i < connections; i++) EXPECT_EQ(write(s[i], request(b, i, r), SIZE), SIZE);
    for (int i = 0; i < connections; i++) {
      read_all(s[i], in, SIZE);
      EXPECT(!memcmp(in, request(b, i, r), SIZE));
    }
  }
  for (int i = 0; i < connections; i++) {
    shutdown(s[i], SHUT_WR);
    EXPECT_LE(read(s[i], in, 1), 0);
    close(s[i]);
  }
  free(s);
}

int main(int argc, char** argv) {
  watchdog(110);
  EXPECT(argc >= 4);
  connections = atoi(argv[3]);
  echoes = strcmp(argv[2], "accept") != 0;
  int as_daemon = !strcmp(argv[2], "daemon");
  if (as_daemon) {
    pid_t pid = (pid_t)SYS(fork());
    if (pid > 0) {
      reap_ok(pid);
      return 0;
    }
  }
  if (!strcmp(argv[1], "client")) client(atoi(argv[2]), argc > 4 ? atoi(argv[4]) : 0, argc > 5 ? atoi(argv[5]) : 0);
  else if (!strcmp(argv[2], "pipe")) pipes(connections);
  else if (!strcmp(argv[2], "main")) server(NULL);  // listens, and accepts its first connection, before there is a thread
  else join(start(server, num(as_daemon)));
  return 0;
}
