#pragma once
// Parts of a piece of host work on threads of their own.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace lulab {

/// How many threads some work keeps busy: a thread for every `a_thread` of it, as many as there are cores, at most
/// `most`; at least 1.
inline int threads_for(std::int64_t work, std::int64_t a_thread, int most) {
  const auto busy = static_cast<int>(std::min<std::int64_t>(work / a_thread, most));
  if (busy <= 1) return 1;  // without asking for the cores, which reads a file
  return std::max(1, static_cast<int>(std::min<unsigned>(std::thread::hardware_concurrency(), busy)));
}

/// work(part) for part = 0 .. parts - 1 at the same time; returns when all are done. Parts for which the system grants
/// no thread are done here, as the last one is.
/// Errors    throws what work() threw for the smallest part.
template <class Work>
void in_parallel(int parts, const Work& work) {
  std::vector<std::exception_ptr> thrown(parts);
  const auto guarded = [&](int part) {
    try {
      work(part);
    } catch (...) {
      thrown[part] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(parts);
    int part = 0;
    try {
      for (; part + 1 < parts; ++part) threads.emplace_back(guarded, part);
    } catch (const std::system_error&) {
    }
    for (; part < parts; ++part) guarded(part);
  }
  for (const std::exception_ptr& e : thrown)
    if (e) std::rethrow_exception(e);
}

/// work(item, thread) for item = 0 .. count - 1, each taken by the next of so many threads that is free; of one thread
/// in this order. Returns when all are done.
/// Requires  what work() writes is the item's own, or the thread's (0 .. threads - 1).
/// Errors    throws what a call threw; the thread that threw takes no other item.
template <class Work>
void share_out(std::int32_t count, int threads, const Work& work) {
  std::atomic<std::int32_t> next = 0;
  in_parallel(threads, [&](int thread) {
    // RACE: the atomic gives an item to one thread; in_parallel() orders what work() writes before the return
    for (std::int32_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(item, thread);
  });
}

}  // namespace lulab
