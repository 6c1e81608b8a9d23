#include "core/simt/host/watchdog.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <thread>

#include "core/simt/host/scheduler.h"

namespace lulab::simt::host {

namespace {

constexpr std::chrono::milliseconds interval{250};

struct Watched {
  const Scheduler* scheduler;
  double seconds;
  std::uint64_t steps;
  int idle_looks = 0;  // looks, not a clock: time in which a debugger halts the process does not count
};

// Looks at every running scheduler four times a second; sleeps for good while there is none. Never destroyed: a
// detached thread may still look at it while the process ends.
struct Watchdog {
  std::mutex mutex;
  std::condition_variable work;
  std::list<Watched> watched;
  bool has_thread = false;

  /// Requires  the mutex.
  void watch(Watched one) {
    if (!has_thread) std::thread([this] { look_on(); }).detach();  // throws where there is no thread left
    has_thread = true;
    watched.push_back(one);
    if (watched.size() == 1) work.notify_one();
  }

  void look_on() {
    std::unique_lock lock(mutex);
    for (;;) {
      if (watched.empty())
        work.wait(lock);
      else
        work.wait_for(lock, interval);
      for (Watched& w : watched) look(w);
    }
  }

  static void look(Watched& w) {
    const std::uint64_t steps = w.scheduler->steps();
    if (steps != w.steps) {
      w.steps = steps;
      w.idle_looks = 0;
    } else if (std::chrono::duration<double>(++w.idle_looks * interval).count() > w.seconds) {
      std::fprintf(
          stderr,
          "simulator: kernel %s reached no scheduling point (atomic, barrier, __nanosleep) for %g s: no other thread "
          "ran. "
          "A loop that waits must read an atomic (cuda::atomic_ref) or call __nanosleep; a plain or volatile variable "
          "is not enough. The process ends. It ran with SimulatorOptions{.seed = %llu, .resident_blocks = %d}.\n",
          w.scheduler->kernel().c_str(), w.seconds, static_cast<unsigned long long>(w.scheduler->options().seed),
          w.scheduler->options().resident_blocks);
      std::fflush(stderr);
      std::_Exit(70);
    }
  }
};

// After fork() the child lacks the thread that looks, and the mutex may be locked: the child gets a new one.
Watchdog*& watchdog() {
  static Watchdog* instance = [] {
    pthread_atfork(nullptr, nullptr, [] { watchdog() = new Watchdog; });
    return new Watchdog;
  }();
  return instance;
}
[[maybe_unused]] const Watchdog* made_before_threads = watchdog();  // as in device.cpp

}  // namespace

Watch::Watch(const Scheduler& scheduler, double seconds) : scheduler_(seconds > 0 ? &scheduler : nullptr) {
  if (!scheduler_) return;
  Watchdog& dog = *watchdog();
  std::lock_guard lock(dog.mutex);
  dog.watch({scheduler_, seconds, scheduler.steps()});
}

Watch::~Watch() {
  if (!scheduler_) return;
  Watchdog& dog = *watchdog();
  std::lock_guard lock(dog.mutex);
  dog.watched.remove_if([this](const Watched& w) { return w.scheduler == scheduler_; });
}

}  // namespace lulab::simt::host
