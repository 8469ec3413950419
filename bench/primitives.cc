// bench/primitives.cc -- what each pthread primitive costs; the same binary runs natively and preloaded.
//
// What it is: Google Benchmark around plain pthreads. Nothing here knows about libgmp, so whatever
// differs between the two runs is the threads. Every benchmark sets items_per_second: one item is one
// operation as its comment says, and bench/run prints 1e9 / items_per_second as ns per item.
//
// How it measures: benchmarks with several threads keep a Team of them standing and run rounds of many
// operations each, so that neither creation nor the round's own barrier is in the figure. Time is wall
// time, except for `sleep`, where it is CPU time: what a wake-up costs, not how long it was waited for.
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void check(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "primitives: %s: %s\n", what, std::strerror(error));
  std::_Exit(1);
}

pthread_t start(void* (*body)(void*), void* arg) {
  pthread_t thread;
  check(pthread_create(&thread, nullptr, body, arg), "pthread_create");
  return thread;
}

void join(pthread_t thread) { check(pthread_join(thread, nullptr), "pthread_join"); }

void* nothing(void*) { return nullptr; }

// A standing team: each round() lets every member run its work once and returns when all have.
class Team {
 public:
  using Work = void (*)(void* shared);

  Team(int size, Work work, void* shared) : work_(work), shared_(shared) {
    check(pthread_barrier_init(&gate_, nullptr, static_cast<unsigned>(size) + 1), "pthread_barrier_init");
    for (int i = 0; i < size; i++) members_.push_back(start(member, this));
  }
  ~Team() {
    stop_ = true;
    pthread_barrier_wait(&gate_);
    for (pthread_t thread : members_) join(thread);
    pthread_barrier_destroy(&gate_);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void round() {
    pthread_barrier_wait(&gate_);
    pthread_barrier_wait(&gate_);
  }

 private:
  static void* member(void* arg) {
    Team* team = static_cast<Team*>(arg);
    for (;;) {
      pthread_barrier_wait(&team->gate_);
      if (team->stop_) return nullptr;  // written before the owner came to the barrier
      team->work_(team->shared_);
      pthread_barrier_wait(&team->gate_);
    }
  }

  pthread_barrier_t gate_;
  Work work_;
  void* shared_;
  bool stop_ = false;
  std::vector<pthread_t> members_;
};

// ---- creation: one item is one thread created and joined

void create_join(benchmark::State& state) {
  for (auto _ : state) join(start(nothing, nullptr));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(create_join)->UseRealTime();

void create_all_join_all(benchmark::State& state) {
  std::vector<pthread_t> threads(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    for (pthread_t& thread : threads) thread = start(nothing, nullptr);
    for (pthread_t thread : threads) join(thread);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(create_all_join_all)->Arg(100)->UseRealTime();

// ---- yield: one item is one sched_yield

constexpr int kYields = 2000;

void yields(void*) {
  for (int i = 0; i < kYields; i++) sched_yield();
}

void yield(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  Team team(threads, yields, nullptr);
  for (auto _ : state) team.round();
  state.SetItemsProcessed(state.iterations() * threads * kYields);
}
BENCHMARK(yield)->Arg(2)->UseRealTime();

// ---- mutex: one item is one lock and unlock

void mutex_uncontended(benchmark::State& state) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (auto _ : state) {
    pthread_mutex_lock(&mutex);
    benchmark::ClobberMemory();
    pthread_mutex_unlock(&mutex);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(mutex_uncontended)->UseRealTime();

constexpr int kLocks = 4000;

// The thread works longer outside the lock than inside, as programs do.
struct Contended {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  uint64_t value = 0;
};

uint64_t compute(uint64_t x, int steps) {
  for (int i = 0; i < steps; i++) {
    x = x * 3 + 1;
    benchmark::DoNotOptimize(x);
  }
  return x;
}

void locks(void* arg) {
  Contended* shared = static_cast<Contended*>(arg);
  uint64_t own = 1;
  for (int i = 0; i < kLocks; i++) {
    pthread_mutex_lock(&shared->mutex);
    shared->value = compute(shared->value, 20);
    pthread_mutex_unlock(&shared->mutex);
    own = compute(own, 80);
  }
}

void mutex_contended(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  Contended shared;
  Team team(threads, locks, &shared);
  for (auto _ : state) team.round();
  state.SetItemsProcessed(state.iterations() * threads * kLocks);
}
BENCHMARK(mutex_contended)->Arg(2)->Arg(8)->Arg(64)->UseRealTime();

// ---- ping-pong: one item is one round trip between two threads

struct CondTable {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
  int turn = 0;
  bool stop = false;

  // Waits for the turn of `player`, then passes it on. False when the game is over.
  bool play(int player) {
    pthread_mutex_lock(&mutex);
    while (turn != player) pthread_cond_wait(&changed[player], &mutex);
    const bool on = !stop;
    turn = !player;
    pthread_cond_signal(&changed[!player]);
    pthread_mutex_unlock(&mutex);
    return on;
  }
};

void* cond_pong(void* arg) {
  while (static_cast<CondTable*>(arg)->play(1)) {
  }
  return nullptr;
}

void cond_ping_pong(benchmark::State& state) {
  CondTable table;
  const pthread_t peer = start(cond_pong, &table);
  for (auto _ : state) table.play(0);
  pthread_mutex_lock(&table.mutex);
  table.stop = true;
  pthread_mutex_unlock(&table.mutex);
  table.play(0);
  join(peer);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(cond_ping_pong)->UseRealTime();

struct SemTable {
  sem_t ping, pong;
  bool stop = false;
};

void wait_for(sem_t* sem) {
  while (sem_wait(sem)) {
  }
}

void* sem_pong(void* arg) {
  SemTable* table = static_cast<SemTable*>(arg);
  for (;;) {
    wait_for(&table->ping);
    if (table->stop) return nullptr;
    sem_post(&table->pong);
  }
}

void sem_ping_pong(benchmark::State& state) {
  SemTable table;
  sem_init(&table.ping, 0, 0);
  sem_init(&table.pong, 0, 0);
  const pthread_t peer = start(sem_pong, &table);
  for (auto _ : state) {
    sem_post(&table.ping);
    wait_for(&table.pong);
  }
  table.stop = true;
  sem_post(&table.ping);
  join(peer);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(sem_ping_pong)->UseRealTime();

struct Ends {
  int read_fd, write_fd;
};

void* echo_bytes(void* arg) {
  const Ends* ends = static_cast<Ends*>(arg);
  char byte;
  while (read(ends->read_fd, &byte, 1) == 1 && write(ends->write_fd, &byte, 1) == 1) {
  }
  return nullptr;
}

// One byte to the echoing thread and back; ends when the near write end is closed.
void byte_ping_pong(benchmark::State& state, const Ends& near, Ends far) {
  const pthread_t peer = start(echo_bytes, &far);
  char byte = 'x';
  for (auto _ : state)
    if (write(near.write_fd, &byte, 1) != 1 || read(near.read_fd, &byte, 1) != 1) check(EIO, "ping-pong");
  close(near.write_fd);
  join(peer);
  state.SetItemsProcessed(state.iterations());
}

void socketpair_ping_pong(benchmark::State& state) {
  int fd[2];
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) ? errno : 0, "socketpair");
  byte_ping_pong(state, {fd[0], fd[0]}, {fd[1], fd[1]});
  close(fd[1]);
}
BENCHMARK(socketpair_ping_pong)->UseRealTime();

void pipe_ping_pong(benchmark::State& state) {
  int out[2], back[2];
  check(pipe(out) ? errno : 0, "pipe");
  check(pipe(back) ? errno : 0, "pipe");
  byte_ping_pong(state, {back[0], out[1]}, {out[0], back[1]});
  close(out[0]);
  close(back[0]);
  close(back[1]);
}
BENCHMARK(pipe_ping_pong)->UseRealTime();

// ---- sleep: one item is one wake-up from nanosleep(1 ms); the time is CPU time of the whole process

constexpr int kSleeps = 50;

void sleeps(void*) {
  const timespec millisecond = {0, 1000000};
  for (int i = 0; i < kSleeps; i++) nanosleep(&millisecond, nullptr);
}

double process_cpu_s() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void sleep_cpu(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  Team team(threads, sleeps, nullptr);
  for (auto _ : state) {
    const double before = process_cpu_s();
    team.round();
    state.SetIterationTime(process_cpu_s() - before);
  }
  state.SetItemsProcessed(state.iterations() * threads * kSleeps);
}
// A fixed count: CPU time grows too slowly for the library to find one.
BENCHMARK(sleep_cpu)->Arg(1)->Iterations(8)->UseManualTime();
BENCHMARK(sleep_cpu)->Arg(1000)->Iterations(4)->UseManualTime();

// ---- barrier: one item is one thread through the barrier; a round is two barriers and no work

void barrier(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  Team team(threads - 1, [](void*) {}, nullptr);
  for (auto _ : state) team.round();
  state.SetItemsProcessed(state.iterations() * threads * 2);
}
BENCHMARK(barrier)->Arg(1000)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  // Until its first thread a process gets shortcuts (no atomics in glibc's locks) that no threaded
  // program has.
  join(start(nothing, nullptr));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
