#pragma once
// Threads of this process: how many a measurement used, and keeping the one that times on its core.

#include <sched.h>

#include <functional>

#include "core/status.h"

namespace lulab::bench {

/// How many threads this process has now; 1 where the system does not say (/proc/self/task).
int threads_of_process();

/// Counts the threads that were started since it was made and still run.
class NewThreads {
 public:
  /// The calling thread and the new ones.   Ensures result >= 1.
  int with_caller() const;

 private:
  int before_ = threads_of_process();
};

/// What the first runs of a rung find out is not timed: threads and groups of columns come with the 33rd factorization
/// at the latest, and the next six tell whether the threads pay. Runs as often, but not after the first seven where
/// they have taken 200 ms: a rung whose runs take 6 ms or more has its threads from the first one.
///
/// Errors    of the first run that fails.
Status warm_up(const std::function<Status()>& run);

/// Keeps the calling thread on the core that it is on, until the end of the scope; does nothing where the system
/// refuses. Threads started meanwhile would share that core, and std::thread::hardware_concurrency() is 1: only for
/// work that starts none.
class StayOnCore {
 public:
  /// stay: false does nothing.
  explicit StayOnCore(bool stay);
  ~StayOnCore();
  StayOnCore(const StayOnCore&) = delete;
  StayOnCore& operator=(const StayOnCore&) = delete;

 private:
  cpu_set_t before_;
  bool stays_ = false;
};

}  // namespace lulab::bench
