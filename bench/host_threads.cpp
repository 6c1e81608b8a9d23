#include "bench/host_threads.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "core/timing.h"

namespace lulab::bench {

int threads_of_process() {
  std::error_code unknown;
  const std::filesystem::directory_iterator tasks("/proc/self/task", unknown);
  return unknown ? 1 : static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

int NewThreads::with_caller() const { return 1 + std::max(threads_of_process() - before_, 0); }

Status warm_up(int at_least, const std::function<Status()>& run) {
  constexpr int runs = 40;
  constexpr double enough_ms = 200;
  const auto start = Clock::now();
  for (int k = 0; k < at_least || (k < runs && ms_since(start) < enough_ms); ++k) LULAB_RETURN_IF_ERROR(run());
  return {};
}

StayOnCore::StayOnCore(bool stay) {
  if (!stay || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  const int core = sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE) return;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(core, &here);
  stays_ = sched_setaffinity(0, sizeof here, &here) == 0;
}

StayOnCore::~StayOnCore() {
  if (stays_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace lulab::bench
