// tools/demo/load.c -- closed-loop load on an echo server: N connections, one thread, every byte checked.
//
// What it is: each connection sends 64 bytes, waits for all 64 to come back, checks them, sends the next
// 64. The bytes are a function of connection and sequence number, so a reply that is late, doubled or
// meant for another connection is seen as a wrong byte. Always run natively: it is the ruler.
//
// usage: load PORT CONNECTIONS SECONDS [SERVER_PID]. Output lines: name<TAB>value<TAB>unit. With the
// server's pid it adds kernel threads, resident memory and CPU per request of the server. Exit status:
// 0 every reply came and was right, 1 otherwise, 2 wrong usage.
//
// How latency is counted: a request belongs to the window if it was sent in it; after the window nobody
// sends, and the replies still out are waited for and counted. A starved connection so ends up in p99
// instead of dropping out of it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kSize = 64, kEvents = 256, kWarmupMs = 500, kPatienceMs = 15000, kSub = 64 };

typedef struct {
  int fd;
  int got;            // bytes of the present reply received so far
  int waiting;        // a request is out
  uint32_t sequence;  // number of the request that is out
  uint64_t sent_ns;
  char reply[2 * kSize];  // room for more than one reply: surplus bytes must not hide
} Connection;

typedef struct {
  Connection *all;
  int count, epoll;
  int waiting;  // connections with a request out
  uint64_t begin_ns, end_ns;
  uint64_t replies;  // received inside the window
  uint64_t samples, histogram[64 * kSub];
} Load;

static void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("load: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Logarithmic histogram, kSub steps an octave: quantiles are right within 1/kSub.
static void add_sample(Load *load, uint64_t ns) {
  int octave = ns < kSub ? 0 : 63 - __builtin_clzll(ns) - 5;
  load->histogram[octave * kSub + (int)(octave ? (ns >> (octave - 1)) % kSub : ns)]++;
  load->samples++;
}

static double quantile_us(const Load *load, double q) {
  uint64_t want = (uint64_t)(q * (double)load->samples), seen = 0;
  for (int i = 0; i < 64 * kSub; i++) {
    seen += load->histogram[i];
    int octave = i / kSub, step = i % kSub;
    if (seen > want) return (double)(octave ? (uint64_t)(kSub + step) << (octave - 1) : (uint64_t)step) / 1e3;
  }
  return 0;
}

static void make_message(char *out, int connection, uint32_t sequence) {
  uint64_t x = (uint64_t)(connection + 1) << 32 | sequence;
  for (int i = 0; i < kSize; i += 8) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u + 1;
    memcpy(out + i, &x, 8);
  }
}

static void send_next(Load *load, Connection *c) {
  char message[kSize];
  make_message(message, (int)(c - load->all), ++c->sequence);
  c->sent_ns = now_ns();
  ssize_t n = write(c->fd, message, kSize);
  if (n != kSize) fail("connection %d: write: %s", (int)(c - load->all), n < 0 ? strerror(errno) : "short");
  c->got = 0;
  c->waiting = 1;
  load->waiting++;
}

// Returns 1 when the reply is complete and right, 0 when more is to come.
static int receive(Load *load, Connection *c) {
  int id = (int)(c - load->all);
  ssize_t n = read(c->fd, c->reply + c->got, sizeof c->reply - (size_t)c->got);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n < 0) fail("connection %d: read: %s", id, strerror(errno));
  if (n == 0) fail("connection %d: closed by the server", id);
  c->got += (int)n;
  if (!c->waiting || c->got > kSize) fail("connection %d: more bytes came back than were sent", id);
  if (c->got < kSize) return 0;
  char expected[kSize];
  make_message(expected, id, c->sequence);
  for (int i = 0; i < kSize; i++)
    if (c->reply[i] != expected[i]) fail("connection %d, request %u: byte %d is wrong", id, c->sequence, i);
  c->waiting = 0;
  load->waiting--;
  return 1;
}

// One blocking echo at the start: the connection's thread is really there before the clock runs.
static void open_connection(Load *load, int port, int id) {
  Connection *c = &load->all[id];
  int one = 1;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  struct timeval patience = {.tv_sec = kPatienceMs / 1000};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (c->fd < 0) fail("socket: %s", strerror(errno));
  setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(c->fd, (struct sockaddr *)&to, sizeof to)) fail("connection %d: connect: %s", id, strerror(errno));
  send_next(load, c);
  uint64_t limit = now_ns() + kPatienceMs * 1000000ull;
  while (!receive(load, c))
    if (now_ns() >= limit) fail("connection %d: no reply to the first message", id);
  fcntl(c->fd, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)id};
  if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->fd, &event)) fail("epoll_ctl: %s", strerror(errno));
}

