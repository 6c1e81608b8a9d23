#pragma once

#include <cuda_runtime_api.h>

#include "core/simt/device.h"

namespace lulab::simt {

struct Stream::Impl {
  cudaStream_t stream = nullptr;
  const void* last_kernel = nullptr;  // named when the stream reports a fault
};

}  // namespace lulab::simt
