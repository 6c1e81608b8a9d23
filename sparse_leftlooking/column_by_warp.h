#pragma once
// What the left-looking GPU rungs share: one warp eliminates one column.        Chen et al. 2015, section 4.2, appendix A
//
//   x = A(:,j)                                uncompressed: x is a dense vector of length n       (appendix A.2.1)
//   for k < j with U(k,j) != 0, ascending     nonzeros sorted, so lanes touch neighbouring memory (appendix A.2.2)
//     x(k+1:n) -= x(k) · L(k+1:n, k)          lanes share the entries of L(:,k), once it is finished
//   U(1:j,j) = x(1:j);  L(j+1:n,j) = x(j+1:n) / x(j)
//
// A rung adds who eliminates which column when, and how a warp knows that L(:,k) is finished.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/device_factorizer.h"
#include "core/simt/kernel.h"

namespace lulab::sparse_leftlooking {

constexpr int warps_per_block = 2;  // blocks this small spread a narrow level over all SMs
constexpr int max_blocks_per_sm = 16;
constexpr int batch = 8;   // entries of U(:,j) whose columns of L are fetched together
constexpr int strips = 4;  // of 32 entries of a long L(:,k) in flight together; 8 cost registers and lose on circuits
constexpr std::int32_t none = -1;

/// x(i) -= L(i,k) · u for entries s, s + 32, ... of `strips` strips before `last`: their rows differ, so all loads may come
/// before the first store and wait for memory together (7.7 -> 2.5 s on af23560, H200).
template <class T>
__device__ __forceinline__ void subtract_strips(const DeviceFactorsView<T>& f, std::int64_t s, std::int64_t last, T u,
                                                T* x) {
  std::int32_t row[strips];
  T l[strips], sum[strips];
#pragma unroll
  for (int q = 0; q < strips; ++q) {
    const bool mine = s + 32 * q < last;
    row[q] = mine ? f.row_idx[s + 32 * q] : none;
    l[q] = mine ? f.values[s + 32 * q] : T(0);
  }
#pragma unroll
  for (int q = 0; q < strips; ++q) sum[q] = row[q] != none ? x[row[q]] : T(0);
#pragma unroll
  for (int q = 0; q < strips; ++q)
    if (row[q] != none) x[row[q]] = sum[q] - l[q] * u;
}

/// The calling warp, all 32 lanes of it, turns column j of f.values from A into L and U. On return all lanes' stores
/// are ordered before what any lane does next.
///
/// Shapes    x: (n), the warp's own; only positions of the column's own pattern are used, nothing is expected in them.
/// Requires  finished(p, diag), called by all lanes with p < diag, waits until the column k = f.row_idx[p] of L is
///           finished and visible to all lanes, and answers how many of the columns at p, p + 1, ... before diag are so,
///           counted from the first; `batch` when that many are, or all before diag.
template <class T, class Finished>
__device__ __forceinline__ void eliminate_column(const DeviceFactorsView<T>& f, std::int32_t j, T* x,
                                                 Finished finished) {
  const int lane = threadIdx.x % 32;
  const std::int64_t begin = f.col_ptr[j], diag = f.diag[j], end = f.col_ptr[j + 1];
  for (std::int64_t s = begin + lane; s < end; s += 32) x[f.row_idx[s]] = f.values[s];  // x = A(:,j), zero at fill-in
  __syncwarp();  // RACE: lanes wrote x(i); every lane reads x(k) below; the barrier orders them

  // U(k,j) != 0, ascending k, in batches: what does not depend on x is fetched for a whole batch at once, so that only
  // x(k) -> x(i) remains a chain of memory latencies (12.6 -> 8.5 ms on seq_nr_case13659pegase, H200).
  for (std::int64_t p = begin; p < diag;) {
    std::int32_t k[batch], row[batch];
    std::int64_t first[batch], last[batch];
    T l[batch];
#pragma unroll
    for (int e = 0; e < batch; ++e) k[e] = p + e < diag ? f.row_idx[p + e] : none;
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      first[e] = k[e] == none ? 0 : f.diag[k[e]] + 1;  // L(:,k) lies at [first, last)
      last[e] = k[e] == none ? 0 : f.col_ptr[k[e] + 1];
    }
    const int ready = finished(p, diag);  // L(:,k) may be read for that many
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      const bool mine = e < ready && first[e] + lane < last[e];
      row[e] = mine ? f.row_idx[first[e] + lane] : none;
      l[e] = mine ? f.values[first[e] + lane] : T(0);
    }
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      if (e >= ready || k[e] == none) break;
      const T u = x[k[e]];  // final: every k' < k has been applied
      if (row[e] != none) x[row[e]] -= l[e] * u;
      for (std::int64_t s = first[e] + 32 + lane; s < last[e]; s += 32 * strips)
        subtract_strips(f, s, last[e], u, x);  // x(i) -= L(i,k) · U(k,j)
      __syncwarp();  // RACE: lanes wrote x(i); the next k and the lanes below read them; the barrier orders them
    }
    p += ready;
  }

  const T pivot = x[j];
  bool sound = pivot != T(0);
  for (std::int64_t s = begin + lane; s < end; s += 32) {
    const T value = s <= diag ? x[f.row_idx[s]] : x[f.row_idx[s]] / pivot;  // U(1:j,j), then L(j+1:n,j)
    f.values[s] = value;
    sound = sound && value - value == T(0);  // false for NaN and infinity
  }
  // RACE: warps of this launch lower failed_column; the atomic orders them, the end of the launch publishes it
  if (!sound) atomicMin(f.failed_column, j);
  // RACE: lanes read x(i) and wrote L(:,j), U(:,j); the next column overwrites x, and a flag may tell of column j; the
  // barrier orders them
  __syncwarp();
}

