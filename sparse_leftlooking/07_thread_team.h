#pragma once
// Threads that are started once and then run many jobs together.

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace lulab::sparse_leftlooking {

/// One wait of a spinning thread: a few hundred pauses, then it yields its core to other threads.
class Backoff {
 public:
  void operator()() {
    if (spins_ < 256) {
      ++spins_;
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    } else {
      std::this_thread::yield();
    }
  }

 private:
  int spins_ = 0;
};

/// The thread that calls run() is member 0; the others sleep between runs.
class ThreadTeam {
 public:
  /// As many of `members` threads as the system grants, at least the caller.   Requires members >= 1.
  explicit ThreadTeam(int members);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// job(m) on each member m = 0 .. size() - 1 at the same time; returns when all are done. What the caller wrote
  /// before is seen by every job, and what the jobs wrote by the caller.
  /// Requires  job does not throw; one run() at a time.
  void run(const std::function<void(int)>& job);

 private:
  void member(int m);

  const std::function<void(int)>* job_ = nullptr;  // null: the threads end
  std::atomic<std::uint32_t> round_{0};
  std::atomic<int> working_{0};
  std::vector<std::thread> threads_;
};

}  // namespace lulab::sparse_leftlooking
