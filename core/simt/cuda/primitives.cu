#include "core/simt/primitives.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "core/simt/cuda/error.h"
#include "core/simt/cuda/stream_impl.h"

namespace lulab::simt {
namespace {

/// Calls once for the size of the working memory and once for the work, as CUB wants it.
template <class Call>
Status with_scratch(Scratch& scratch, Stream& stream, std::string_view what, const Call& call) {
  std::size_t bytes = 0;
  LULAB_RETURN_IF_ERROR(cuda_rt::status_of(call(nullptr, bytes), what));
  if (static_cast<std::int64_t>(bytes) > scratch.size()) {
    LULAB_RETURN_IF_ERROR(stream.wait());  // before the old memory goes
    LULAB_RETURN_IF_ERROR(make(scratch, static_cast<std::int64_t>(bytes)));
  }
  return cuda_rt::status_of(call(scratch.data(), bytes), what);
}

}  // namespace

Status exclusive_sums(const std::int64_t* d_values, std::int64_t* d_sums, std::int64_t n, Scratch& scratch,
                      Stream& stream) {
  if (n == 0) return {};
  return with_scratch(scratch, stream, "exclusive_sums", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, d_values, d_sums, n, stream.impl().stream);
  });
}

Status sort_keys(const std::int64_t* d_keys, std::int64_t* d_sorted, std::int64_t n, int bits, Scratch& scratch,
                 Stream& stream) {
  if (n == 0) return {};
  return with_scratch(scratch, stream, "sort_keys", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, d_keys, d_sorted, n, 0, bits, stream.impl().stream);
  });
}

}  // namespace lulab::simt
