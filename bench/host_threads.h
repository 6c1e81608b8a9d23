#pragma once
// Threads of this process: how many a measurement used, and keeping the one that times on its core.

#include <sched.h>

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
