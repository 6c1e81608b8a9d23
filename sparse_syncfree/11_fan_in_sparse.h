#pragma once
// A sparse task of 11_fan_in: lists say what is multiplied. Device code.

#include <cstdint>

#include "sparse_syncfree/11_fan_in_words.h"
#include "sparse_syncfree/pivot_inverse.h"

namespace lulab::sparse_syncfree {

/// What divides by the pivots of a sparse task.
template <class T>
struct Divisors {
  T* inverse;             // (pivots)
  T* scale;               // (pivots)
  std::int32_t* is_used;  // 0: all scales are 1

  __device__ __forceinline__ bool are_used() const {
    const cuda::atomic_ref<std::int32_t, cuda::thread_scope_block> used(*is_used);
    // RACE: those of this level may be set meanwhile: its products need earlier ones, which a barrier orders
    return used.load(cuda::memory_order_relaxed) != 0;
  }

  __device__ __forceinline__ T divided(T value, std::uint32_t pivot, bool scaled) const {
    return scaled ? value * scale[pivot] * inverse[pivot] : value * inverse[pivot];
  }
};

/// Equivalent to   for each row of the group:  finish(row, Σ L(i,k) · U(k,j) over its products), by one lane
/// X has L(i,k) times its pivot.   Called by all threads of the block.
template <class T, class Finish>
__device__ __forceinline__ void sum_products(const FanInGroup& group, const FanInRow* rows,
                                             const FanInProduct* products, const T* x, const Divisors<T>& by,
                                             const Finish& finish) {
  const int lanes = 1 << group.log_lanes, lane = int(threadIdx.x) & (lanes - 1);
  const int step = int(blockDim.x) >> group.log_lanes;
  int r = int(threadIdx.x) >> group.log_lanes;
  const bool scaled = by.are_used();
  for (int of_warp = int(threadIdx.x & ~31u) >> group.log_lanes; of_warp < group.rows; of_warp += step, r += step) {
    const FanInRow row = r < group.rows ? rows[group.first_row + r] : FanInRow{0, 0, 0};
    const FanInProduct* const own = products + (row.first_item & 0xffffffu);
    T sum = T(0);
#pragma unroll 2
    for (int q = lane; q < row.count; q += lanes) {
      const FanInProduct p = own[q];
      sum += by.divided(x[p & 4095u], p >> 24, scaled) * x[p >> 12 & 4095u];
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0 && r < group.rows) finish(row, sum);
  }
}

/// Equivalent to   for each level, entry (i,j) of it:  X(i,j) -= Σ L(i,k) · U(k,j);   publish the sums
/// Called by all threads of the block.
template <class T>
__device__ __forceinline__ void eliminate_sparse(const DeviceFactorsView<T>& f, const FanInTables& tables,
                                                 const FanInTask& task, Word<T>* words, T* x, const Divisors<T>& by) {
  const T least = least_pivot(f);
  {
    const FanInGroup* const groups = tables.at<FanInGroup>(task.levels.groups);
    const FanInRow* const rows = tables.at<FanInRow>(task.levels.rows);
    const FanInProduct* const products = tables.at<FanInProduct>(task.levels.items);
    const std::uint32_t* const columns = tables.at<std::uint32_t>(task.pivot_columns);
    for (std::uint32_t g = 0; g < task.levels.n_groups; ++g) {
      const FanInGroup group = groups[g];
      sum_products(group, rows, products, x, by, [&](const FanInRow& row, T sum) {
        T value = x[row.place] - sum;
        const std::uint32_t pivot = row.first_item >> 24;
        if (pivot != no_pivot) {
          if (is_plain(value, least)) {
            by.inverse[pivot] = simt::reciprocal(value);
            by.scale[pivot] = T(1);
          } else {
            value = noted_pivot(f, value, least, static_cast<std::int32_t>(columns[pivot]), true);
            const Inverse<T> inverse(value);
            by.inverse[pivot] = inverse.inverse;
            by.scale[pivot] = inverse.scale;
            // RACE: lanes of one level store the same; the barrier after the level orders it before its readers
            cuda::atomic_ref<std::int32_t, cuda::thread_scope_block>(*by.is_used).store(1, cuda::memory_order_relaxed);
          }
        }
        x[row.place] = value;
      });
      if (group.ends_level) __syncthreads();  // RACE: threads changed entries of a level, the next one reads them
    }
  }
  const FanInGroup* const groups = tables.at<FanInGroup>(task.sums.groups);
  const FanInRow* const rows = tables.at<FanInRow>(task.sums.rows);
  const FanInProduct* const products = tables.at<FanInProduct>(task.sums.items);
  for (std::uint32_t g = 0; g < task.sums.n_groups; ++g)
    sum_products(groups[g], rows, products, x, by,
                 [&](const FanInRow& row, T sum) { publish<T>(words + task.words + row.place, sum); });
}

}  // namespace lulab::sparse_syncfree