/// A DeviceFactorizer whose warps own a dense column each.
template <class T>
class ColumnByWarpFactorizer : public DeviceFactorizer<T> {
 public:
  explicit ColumnByWarpFactorizer(const FactorOptions& options)
      : DeviceFactorizer<T>({.order = options.shuffle_nonzeros ? RowOrder::shuffled : RowOrder::sorted}),
        blocks_per_sm_(options.warps_per_sm > 0 ? std::max(1, options.warps_per_sm / warps_per_block)
                                                : max_blocks_per_sm) {}

 protected:
  /// Dense columns for as many blocks as can be resident, and are useful when `columns` are eliminated at once, within
  /// a quarter of the device's memory; the schedule's columns beside them.
  ///
  /// Errors    out_of_memory, device_error.
  Status make_work(int resident_blocks_per_sm, std::int64_t columns) {
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    const std::int64_t n = this->analysis().filled.n;
    const std::int64_t block_bytes = warps_per_block * std::max<std::int64_t>(n, 1) * std::int64_t(sizeof(T));
    const std::int64_t resident = std::int64_t(device->sm_count) * std::min(resident_blocks_per_sm, blocks_per_sm_);
    const std::int64_t affordable = std::int64_t(device->memory_bytes / 4) / block_bytes;
    max_blocks_ = std::max<std::int64_t>(1, std::min({resident, blocks_for(columns), affordable}));

    auto work = simt::DeviceBuffer<T>::create(max_blocks_ * warps_per_block * n);
    if (!work.ok()) return work.status();
    d_work_ = std::move(*work);
    auto level_cols = simt::DeviceBuffer<std::int32_t>::create(this->analysis().schedule.level_cols, *this->stream());
    if (!level_cols.ok()) return level_cols.status();
    d_level_cols_ = std::move(*level_cols);
    return {};
  }

  /// Enqueues a kernel that eliminates level_cols[first .. first + size).
  template <class... P, class... A>
  Status eliminate(void (*kernel)(P...), const DeviceFactorsView<T>& f, std::int64_t first, std::int64_t size,
                   simt::Stream& stream, A&&... args) {
    if (size == 0) return {};
    const auto grid = static_cast<unsigned>(std::min(max_blocks_, blocks_for(size)));
    return simt::launch(kernel, {.grid = grid, .block = 32 * warps_per_block}, stream, f, d_level_cols_.data() + first,
                        size, d_work_.data(), std::forward<A>(args)...);
  }

  std::int64_t work_bytes() const override {
    return std::int64_t(sizeof(T)) * d_work_.size() + std::int64_t(sizeof(std::int32_t)) * d_level_cols_.size();
  }

 private:
  static std::int64_t blocks_for(std::int64_t columns) { return (columns + warps_per_block - 1) / warps_per_block; }

  const int blocks_per_sm_;                        // at most
  simt::DeviceBuffer<std::int32_t> d_level_cols_;  // (n) the schedule's
  simt::DeviceBuffer<T> d_work_;                   // (max_blocks_ * warps_per_block, n)
  std::int64_t max_blocks_ = 1;
};

}  // namespace lulab::sparse_leftlooking
