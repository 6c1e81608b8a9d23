#include "solve/pattern_by_rows.h"

#include <bit>

#include "core/simt/device_tools.h"

namespace lulab {
namespace pattern_by_rows {
namespace {

constexpr int threads = 256;
constexpr unsigned most_blocks = 4096;

/// grid, block: any
__global__ void row_key_kernel(DevicePattern as, int bits, std::int64_t* keys) {
  const std::int64_t stride = simt::threads_of_grid();
  for (std::int64_t k = simt::thread_of_grid(); k < as.nnz; k += stride)
    keys[k] = std::int64_t(as.row_idx[k]) << bits | k;
}

/// The column of position k.
__device__ __forceinline__ std::int32_t column_of(const DevicePattern& as, std::int64_t k) {
  std::int32_t j = 0;  // col_ptr[j] <= k
  for (std::int32_t end = as.n; end - j > 1;) {
    const std::int32_t middle = j + (end - j) / 2;
    (as.col_ptr[middle] <= k ? j : end) = middle;
  }
  return j;
}

/// grid, block: any   ptr, diag: (n + 1), (n)
__global__ void rows_from_keys_kernel(DevicePattern as, const std::int64_t* keys, int bits, std::int64_t* ptr,
                                      std::int64_t* diag, std::int32_t* col, std::uint32_t* from) {
  const std::int64_t stride = simt::threads_of_grid(), mask = (std::int64_t(1) << bits) - 1;
  for (std::int64_t k = simt::thread_of_grid(); k < as.nnz; k += stride) {
    const auto row = static_cast<std::int32_t>(keys[k] >> bits);
    const std::int32_t j = column_of(as, keys[k] & mask);
    col[k] = j;
    from[k] = static_cast<std::uint32_t>(keys[k] & mask);
    if (j == row) diag[row] = k;
    if (k == 0 || keys[k - 1] >> bits < row) ptr[row] = k;  // no row is empty: each has its diagonal
    if (k == 0) ptr[as.n] = as.nnz;
  }
}

Status enqueue(const DevicePattern& as, std::int64_t* d_keys, std::int64_t* d_sorted, const PatternByRowsOnDevice& rows,
               simt::Scratch& scratch, simt::Stream& stream) {
  const int position_bits = std::bit_width(static_cast<std::uint64_t>(as.nnz));
  const int row_bits = std::bit_width(static_cast<std::uint32_t>(as.n));
  const simt::LaunchShape shape = {.grid = simt::blocks_for(as.nnz, threads, most_blocks), .block = threads};
  LULAB_RETURN_IF_ERROR(simt::launch(row_key_kernel, shape, stream, as, position_bits, d_keys));
  LULAB_RETURN_IF_ERROR(simt::sort_keys(d_keys, d_sorted, as.nnz, position_bits + row_bits, scratch, stream));
  return simt::launch(rows_from_keys_kernel, shape, stream, as, d_sorted, position_bits, rows.d_ptr.data(),
                      rows.d_diag.data(), rows.d_col.data(), rows.d_from.data());
}

}  // namespace
}  // namespace pattern_by_rows

Result<PatternByRowsOnDevice> PatternByRowsOnDevice::create(const DevicePattern& as, simt::Scratch& scratch,
                                                            simt::Stream& stream) {
  PatternByRowsOnDevice rows;
  LULAB_RETURN_IF_ERROR(simt::make(rows.d_ptr, as.n + std::int64_t(1)));
  LULAB_RETURN_IF_ERROR(simt::make(rows.d_diag, as.n));
  LULAB_RETURN_IF_ERROR(simt::make(rows.d_col, as.nnz));
  LULAB_RETURN_IF_ERROR(simt::make(rows.d_from, as.nnz));
  simt::DeviceBuffer<std::int64_t> d_keys, d_sorted;
  for (auto* buffer : {&d_keys, &d_sorted}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, as.nnz));
  const Status enqueued = pattern_by_rows::enqueue(as, d_keys.data(), d_sorted.data(), rows, scratch, stream);
  const Status done = stream.wait();  // the keys go
  if (!enqueued.ok()) return enqueued;
  if (!done.ok()) return done;
  return rows;
}

}  // namespace lulab
