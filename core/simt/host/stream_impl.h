#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/simt/device.h"
#include "core/simt/device_fault.h"

namespace lulab::simt {

namespace host {

/// Work of several streams, being recorded in the order of its enqueuing: one order that their waits allow.
struct Capture {
  bool ended = false;
  std::vector<std::function<Status()>> items;
  // known[s][t]: how many items of the t-th stream precede what the s-th records next. Stream 0 began the capture.
  std::vector<std::vector<std::int64_t>> known;

  std::int64_t known_of(std::size_t s, std::size_t t) const { return t < known[s].size() ? known[s][t] : 0; }
  void record(std::size_t s, std::function<Status()> work) {
    items.push_back(std::move(work));
    known[s].resize(known.size());
    ++known[s][s];
  }
  void wait_for(std::size_t s, std::size_t earlier) {
    known[s].resize(known.size());
    for (std::size_t t = 0; t < known.size(); ++t) known[s][t] = std::max(known[s][t], known_of(earlier, t));
  }
};

}  // namespace host

/// The simulator's stream runs an item when it is enqueued. After a failure it skips items until wait() has told of it.
struct Stream::Impl {
  Status failure;
  std::shared_ptr<host::Capture> capture;  // that this stream takes or took part in
  std::size_t member = 0;                  // its number there

  bool capturing() const { return capture && !capture->ended; }

  /// Runs or records work. What it meets is answered by wait(), as on a GPU.   Errors device_error, where a test asks.
  Status enqueue(std::function<Status()> work) {
    Status fault = ask_device_fault(capturing());
    if (!fault.ok() && !device_fault->is_told_later) return fault;
    if (capturing())
      capture->record(member, std::move(work));
    else if (failure.ok())
      failure = fault.ok() ? work() : std::move(fault);
    return {};
  }
};

}  // namespace lulab::simt