static double server_cpu_s(int pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *f = fopen(path, "r");
  if (!f) fail("the server (pid %d) is gone", pid);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  unsigned long user = 0, system = 0;
  char *after_name = strrchr(text, ')');
  if (!after_name || sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
    fail("cannot read %s", path);
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void report_server(int pid) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  int threads = 0;
  DIR *tasks = opendir(path);
  if (!tasks) fail("the server (pid %d) is gone", pid);
  for (struct dirent *entry; (entry = readdir(tasks));) threads += entry->d_name[0] != '.';
  closedir(tasks);
  printf("threads\t%d\tkernel threads\n", threads);
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *f = fopen(path, "r");
  if (!f) fail("the server (pid %d) is gone", pid);
  while (fgets(line, sizeof line, f))
    if (!strncmp(line, "VmRSS:", 6)) printf("rss\t%.1f\tMB\n", atof(line + 6) / 1024);
  fclose(f);
}

// Receives replies until `until_ns`, or, with `drain`, until none is out. Sends the next request unless
// draining.
static void pump(Load *load, uint64_t until_ns, int drain) {
  struct epoll_event events[kEvents];
  for (uint64_t now = now_ns(); drain ? load->waiting > 0 : now < until_ns;) {
    int n = epoll_wait(load->epoll, events, kEvents, kPatienceMs);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("epoll_wait: %s", strerror(errno));
    if (n == 0) fail("%d replies lost: nothing came for %d s", load->waiting, kPatienceMs / 1000);
    for (int i = 0; i < n; i++) {
      Connection *c = &load->all[events[i].data.u32];
      if (!receive(load, c)) continue;
      now = now_ns();
      if (now >= load->begin_ns && now < load->end_ns) load->replies++;
      if (c->sent_ns >= load->begin_ns && c->sent_ns < load->end_ns) add_sample(load, now - c->sent_ns);
      if (!drain) send_next(load, c);
    }
    if (drain && now_ns() >= until_ns) fail("%d replies lost: waited %d s", load->waiting, kPatienceMs / 1000);
  }
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fputs("usage: load PORT CONNECTIONS SECONDS [SERVER_PID]\n", stderr);
    return 2;
  }
  int port = atoi(argv[1]), pid = argc > 4 ? atoi(argv[4]) : 0;
  double seconds = atof(argv[3]);
  static Load load;
  load.count = atoi(argv[2]);
  load.all = calloc((size_t)load.count, sizeof *load.all);
  load.epoll = epoll_create1(EPOLL_CLOEXEC);
  if (load.count < 1 || seconds <= 0 || !load.all || load.epoll < 0) fail("bad arguments or no memory");

  uint64_t start = now_ns();
  for (int i = 0; i < load.count; i++) open_connection(&load, port, i);
  double connect_us = (double)(now_ns() - start) / 1e3 / load.count;

  load.begin_ns = now_ns() + kWarmupMs * 1000000ull;
  load.end_ns = load.begin_ns + (uint64_t)(seconds * 1e9);
  for (int i = 0; i < load.count; i++) send_next(&load, &load.all[i]);
  pump(&load, load.begin_ns, 0);
  double cpu = pid ? server_cpu_s(pid) : 0;
  pump(&load, load.end_ns, 0);
  if (pid) cpu = server_cpu_s(pid) - cpu;

  if (pid) report_server(pid);  // while all connections are still there
  pump(&load, now_ns() + kPatienceMs * 1000000ull, 1);
  if (!load.replies || !load.samples) fail("no reply inside the window");
  for (int i = 0; i < load.count; i++) {
    if (read(load.all[i].fd, load.all[i].reply, 1) >= 0 || errno != EAGAIN) fail("connection %d: surplus data or closed", i);
    close(load.all[i].fd);
  }
  printf("rps\t%.0f\trequests/s\n", (double)load.replies / seconds);
  printf("p50\t%.0f\tus\n", quantile_us(&load, .5));
  printf("p99\t%.0f\tus\n", quantile_us(&load, .99));
  if (pid) printf("cpu\t%.2f\tus/request\n", cpu * 1e6 / (double)load.replies);
  printf("connect\t%.1f\tus/connection\n", connect_us);
  printf("replies\t%llu\tall checked\n", (unsigned long long)load.samples);
  return 0;
}
