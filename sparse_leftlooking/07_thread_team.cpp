#include "sparse_leftlooking/07_thread_team.h"

#include <exception>

namespace lulab::sparse_leftlooking {

ThreadTeam::ThreadTeam(int members) {
  threads_.reserve(members - 1);  // so that no started thread is lost to a failed allocation
  try {
    while (size() < members) threads_.emplace_back(&ThreadTeam::member, this, size());
  } catch (const std::exception&) {  // the system grants no more threads: the team is smaller
  }
}

ThreadTeam::~ThreadTeam() {
  job_ = nullptr;
  round_.fetch_add(1, std::memory_order_release);  // RACE: as in run(): orders job_ before the members' look at it
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run(const std::function<void(int)>& job) {
  job_ = &job;
  // RACE: no member touches working_ or job_ between runs; the release below publishes both.
  working_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  // RACE: the caller wrote job_ and all that the job reads; members acquire round_ before they read it.
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  job(0);
  Backoff backoff;
  // RACE: each member decrements after its last write (release); the caller sees all of them at zero (acquire).
  while (working_.load(std::memory_order_acquire) != 0) backoff();
}

void ThreadTeam::member(int m) {
  // RACE: a run() may come before this thread's first look at round_: it counts from 0, as the team does.
  for (std::uint32_t seen = 0;; ++seen) {
    round_.wait(seen, std::memory_order_acquire);  // RACE: pairs with the release in run(); sleeps until round_ differs
    if (!job_) return;
    (*job_)(m);
    working_.fetch_sub(1, std::memory_order_release);  // RACE: orders the job's writes before the caller's acquire
  }
}

}  // namespace lulab::sparse_leftlooking
