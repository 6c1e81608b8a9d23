#include "core/simt/cuda/error.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include <fmt/format.h>

namespace lulab::simt::cuda_rt {

Status status_of(cudaError_t error, std::string_view what) {
  switch (error) {
    case cudaSuccess: return {};
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return Status::error(StatusCode::device_error,
                           fmt::format("no usable CUDA device: {}; build the preset sim to run kernels on the host",
                                       cudaGetErrorString(error)));
    case cudaErrorMemoryAllocation:
      return Status::error(StatusCode::out_of_memory, fmt::format("{}: {}", what, cudaGetErrorString(error)));
    default:
      return Status::error(StatusCode::device_error,
                           fmt::format("{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error)));
  }
}

std::string kernel_name(const void* kernel) {
  const char* mangled = nullptr;
  if (kernel == nullptr || cudaFuncGetName(&mangled, kernel) != cudaSuccess || mangled == nullptr) return "a kernel";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                     std::free);
  return status == 0 ? plain.get() : mangled;
}

}  // namespace lulab::simt::cuda_rt
