#pragma once

#include <cuda_runtime_api.h>

#include "core/simt/device.h"

namespace lulab::simt {

struct Stream::Impl {
  cudaStream_t stream = nullptr;
  cudaEvent_t reached = nullptr;      // marks the point that another stream was last told to wait for
  const void* last_kernel = nullptr;  // named when the stream reports a fault
};

}  // namespace lulab::simt
