#pragma once
// For tests on a GPU: work of another stream that takes multiprocessors away for a while; an end for tests that hang.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "core/simt/kernel.h"

namespace lulab::testing {

inline constexpr unsigned threads_of_other_work = 1024;

/// Each block naps so many times, up to 16 µs each.
inline __global__ void __launch_bounds__(threads_of_other_work) nap_kernel(std::uint64_t seed, int naps) {
  for (int k = 0; k < naps; ++k) {
    const std::uint64_t mixed = (seed + k * gridDim.x + blockIdx.x) * 0x9e3779b97f4a7c15u;
    __nanosleep(static_cast<unsigned>(((mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u) >> 50));
  }
}

/// Blocks of 1024 threads on a stream of their own: where two of them are, a multiprocessor has no room for others. How
/// many, and how long they stay, is drawn for each launch: from one to three times what the device holds.
class OtherWork {
 public:
  static Result<OtherWork> create(std::uint64_t seed) {
    LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create(simt::Priority::high));
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    return OtherWork(std::move(stream), static_cast<unsigned>(device.sm_count), seed);
  }
  Status start() {
    const unsigned blocks = 1 + static_cast<unsigned>(random_() % (6 * multiprocessors_));
    const int naps = 1 + static_cast<int>(random_() % 16);
    return simt::launch(nap_kernel, {.grid = blocks, .block = threads_of_other_work}, stream_, random_(), naps);
  }
  Status wait() { return stream_.wait(); }

 private:
  OtherWork(simt::Stream stream, unsigned multiprocessors, std::uint64_t seed)
      : stream_(std::move(stream)), multiprocessors_(multiprocessors), random_(seed) {}

  simt::Stream stream_;
  unsigned multiprocessors_;
  std::mt19937_64 random_;
};

/// LULAB_STRESS_RUNS, otherwise 20.
inline int stress_runs() {
  const char* runs = std::getenv("LULAB_STRESS_RUNS");
  return runs ? std::max(1, std::atoi(runs)) : 20;
}

/// Ends the process where beat() was not called for a minute: a kernel that hangs cannot be ended otherwise.
class HangWatch {
 public:
  HangWatch() : thread_([this](const std::stop_token& stop) { look_on(stop); }) {}
  /// what: what is about to be done.
  void beat(std::string what) {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
    ++beats_;
  }

 private:
  void look_on(const std::stop_token& stop) {
    using namespace std::chrono_literals;
    std::uint64_t seen = 0;
    for (int quarters = 0; !stop.stop_requested(); std::this_thread::sleep_for(250ms)) {
      const std::lock_guard lock(mutex_);
      quarters = beats_ == seen ? quarters + 1 : 0;
      seen = beats_;
      if (quarters < 240) continue;
      std::fprintf(stderr, "no end after a minute: %s\n", what_.c_str());
      std::fflush(stderr);
      std::_Exit(EXIT_FAILURE);
    }
  }
  std::mutex mutex_;
  std::string what_;
  std::uint64_t beats_ = 0;
  std::jthread thread_;  // last: it reads the others
};

}  // namespace lulab::testing
