#pragma once
// cuBLAS's status codes as Status.

#include <cublas_v2.h>
#include <fmt/format.h>

#include <string_view>

#include "core/status.h"

namespace lulab::simt::cuda_rt {

/// ok for CUBLAS_STATUS_SUCCESS; else out_of_memory or device_error with the call and cuBLAS's own text.
inline Status status_of(cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Status::error(status == CUBLAS_STATUS_ALLOC_FAILED ? StatusCode::out_of_memory : StatusCode::device_error,
                       fmt::format("{}: {} ({})", call, cublasGetStatusString(status), cublasGetStatusName(status)));
}

}  // namespace lulab::simt::cuda_rt
