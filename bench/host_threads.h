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
/// at the latest, and the six from there on tell whether the threads pay. 40 runs, but after the first `at_least` none
/// once 200 ms are over: what takes longer has its threads from the first run, as a rule.
///
/// Errors    of the first run that fails.
Status warm_up(int at_least, const std::function<Status()>& run);
inline constexpr int runs_that_tell = 7;  // at_least, of a rung that uses threads

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
