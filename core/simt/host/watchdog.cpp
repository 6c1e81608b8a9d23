#include "core/simt/host/watchdog.h"

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

using Clock = std::chrono::steady_clock;

struct Watched {
  const Scheduler* scheduler;
  double seconds;
  std::uint64_t steps;
  Clock::time_point since;
};

// Looks at every running scheduler four times a second; sleeps for good while there is none. Never destroyed: a
// detached thread may still look at it while the process ends.
struct Watchdog {
  std::mutex mutex;
  std::condition_variable work;
  std::list<Watched> watched;

  Watchdog() {
    std::thread([this] { watch(); }).detach();
  }

  void watch() {
    std::unique_lock lock(mutex);
    for (;;) {
      if (watched.empty())
        work.wait(lock);
      else
        work.wait_for(lock, std::chrono::milliseconds(250));
      for (Watched& w : watched) look(w);
    }
  }

  static void look(Watched& w) {
    const auto now = Clock::now();
    const std::uint64_t steps = w.scheduler->steps();
    if (steps != w.steps) {
      w.steps = steps;
      w.since = now;
    } else if (std::chrono::duration<double>(now - w.since).count() > w.seconds) {
      std::fprintf(
          stderr,
          "simulator: kernel %s reached no scheduling point for %g s. A loop that waits must read an atomic "
          "(cuda::atomic_ref) or call __nanosleep; a volatile or plain variable lets no other thread run. Giving up.\n",
          w.scheduler->kernel().c_str(), w.seconds);
      std::fflush(stderr);
      std::_Exit(70);
    }
  }
};

Watchdog& watchdog() {
  static auto* instance = new Watchdog;
  return *instance;
}

}  // namespace

Watch::Watch(const Scheduler& scheduler, double seconds) : scheduler_(seconds > 0 ? &scheduler : nullptr) {
  if (!scheduler_) return;
  Watchdog& dog = watchdog();
  std::lock_guard lock(dog.mutex);
  dog.watched.push_back({scheduler_, seconds, scheduler.steps(), Clock::now()});
  if (dog.watched.size() == 1) dog.work.notify_one();
}

Watch::~Watch() {
  if (!scheduler_) return;
  Watchdog& dog = watchdog();
  std::lock_guard lock(dog.mutex);
  dog.watched.remove_if([this](const Watched& w) { return w.scheduler == scheduler_; });
}

}  // namespace lulab::simt::host
