#pragma once
// Tests of kernels: run one under every schedule and look at what it left in memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/simt/kernel.h"
#include "testing/contains.h"
#include "testing/device.h"

namespace lulab::simt {

using lulab::contains;

/// Launches kernel(args..., d_out) on `size` elements of poisoned memory and answers what is there afterwards.
template <class T, class... P, class... A>
Result<std::vector<T>> output_of(void (*kernel)(P...), const LaunchShape& shape, std::size_t size,
                                 SimulatorOptions options, A&&... args) {
  const SimulatorScope scope(options);
  LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_out, DeviceBuffer<T>::create(static_cast<std::int64_t>(size)));
  LULAB_RETURN_IF_ERROR(d_out.fill_bytes(0xFF, stream));
  LULAB_RETURN_IF_ERROR(launch(kernel, shape, stream, std::forward<A>(args)..., d_out.data()));
  std::vector<T> out(size);
  LULAB_RETURN_IF_ERROR(d_out.download(out, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return out;
}

/// The Status of one launch, told by launch() or by wait().
template <class... P, class... A>
Status status_of_launch(void (*kernel)(P...), const LaunchShape& shape, SimulatorOptions options, A&&... args) {
  const SimulatorScope scope(options);
  LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
  LULAB_RETURN_IF_ERROR(launch(kernel, shape, stream, std::forward<A>(args)...));
  return stream.wait();
}

}  // namespace lulab::simt
