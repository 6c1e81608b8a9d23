#pragma once
// Times one operation: device time between two events where it is enqueued on a stream, the host's clock where it is
// not.

#include <optional>
#include <utility>

#include "core/simt/device.h"
#include "core/timing.h"

namespace lulab::bench {

class Stopwatch {
 public:
  /// stream: where the operation is enqueued, which outlives the stopwatch; null: it works on the host.
  static Result<Stopwatch> create(simt::Stream* stream) {
    Stopwatch watch(stream);
    if (stream == nullptr) return watch;
    LULAB_ASSIGN_OR_RETURN(watch.timer_, simt::Timer::create());
    return watch;
  }

  bool on_device() const { return stream_ != nullptr; }

  /// operation() -> Status.   Unit ms.
  template <class Operation>
  Result<double> time(Operation&& operation) {
    const auto start = Clock::now();
    if (on_device()) LULAB_RETURN_IF_ERROR(timer_->start(*stream_));
    LULAB_RETURN_IF_ERROR(operation());
    if (!on_device()) return ms_since(start);
    LULAB_RETURN_IF_ERROR(timer_->stop(*stream_));
    return timer_->elapsed_ms();
  }

 private:
  explicit Stopwatch(simt::Stream* stream) : stream_(stream) {}

  simt::Stream* stream_;
  std::optional<simt::Timer> timer_;
};

}  // namespace lulab::bench
