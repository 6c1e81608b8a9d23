#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "core/simt/device.h"

struct CUgreenCtx_st;

namespace lulab::simt {

struct Stream::Impl {
  cudaStream_t stream = nullptr;
  bool owns_stream = true;
  cudaEvent_t reached = nullptr;           // marks the point that another stream was last told to wait for
  const void* last_kernel = nullptr;       // named when the stream reports a fault
  int sm_count = 0;                        // multiprocessors it is confined to; 0: none
  std::shared_ptr<CUgreenCtx_st> context;  // of a part of the device; outlives the stream
};

}  // namespace lulab::simt
