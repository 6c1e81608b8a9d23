#pragma once
// 01_warp_per_column: one warp eliminates one column, one launch eliminates one level.
//                                                                    Chen et al. 2015, sections 4.1, 4.2, appendix A.2
//   x = A(:,j)                                x: a dense column of length n, one for each warp         (A.2.1)
//   for k < j with U(k,j) != 0, ascending
//     x(k+1:n) -= x(k) · L(k+1:n, k)          lanes share the entries of L(:,k)                        (A.2.2)
//   U(1:j,j) = x(1:j);  L(j+1:n,j) = x(j+1:n) / x(j)
//
// The kernels of 02 and 03 call the same eliminate_column(); they differ in how a warp knows that L(:,k) is finished.

#include <cstdint>

#include "core/device_factors.h"
#include "core/simt/device_tools.h"

namespace lulab::sparse_leftlooking {

constexpr int warps_per_block = 2;  // blocks this small spread a narrow level over all multiprocessors
constexpr int batch = 8;            // columns k whose entries of L are loaded together
constexpr int strips = 4;           // of 32 entries of a long L(:,k) loaded together; 8 cost registers and are slower
constexpr std::int32_t no_row = -1;

/// x(i) -= L(i,k) · u for entries s, s + 32, ... of `strips` strips before `last`. Their rows differ, so all loads may
/// come before the first store and wait for memory together (7.7 -> 2.5 s on af23560, H200).
/// Equivalent to   for (q = 0; q < strips; ++q)
///                   if (s + 32 * q < last) x[f.row_idx[s + 32 * q]] -= f.values[s + 32 * q] * u;
template <class T>
__device__ __forceinline__ void subtract_strips(const DeviceFactorsView<T>& f, std::int64_t s, std::int64_t last, T u,
                                                T* x) {
  std::int32_t row[strips];  // of the lane's entry in each strip
  T l[strips], sum[strips];
#pragma unroll
  for (int q = 0; q < strips; ++q) {
    const bool mine = s + 32 * q < last;
    row[q] = mine ? f.row_idx[s + 32 * q] : no_row;
    l[q] = mine ? f.values[s + 32 * q] : T(0);
  }
#pragma unroll
  for (int q = 0; q < strips; ++q) sum[q] = row[q] != no_row ? x[row[q]] : T(0);
#pragma unroll
  for (int q = 0; q < strips; ++q)
    if (row[q] != no_row) x[row[q]] = sum[q] - l[q] * u;
}

/// The calling warp, all 32 lanes of it, turns column j of f.values from A into L and U. On return all lanes' stores
/// are ordered before what any lane does next.
///
/// Shapes    f: As in CSC: col_ptr (n + 1), row_idx and values (nnz), diag (n) the position of entry (j,j).
///           x: (n), the warp's own. Only the rows of column j are used; they need not be zero before or after.
/// Requires  finished(p, diag), called by all lanes with p < diag, waits until the column k = f.row_idx[p] of L is
///           finished and visible to all lanes. It returns how many of the columns at p, p + 1, ... before diag are,
///           counted from the first: at most `batch`, which also stands for "all before diag".
/// Equivalent to
///   for (s = col_ptr[j]; s < col_ptr[j + 1]; ++s) x[row_idx[s]] = values[s];
///   for (p = col_ptr[j]; p < diag[j]; ++p) {
///     k = row_idx[p];
///     for (s = diag[k] + 1; s < col_ptr[k + 1]; ++s) x[row_idx[s]] -= values[s] * x[k];
///   }
///   for (s = col_ptr[j]; s < col_ptr[j + 1]; ++s) values[s] = s <= diag[j] ? x[row_idx[s]] : x[row_idx[s]] / x[j];
template <class T, class Finished>
__device__ __forceinline__ void eliminate_column(const DeviceFactorsView<T>& f, std::int32_t j, T* x,
                                                 Finished finished) {
  simt::note_column(j);
  const int lane = threadIdx.x % 32;
  const std::int64_t begin = f.col_ptr[j], diag = f.diag[j], end = f.col_ptr[j + 1];
  for (std::int64_t s = begin + lane; s < end; s += 32) x[f.row_idx[s]] = f.values[s];  // x = A(:,j), zero at fill-in
  __syncwarp();  // RACE: lanes wrote x(i); every lane reads x(k) below; the barrier orders them

  // Batches of columns k: what does not depend on x is loaded for a whole batch at once, so that only x(k) -> x(i)
  // remains a chain of memory latencies (12.6 -> 8.5 ms on seq_nr_case13659pegase, H200).
  for (std::int64_t p = begin; p < diag;) {
    std::int32_t k[batch], row[batch];       // column of L; row of the lane's first entry in it
    std::int64_t first[batch], last[batch];  // L(:,k) lies at [first, last)
    T l[batch];                              // the lane's first entry of L(:,k)
#pragma unroll
    for (int e = 0; e < batch; ++e) k[e] = p + e < diag ? f.row_idx[p + e] : no_row;
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      first[e] = k[e] == no_row ? 0 : f.diag[k[e]] + 1;
      last[e] = k[e] == no_row ? 0 : f.col_ptr[k[e] + 1];
    }
    const int ready = finished(p, diag);  // L(:,k) may be read for that many
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      const bool mine = e < ready && first[e] + lane < last[e];
      row[e] = mine ? f.row_idx[first[e] + lane] : no_row;
      l[e] = mine ? f.values[first[e] + lane] : T(0);
    }
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      if (e >= ready || k[e] == no_row) break;
      // lab: warp_column begin
      const T u = x[k[e]];  // U(k,j), final: every k' < k has been applied
      if (row[e] != no_row) x[row[e]] -= l[e] * u;
      for (std::int64_t s = first[e] + 32 + lane; s < last[e]; s += 32 * strips)
        subtract_strips(f, s, last[e], u, x);  // x(i) -= L(i,k) · U(k,j)
      __syncwarp();  // RACE: lanes wrote x(i); the next k and the lanes below read them; the barrier orders them
      // lab: warp_column end
    }
    p += ready;
  }

  const T pivot = x[j];
  bool sound = pivot != T(0);
  for (std::int64_t s = begin + lane; s < end; s += 32) {
    const T value = s <= diag ? x[f.row_idx[s]] : x[f.row_idx[s]] / pivot;  // U(1:j,j), then L(j+1:n,j)
    f.values[s] = value;
    sound = sound && simt::is_finite(value);
  }
  // RACE: warps of this launch lower failed_column; the atomic orders them, the end of the launch publishes it
  if (!sound) atomicMin(f.failed_column, j);
  // RACE: lanes read x(i) and wrote L(:,j), U(:,j); the warp's next column overwrites x, and a flag may publish column
  // j; the barrier orders them
  __syncwarp();
}

/// Earlier launches finished every column that a column of this level needs.
struct FinishedByEarlierLaunch {
  __device__ __forceinline__ int operator()(std::int64_t, std::int64_t) const { return batch; }
};

/// Warps take the columns of one level in turn.
/// grid: at most work_slots / warps_per_block   block: 32 * warps_per_block   shared: none
/// level_cols: (level_size) columns of the level   work: (work_slots, n) a dense column for each warp
template <class T>
__global__ void eliminate_level_kernel(DeviceFactorsView<T> f, const std::int32_t* level_cols, std::int64_t level_size,
                                       T* work) {
  const std::int64_t warp = simt::thread_of_grid() / 32, n_warps = simt::threads_of_grid() / 32;
  T* x = work + warp * f.n;  // (n)
  for (std::int64_t c = warp; c < level_size; c += n_warps)
    eliminate_column(f, level_cols[c], x, FinishedByEarlierLaunch{});
}

}  // namespace lulab::sparse_leftlooking
