#pragma once

#include <functional>
#include <vector>

#include "core/simt/device.h"

namespace lulab::simt {

/// The simulator's stream runs an item when it is enqueued. After a failure it skips items until wait() has told of it.
struct Stream::Impl {
  Status failure;
  bool capturing = false;
  std::vector<std::function<Status()>> captured;

  /// Runs or records work. What it meets is answered by wait(), as on a GPU.
  void enqueue(std::function<Status()> work) {
    if (capturing)
      captured.push_back(std::move(work));
    else if (failure.ok())
      failure = work();
  }
};

}  // namespace lulab::simt
