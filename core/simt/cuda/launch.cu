#include <fmt/format.h>

#include "core/simt/cuda/error.h"
#include "core/simt/cuda/stream_impl.h"
#include "core/simt/kernel.h"

namespace lulab::simt::cuda_rt {
namespace {

Status refuse(const void* kernel, std::string why) {
  return Status::error(StatusCode::invalid_argument, fmt::format("launch of {}: {}", kernel_name(kernel), why));
}

// Says which limit a shape exceeds; CUDA itself only answers "invalid argument".
Status explain(const void* kernel, const LaunchShape& shape, cudaError_t error) {
  cudaFuncAttributes attributes{};
  int device = 0, shared_limit = 0, sms = 0, resident = 0;
  const auto threads = std::int64_t(shape.block.x) * shape.block.y * shape.block.z;
  const auto blocks = std::int64_t(shape.grid.x) * shape.grid.y * shape.grid.z;
  if (cudaGetDevice(&device) != cudaSuccess || cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess)
    return status_of(error, fmt::format("launch of {}", kernel_name(kernel)));
  cudaDeviceGetAttribute(&shared_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (threads < 1 || threads > attributes.maxThreadsPerBlock)
    return refuse(kernel,
                  fmt::format("{} threads a block; 1 to {} are possible", threads, attributes.maxThreadsPerBlock));
  if (blocks < 1 || shape.grid.x > 2147483647u || shape.grid.y > 65535u || shape.grid.z > 65535u)
    return refuse(kernel, fmt::format("a grid of {} x {} x {} blocks; 1 to 2147483647 x 65535 x 65535 are possible",
                                      shape.grid.x, shape.grid.y, shape.grid.z));
  if (shape.shared_bytes + attributes.sharedSizeBytes > static_cast<std::size_t>(shared_limit))
    return refuse(kernel, fmt::format("{} bytes of shared memory a block; {} are possible",
                                      shape.shared_bytes + attributes.sharedSizeBytes, shared_limit));
  if (shape.cooperative &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(threads), shape.shared_bytes) ==
          cudaSuccess &&
      blocks > std::int64_t(resident) * sms)
    return refuse(kernel, fmt::format("{} blocks of a cooperative launch; {} can be resident at once", blocks,
                                      std::int64_t(resident) * sms));
  return status_of(error, fmt::format("launch of {}", kernel_name(kernel)));
}

constexpr std::size_t shared_bytes_without_opt_in = 48 << 10;

cudaError_t opt_in(const void* kernel, std::size_t shared_bytes) {
  if (shared_bytes <= shared_bytes_without_opt_in) return cudaSuccess;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
}

}  // namespace

Status launch_kernel(const void* kernel, const LaunchShape& shape, Stream& stream, void** parameters) {
  cudaError_t error = opt_in(kernel, shape.shared_bytes);
  if (error == cudaSuccess) {
    cudaLaunchAttribute cooperative{};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream.impl().stream;
    config.attrs = &cooperative;
    config.numAttrs = shape.cooperative ? 1 : 0;
    error = cudaLaunchKernelExC(&config, kernel, parameters);
  }
  stream.impl().last_kernel = kernel;
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // a refused shape must not show up again in the next call
  return explain(kernel, shape, error);
}

Result<int> resident_blocks_per_sm(const void* kernel, int threads_per_block, std::size_t shared_bytes) {
  int blocks = 0;
  cudaError_t error = opt_in(kernel, shared_bytes);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads_per_block, shared_bytes);
  if (error == cudaErrorInvalidValue) {
    cudaGetLastError();
    blocks = 0;
  } else {
    LULAB_RETURN_IF_ERROR(status_of(error, fmt::format("occupancy of {}", kernel_name(kernel))));
  }
  if (blocks == 0)
    return refuse(kernel, fmt::format("no block of {} threads and {} bytes of shared memory fits on a multiprocessor",
                                      threads_per_block, shared_bytes));
  return blocks;
}

}  // namespace lulab::simt::cuda_rt
