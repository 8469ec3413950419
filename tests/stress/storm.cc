// stress/storm.cc -- many short-lived threads do random things to each other and check every result; a second process watches for standstill.
//
//     storm [seed [seconds [actors]]]
//
// Every thread draws from a generator seeded by (seed, its number): a run is repeatable up to timing.
// flags: -std=c++17
// timeout: 90
#include <memory>
#include "storm_actions.h"

// ---- the threads ----

static void act(Rng* r) {
  static const struct {
    void (*f)(Rng*);
    int weight;
  } table[] = {{do_mutex, 30}, {do_queue, 14}, {do_rwlock, 14}, {do_sem, 10},   {do_sleep, 6},
               {do_spin, 6},   {do_talk, 5},   {do_pipe, 4},    {do_packet, 8}, {do_poll, 4},
               {do_create, 5}, {do_meet, 3},   {do_malloc, 8},  {do_throw, 6},  {do_local, 8},
               {do_fork, 1},   {[](Rng*) { sched_yield(); }, 8}};
  int sum = 0;
  for (auto& t : table) sum += t.weight;
  int k = (int)pick(r, (uint64_t)sum);
  for (auto& t : table)
    if ((k -= t.weight) < 0) {
      t.f(r);
      break;
    }
  shared->progress++;
}

struct Actor {
  uint64_t id;
  bool detached;
};
static void* actor(void* a) {
  std::unique_ptr<Actor> me(static_cast<Actor*>(a));
  Rng r = seed ^ (me->id * 0x9e3779b97f4a7c15ull);
  // A new thread sees no other's values.
  EXPECT_EQ(fresh_int, 0);
  EXPECT(local.s == std::string(64, 'n') && local.uses == 0);
  fresh_int = 1;
  int n = 1 + (int)pick(&r, 40);
  for (int i = 0; i < n; i++) act(&r);
  intptr_t id = (intptr_t)me->id;
  if (me->detached) live_detached--;
  if (n & 1) {
    me.reset();
    pthread_exit(num(id));
  }
  return num(id);
}

int main(int argc, char** argv) {
  start_watcher(argv);
  seed = argc > 1 ? strtoull(argv[1], nullptr, 0) : (uint64_t)now_ns() * 2654435761u % 1000000007u;
  double seconds = argc > 2 ? atof(argv[2]) : 3;
  size_t crowd = argc > 3 ? (size_t)atoi(argv[3]) : 32;
  printf("seed %llu\n", (unsigned long long)seed);
  fflush(stdout);
  signal(SIGPIPE, SIG_IGN);

  static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                              PTHREAD_MUTEX_ADAPTIVE_NP};
  for (int i = 0; i < 8; i++) {
    pthread_mutexattr_t a;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, types[i % 4]));
    OK(pthread_mutex_init(&locked[i].m, &a));
  }
  OK(sem_init(&three, 0, 3));
  SYS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packets));

  Rng r = seed;
  int64_t end = now_ns() + (int64_t)(seconds * 1e9);
  std::vector<std::pair<pthread_t, uint64_t>> joinable;
  uint64_t next = 1;
  while (now_ns() < end) {
    if (joinable.size() + live_detached < crowd) {
      auto* a = new Actor{next++, pick(&r, 3) == 0};
      uint64_t id = a->id;
      if (a->detached) {
        live_detached++;
        OK(pthread_detach(spawn(actor, a)));
      } else {
        joinable.emplace_back(spawn(actor, a), id);
      }
    } else if (!joinable.empty()) {
      size_t k = pick(&r, joinable.size());
      EXPECT_EQ(join(joinable[k].first), joinable[k].second);
      joinable.erase(joinable.begin() + (long)k);
    } else {
      usleep(200);
    }
    if (pick(&r, 16) == 0) act(&r);
  }
  for (auto& j : joinable) EXPECT_EQ(join(j.first), j.second);
  // Detached ones end by themselves; the watcher notices if not.
  local.uses = 0;  // main's own exists from here on
  while (live_detached || objects > 1) usleep(1000);

  for (auto& l : locked) EXPECT_EQ(l.plain, l.want);
  EXPECT_EQ(rw_a, rw_want);
  EXPECT_EQ(rw_b, rw_want);
  for (; queue.len; queue.len--, queue.head = (queue.head + 1) % 4) queue.out += queue.v[queue.head];
  EXPECT(queue.in == queue.out);
  EXPECT(packet_in == packet_out);
  int v;
  SYS(sem_getvalue(&three, &v));
  EXPECT_EQ(v, 3);
  printf("ok: %llu steps, %llu threads, %llu forks\n", (unsigned long long)steps(), (unsigned long long)threads_made,
         (unsigned long long)forks_made);
  return 0;
}
