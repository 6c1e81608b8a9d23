#pragma once
// CUDA's error codes as Status.

#include <cuda_runtime_api.h>

#include <string_view>

#include "core/status.h"

namespace lulab::simt::cuda_rt {

/// ok for cudaSuccess; else out_of_memory or device_error with `what` was done, CUDA's own text and what to do.
Status status_of(cudaError_t error, std::string_view what);

/// "kernel name: " for messages; empty where the runtime does not tell.
std::string kernel_name(const void* kernel);

}  // namespace lulab::simt::cuda_rt
