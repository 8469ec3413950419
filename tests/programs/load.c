// tests/programs/load.c -- closed-loop load on a server: N connections, one thread, every byte of every reply checked.
//
// What it is: each connection sends a request, waits for the whole reply, compares it with what it must be,
// sends the next one. What is asked for is a function of connection and sequence number, so a reply that is
// late, doubled or meant for another connection is seen. Always run natively: it is the ruler.
//
// usage: load PROTOCOL PORT CONNECTIONS SECONDS [DIRECTORY [PREFIX]]
//   echo                  1 to 1000 bytes, the same come back
//   memcached, redis      sets a value of 1 to 1000 bytes, then gets it, under a key of the connection's own
//   http                  fetches the files of DIRECTORY; PREFIX stands before each name ("/", or
//                         "http://127.0.0.1:8000/" through a proxy); opens a new connection when the reply asks for
//                         it, and through a proxy each time
//
// Output lines: name<TAB>value. Exit status: 0 every reply came and was right, 1 otherwise, 2 wrong usage.
//
// How latency is counted: a request belongs to the window if it was sent in it; after the window nobody
// sends, and the replies still out are waited for and counted. A starved connection so ends up in p99
// instead of dropping out of it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kRoom = 1 << 11, kReply = 1 << 20, kEvents = 256, kWarmupMs = 300, kPatienceMs = 20000, kSub = 64, kFiles = 64 };

typedef struct {
  int fd, waiting;
  uint32_t sequence;
  uint64_t sent_ns;
  size_t request, want, got;   // bytes; want is 0 while an HTTP header is not complete
  size_t header;               // http: bytes before the body
  int file, close_after;
  char* reply;
  size_t reply_room;
  char out[kRoom], expected[kRoom];
} Connection;

typedef struct { char name[64]; char* data; size_t size; } File;

static enum { kEcho, kMemcached, kRedis, kHttp } protocol;
static File files[kFiles];
static int n_files, port, n_connections, epoll_fd, out_now;
static const char* prefix = "/";
static Connection* all;
static uint64_t begin_ns, end_ns, replies, bytes, samples, histogram[64 * kSub];

static void fail(const char* format, ...) {
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
static void add_sample(uint64_t ns) {
  int octave = ns < kSub ? 0 : 63 - __builtin_clzll(ns) - 5;
  histogram[octave * kSub + (int)(octave ? (ns >> (octave - 1)) % kSub : ns)]++;
  samples++;
}

static double quantile_us(double q) {
  uint64_t want = (uint64_t)(q * (double)samples), seen = 0;
  for (int i = 0; i < 64 * kSub; i++) {
    seen += histogram[i];
    int octave = i / kSub, step = i % kSub;
    if (seen > want) return (double)(octave ? (uint64_t)(kSub + step) << (octave - 1) : (uint64_t)step) / 1e3;
  }
  return 0;
}

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u + 1;
  return x ^ x >> 29;
}

// Letters only: the value must not look like the end of a protocol line.
static size_t make_value(char* out, int id, uint32_t sequence) {
  uint64_t x = mix((uint64_t)(id + 1) << 32 | sequence);
  size_t n = 1 + x % 1000;
  for (size_t i = 0; i < n; i++) {
    if (i % 8 == 0) x = mix(x + i);
    out[i] = (char)('a' + (x >> i % 8 * 8 & 15));
  }
  return n;
}

