#include <fmt/format.h>

#include "core/simt/cuda/error.h"
#include "core/simt/cuda/stream_impl.h"
#include "core/simt/kernel.h"

namespace lulab::simt::cuda_rt {
namespace {

Status refuse(const void* kernel, std::string why) {
  return Status::error(StatusCode::invalid_argument, fmt::format("launch of {}: {}", kernel_name(kernel), why));
}

constexpr unsigned max_blocks_per_cluster = 16;
constexpr unsigned portable_blocks_per_cluster = 8;  // more are opted into

/// A shape in the terms of cudaLaunchKernelExC and the occupancy functions. Points into itself.
struct Configuration {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[2]{};

  explicit Configuration(const LaunchShape& shape, cudaStream_t stream = nullptr) {
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    if (shape.cooperative) {
      attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
      attributes[config.numAttrs++].val.cooperative = 1;
    }
    if (shape.cluster > 0) {
      attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
      attributes[config.numAttrs++].val.clusterDim = {shape.cluster, 1, 1};
    }
  }
  Configuration(const Configuration&) = delete;
};

// Says why blocks cannot form the shape's clusters; ok when they can.
Status check_clusters(const void* kernel, const LaunchShape& shape, int device) {
  int supported = 0, clusters = 0;
  if (shape.cluster > max_blocks_per_cluster)
    return refuse(
        kernel, fmt::format("{} blocks in a cluster; at most {} are possible", shape.cluster, max_blocks_per_cluster));
  if (shape.grid.x % shape.cluster != 0)
    return refuse(kernel, fmt::format("a grid of {} blocks along x is no multiple of its clusters of {}", shape.grid.x,
                                      shape.cluster));
  cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, device);
  if (!supported) return refuse(kernel, "clusters of blocks need a device of compute capability 9.0 or newer");
  const Configuration configuration(shape);
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &configuration.config) != cudaSuccess || clusters == 0) {
    cudaGetLastError();
    return refuse(kernel,
                  fmt::format("not one cluster of {} blocks of {} threads and {} bytes of shared memory can be "
                              "resident; take fewer blocks, threads or bytes",
                              shape.cluster, shape.block.x * shape.block.y * shape.block.z, shape.shared_bytes));
  }
  return {};
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
  if (shape.cluster > 0) LULAB_RETURN_IF_ERROR(check_clusters(kernel, shape, device));
  if (shape.cooperative &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(threads), shape.shared_bytes) ==
          cudaSuccess &&
      blocks > std::int64_t(resident) * sms)
    return refuse(kernel, fmt::format("{} blocks of a cooperative launch; {} can be resident at once", blocks,
                                      std::int64_t(resident) * sms));
  return status_of(error, fmt::format("launch of {}", kernel_name(kernel)));
}

cudaError_t opt_in(const void* kernel, std::size_t shared_bytes, unsigned cluster = 0) {
  cudaError_t error = cudaSuccess;
  if (shared_bytes > 0)  // needed from 48 KB on, of which the kernel's static shared memory is a part
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  if (error == cudaSuccess && cluster > portable_blocks_per_cluster)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  return error;
}

}  // namespace

Status launch_kernel(const void* kernel, const LaunchShape& shape, Stream& stream, void** parameters) {
  cudaError_t error = opt_in(kernel, shape.shared_bytes, shape.cluster);
  const Configuration configuration(shape, stream.impl().stream);
  if (error == cudaSuccess) error = cudaLaunchKernelExC(&configuration.config, kernel, parameters);
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

Result<int> resident_clusters(const void* kernel, const LaunchShape& shape) {
  if (shape.cluster <= 1) {
    const auto threads = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
    LULAB_ASSIGN_OR_RETURN(const auto blocks, resident_blocks_per_sm(kernel, threads, shape.shared_bytes));
    LULAB_ASSIGN_OR_RETURN(const auto properties, device_properties());
    return blocks * properties.sm_count;
  }
  int clusters = 0, device = 0;
  cudaError_t error = opt_in(kernel, shape.shared_bytes, shape.cluster);
  if (error == cudaSuccess) error = cudaGetDevice(&device);
  if (error == cudaSuccess) LULAB_RETURN_IF_ERROR(check_clusters(kernel, shape, device));  // CUDA counts any shape
  const Configuration configuration(shape);
  if (error == cudaSuccess) error = cudaOccupancyMaxActiveClusters(&clusters, kernel, &configuration.config);
  if (error == cudaSuccess && clusters > 0) return clusters;
  cudaGetLastError();
  return explain(kernel, shape, error == cudaSuccess ? cudaErrorLaunchOutOfResources : error);
}

}  // namespace lulab::simt::cuda_rt
