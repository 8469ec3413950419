// tools/demo/echo_server.c -- a plain pthread echo server: one blocking thread per connection.
//
// Nothing in here knows about libgmp: it is the textbook server people stop writing because each
// connection costs a kernel thread. usage: echo_server [port]; port 0 (the default) lets the kernel
// choose. The first line printed is "listening on PORT". It listens on 127.0.0.1 only and runs until
// a signal ends it.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what, int error) {
  fprintf(stderr, "echo_server: %s: %s\n", what, strerror(error));
  exit(1);
}

static int write_all(int fd, const char *data, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    data += n;
    size -= (size_t)n;
  }
  return 0;
}

static void *serve(void *arg) {
  int fd = (int)(intptr_t)arg;
  char buffer[4096];
  for (;;) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || write_all(fd, buffer, (size_t)n)) break;
  }
  close(fd);
  return NULL;
}

static int listen_on(int port) {
  int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) die("socket", errno);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, (struct sockaddr *)&at, sizeof at)) die("bind", errno);
  if (listen(fd, 4096)) die("listen", errno);
  socklen_t size = sizeof at;
  if (getsockname(fd, (struct sockaddr *)&at, &size)) die("getsockname", errno);
  printf("listening on %d\n", ntohs(at.sin_port));
  fflush(stdout);
  return fd;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  int listener = listen_on(argc > 1 ? atoi(argv[1]) : 0);
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (;;) {
    int one = 1, fd = accept(listener, NULL, NULL);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0) die("accept", errno);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pthread_t thread;
    int error = pthread_create(&thread, &detached, serve, (void *)(intptr_t)fd);
    if (error) die("pthread_create", error);
  }
}