static void make_request(Connection* c, int id) {
  char value[kRoom];
  uint32_t pair = c->sequence / 2 * 2;   // a get asks for what the set before it wrote
  int get = c->sequence % 2;
  size_t n = make_value(value, id, protocol == kEcho ? c->sequence : pair);
  c->got = c->header = 0;
  switch (protocol) {
    case kEcho:
      memcpy(c->out, value, n);
      memcpy(c->expected, value, n);
      c->request = c->want = n;
      break;
    case kMemcached:
      if (get) {
        c->request = (size_t)sprintf(c->out, "get key-%d\r\n", id);
        c->want = (size_t)sprintf(c->expected, "VALUE key-%d %d %zu\r\n%.*s\r\nEND\r\n", id, id, n, (int)n, value);
      } else {
        c->request = (size_t)sprintf(c->out, "set key-%d %d 0 %zu\r\n%.*s\r\n", id, id, n, (int)n, value);
        c->want = (size_t)sprintf(c->expected, "STORED\r\n");
      }
      break;
    case kRedis: {
      char key[32];
      int k = sprintf(key, "key-%d", id);
      if (get) {
        c->request = (size_t)sprintf(c->out, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", k, key);
        c->want = (size_t)sprintf(c->expected, "$%zu\r\n%.*s\r\n", n, (int)n, value);
      } else {
        c->request = (size_t)sprintf(c->out, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%zu\r\n%.*s\r\n", k, key, n, (int)n, value);
        c->want = (size_t)sprintf(c->expected, "+OK\r\n");
      }
      break;
    }
    case kHttp:
      c->file = (int)(mix((uint64_t)(id + 1) << 32 | c->sequence) % (uint64_t)n_files);
      c->request = (size_t)sprintf(c->out, "GET %s%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", prefix, files[c->file].name,
                                   prefix[1] ? "Connection: close\r\n" : "");
      c->want = 0;
      break;
  }
}

static void open_socket(Connection* c, int id) {
  int one = 1;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (c->fd < 0) fail("socket: %s", strerror(errno));
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(c->fd, (struct sockaddr*)&to, sizeof to)) fail("connection %d: connect: %s", id, strerror(errno));
  fcntl(c->fd, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)id};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &event)) fail("epoll_ctl: %s", strerror(errno));
}

static void send_next(Connection* c) {
  int id = (int)(c - all);
  c->sequence++;
  c->sent_ns = now_ns();
  if (c->fd < 0) open_socket(c, id);
  make_request(c, id);
  ssize_t n = write(c->fd, c->out, c->request);
  if (n != (ssize_t)c->request) fail("connection %d: write: %s", id, n < 0 ? strerror(errno) : "short");
  c->waiting = 1;
  out_now++;
}

// The end of an HTTP header: sizes and whether the connection goes on. Returns 0 when it is not complete.
static int parse_header(Connection* c, int id) {
  c->reply[c->got] = 0;
  char* end = strstr(c->reply, "\r\n\r\n");
  if (!end) return 0;
  end[2] = 0;
  int version = 0, status = 0;
  if (sscanf(c->reply, "HTTP/1.%d %d", &version, &status) != 2 || status != 200)
    fail("connection %d: not a good reply: %.*s", id, 200, c->reply);
  char* length = strcasestr(c->reply, "\r\nContent-Length:");
  char* closing = strcasestr(c->reply, "\r\nConnection: close");
  c->close_after = prefix[1] || closing != NULL || (version == 0 && !strcasestr(c->reply, "\r\nConnection: keep-alive"));
  size_t size = files[c->file].size;
  if (length ? strtoull(length + 17, NULL, 10) != size : !c->close_after) fail("connection %d: wrong Content-Length", id);
  end[2] = '\r';
  c->header = (size_t)(end + 4 - c->reply);
  c->want = c->header + size;
  return 1;
}

// Returns 1 when the reply is complete and right, 0 when more is to come.
static int receive(Connection* c) {
  int id = (int)(c - all);
  ssize_t n = read(c->fd, c->reply + c->got, c->reply_room - 1 - c->got);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n < 0) fail("connection %d: read: %s", id, strerror(errno));
  if (n == 0) fail("connection %d, request %u: closed by the server after %zu of %zu bytes", id, c->sequence, c->got, c->want);
  c->got += (size_t)n;
  if (!c->waiting) fail("connection %d: bytes came that nobody asked for", id);
  if (c->want == 0 && !parse_header(c, id)) return 0;
  if (c->got > c->want) fail("connection %d, request %u: surplus bytes", id, c->sequence);
  if (c->got < c->want) return 0;
  const char* expected = protocol == kHttp ? files[c->file].data : c->expected;
  size_t size = c->want - c->header;
  if (memcmp(c->reply + c->header, expected, size))
    for (size_t i = 0; i < size; i++)
      if (c->reply[c->header + i] != expected[i]) fail("connection %d, request %u: byte %zu is wrong", id, c->sequence, i);
  c->waiting = 0;
  out_now--;
  if (c->close_after) {
    close(c->fd);
    c->fd = -1;
    c->close_after = 0;
  }
  return 1;
}

