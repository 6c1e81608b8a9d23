#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "core/simt/cuda/copy_kernels.h"
#include "core/simt/cuda/error.h"
#include "core/simt/cuda/small_host_blocks.h"
#include "core/simt/cuda/stream_impl.h"
#include "core/simt/memory_limit.h"

namespace lulab::simt {

using cuda_rt::status_of;

namespace {

struct Ledger {
  std::mutex mutex;
  std::unordered_map<void*, std::size_t> bytes_of;
  std::unordered_set<void*> page_locked;  // host memory, larger than SmallHostBlocks has
  std::int64_t allocated = 0, peak = 0;
};
Ledger& ledger() {
  static auto* const the_ledger = new Ledger;  // buffers of static objects may outlive any other
  return *the_ledger;
}
SmallHostBlocks& small_host_blocks() {
  static auto* const the_blocks = new SmallHostBlocks;  // likewise
  return *the_blocks;
}

/// Is this copy or fill recorded in a graph, and short enough to be a kernel there?
bool is_kernel_in_graph(std::size_t bytes, Stream& stream) {
  constexpr std::size_t most_bytes = std::size_t(16) << 20;  // the copy engines are as fast with more
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  return bytes <= most_bytes && cudaStreamIsCapturing(stream.impl().stream, &capture) == cudaSuccess &&
         capture == cudaStreamCaptureStatusActive;
}

}  // namespace

Result<void*> device_allocate(std::size_t bytes) {
  LULAB_RETURN_IF_ERROR(ask_memory_limit("device memory", bytes));
  void* p = nullptr;
  if (const cudaError_t error = cudaMalloc(&p, bytes); error != cudaSuccess) {
    cudaGetLastError();
    std::size_t free_bytes = 0, total_bytes = 0;
    if (error != cudaErrorMemoryAllocation || cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess)
      return status_of(error, fmt::format("allocate {} bytes of device memory", bytes));
    return Status::error(
        StatusCode::out_of_memory,
        fmt::format("{} bytes of device memory were asked for; {} of {} are free", bytes, free_bytes, total_bytes));
  }
  Ledger& l = ledger();
  const std::lock_guard lock(l.mutex);
  l.bytes_of[p] = bytes;
  l.allocated += static_cast<std::int64_t>(bytes);
  count_device_memory(static_cast<std::int64_t>(bytes));
  l.peak = std::max(l.peak, l.allocated);
  return p;
}

void device_free(void* p) {
  if (p == nullptr) return;
  Ledger& l = ledger();
  {
    const std::lock_guard lock(l.mutex);
    if (const auto it = l.bytes_of.find(p); it != l.bytes_of.end()) {
      l.allocated -= static_cast<std::int64_t>(it->second);
      count_device_memory(-static_cast<std::int64_t>(it->second));
      l.bytes_of.erase(it);
    }
  }
  cudaFree(p);
}

void* host_allocate(std::size_t bytes) {
  if (!ask_memory_limit("host memory").ok()) return nullptr;
  const bool is_small = bytes <= SmallHostBlocks::block_bytes;
  void* p = nullptr;
  cudaError_t failed = cudaSuccess;
  if (is_small)
    p = small_host_blocks().take(failed);
  else
    failed = cudaMallocHost(&p, bytes);
  if (failed != cudaSuccess) {
    cudaGetLastError();
    const bool has_gpu = failed != cudaErrorNoDevice && failed != cudaErrorInsufficientDriver;
    return has_gpu ? nullptr : std::malloc(bytes);  // kernels may write there
  }
  if (is_small) return p;
  Ledger& l = ledger();
  const std::lock_guard lock(l.mutex);
  l.page_locked.insert(p);
  return p;
}

void host_free(void* p) {
  if (p == nullptr || small_host_blocks().give_back(p)) return;
  Ledger& l = ledger();
  std::unique_lock lock(l.mutex);
  const bool page_locked = l.page_locked.erase(p) > 0;
  lock.unlock();
  if (page_locked)
    cudaFreeHost(p);
  else
    std::free(p);
}

namespace {

/// Of type cudaMemoryTypeUnregistered where CUDA does not know it.
cudaPointerAttributes attributes_of(const void* p) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, p) == cudaSuccess) return attributes;
  cudaGetLastError();
  return {};
}

/// Of page-locked memory of the host; null: the device cannot write there.
void* device_address(const void* host) {
  const cudaPointerAttributes attributes = attributes_of(host);
  return attributes.type == cudaMemoryTypeHost ? attributes.devicePointer : nullptr;
}

}  // namespace

bool is_page_locked(const void* p) { return attributes_of(p).type == cudaMemoryTypeHost; }

Status copy_to_device(void* d_to, const void* from, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return {};
  return status_of(cudaMemcpyAsync(d_to, from, bytes, cudaMemcpyHostToDevice, stream.impl().stream),
                   "copy to the device");
}
Status copy_to_host(void* to, const void* d_from, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return {};
  constexpr std::size_t few_bytes = 4096;  // kernels write to the host more slowly than its copies do
  if (bytes <= few_bytes && is_kernel_in_graph(bytes, stream))
    if (void* const d_to = device_address(to)) return cuda_rt::copy_by_kernel(d_to, d_from, bytes, stream);
  return status_of(cudaMemcpyAsync(to, d_from, bytes, cudaMemcpyDeviceToHost, stream.impl().stream),
                   "copy to the host");
}
Status copy_on_device(void* d_to, const void* d_from, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return {};
  if (is_kernel_in_graph(bytes, stream)) return cuda_rt::copy_by_kernel(d_to, d_from, bytes, stream);
  return status_of(cudaMemcpyAsync(d_to, d_from, bytes, cudaMemcpyDeviceToDevice, stream.impl().stream),
                   "copy on the device");
}
Status fill_bytes(void* d_to, int byte, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return {};
  if (is_kernel_in_graph(bytes, stream)) return cuda_rt::fill_by_kernel(d_to, byte, bytes, stream);
  return status_of(cudaMemsetAsync(d_to, byte, bytes, stream.impl().stream), "fill device memory");
}

std::int64_t allocated_bytes() {
  const std::lock_guard lock(ledger().mutex);
  return ledger().allocated;
}
std::int64_t peak_bytes() {
  const std::lock_guard lock(ledger().mutex);
  return ledger().peak;
}
void reset_peak_bytes() {
  const std::lock_guard lock(ledger().mutex);
  ledger().peak = ledger().allocated;
}

}  // namespace lulab::simt
