#include "core/simt/cuda/error.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include <fmt/format.h>

namespace lulab::simt::cuda_rt {

Status status_of(cudaError_t error, std::string_view what) {
  if (error != cudaSuccess) cudaGetLastError();  // told here; it must not show up again in a later call
  switch (error) {
    case cudaSuccess: return {};
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return Status::error(StatusCode::device_error,
                           fmt::format("no usable CUDA device: {}; build the preset sim to run kernels on the host",
                                       cudaGetErrorString(error)));
    case cudaErrorNoKernelImageForDevice:
      return Status::error(StatusCode::device_error,
                           fmt::format("{}: the kernels were compiled for another GPU; remove the build folder and "
                                       "build on this machine, or set CMAKE_CUDA_ARCHITECTURES",
                                       what));
    case cudaErrorMemoryAllocation:
      return Status::error(StatusCode::out_of_memory, fmt::format("{}: {}", what, cudaGetErrorString(error)));
    case cudaErrorStreamCaptureUnjoined:
      return Status::error(
          StatusCode::invalid_argument,
          fmt::format("{}: {}; the captured stream must wait_for every stream that joined the capture, after its work",
                      what, cudaGetErrorString(error)));
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureWrongThread:
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error)));
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