static void pump(uint64_t until_ns, int drain) {
  struct epoll_event events[kEvents];
  for (uint64_t now = now_ns(); drain ? out_now > 0 : now < until_ns;) {
    int n = epoll_wait(epoll_fd, events, kEvents, kPatienceMs);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("epoll_wait: %s", strerror(errno));
    if (n == 0) fail("%d replies lost: nothing came for %d s", out_now, kPatienceMs / 1000);
    for (int i = 0; i < n; i++) {
      Connection* c = &all[events[i].data.u32];
      if (c->fd < 0 || !receive(c)) continue;
      now = now_ns();
      if (now >= begin_ns && now < end_ns) replies++, bytes += c->want;
      if (c->sent_ns >= begin_ns && c->sent_ns < end_ns) add_sample(now - c->sent_ns);
      if (!drain) send_next(c);
    }
    if (drain && now_ns() >= until_ns) fail("%d replies lost: waited %d s", out_now, kPatienceMs / 1000);
  }
}

static void read_files(const char* directory) {
  DIR* d = opendir(directory);
  if (!d) fail("%s: %s", directory, strerror(errno));
  for (struct dirent* e; (e = readdir(d)) && n_files < kFiles;) {
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
    if (stat(path, &st) || !S_ISREG(st.st_mode)) continue;
    File* f = &files[n_files++];
    snprintf(f->name, sizeof f->name, "%.60s", e->d_name);
    f->size = (size_t)st.st_size;
    f->data = malloc(f->size + 1);
    FILE* in = fopen(path, "r");
    if (!in || fread(f->data, 1, f->size, in) != f->size) fail("cannot read %s", path);
    fclose(in);
  }
  closedir(d);
  if (!n_files) fail("no files in %s", directory);
}

int main(int argc, char** argv) {
  static const char* const names[] = {"echo", "memcached", "redis", "http"};
  int known = 0;
  for (int i = 0; argc >= 5 && i < 4; i++)
    if (!strcmp(argv[1], names[i])) protocol = i, known = 1;
  if (!known || (protocol == kHttp && argc < 6)) {
    fputs("usage: load echo|memcached|redis|http PORT CONNECTIONS SECONDS [DIRECTORY [PREFIX]]\n", stderr);
    return 2;
  }
  port = atoi(argv[2]);
  n_connections = atoi(argv[3]);
  double seconds = atof(argv[4]);
  if (protocol == kHttp) read_files(argv[5]);
  if (argc > 6) prefix = argv[6];
  struct rlimit files_open;
  getrlimit(RLIMIT_NOFILE, &files_open);
  files_open.rlim_cur = files_open.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files_open);
  all = calloc((size_t)n_connections, sizeof *all);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (n_connections < 1 || seconds <= 0 || !all || epoll_fd < 0) fail("bad arguments or no memory");
  for (int i = 0; i < n_connections; i++) {
    all[i].reply_room = protocol == kHttp ? kReply : kRoom;
    all[i].reply = malloc(all[i].reply_room);
    all[i].sequence = 1;   // the first request is a set
    all[i].fd = -1;
  }
  begin_ns = end_ns = ~0ull;
  for (int i = 0; i < n_connections; i++) send_next(&all[i]);
  begin_ns = now_ns() + kWarmupMs * 1000000ull;
  end_ns = begin_ns + (uint64_t)(seconds * 1e9);
  pump(end_ns, 0);
  pump(now_ns() + kPatienceMs * 1000000ull, 1);
  if (!replies || !samples) fail("no reply inside the window");
  for (int i = 0; i < n_connections; i++)
    if (all[i].fd >= 0 && (read(all[i].fd, all[i].reply, 1) >= 0 || errno != EAGAIN)) fail("connection %d: surplus data or closed", i);
  printf("rate\t%.0f\n", (double)replies / seconds);
  printf("bytes\t%.0f\n", (double)bytes / seconds);
  printf("p50\t%.1f\n", quantile_us(.5));
  printf("p99\t%.1f\n", quantile_us(.99));
  return 0;
}
