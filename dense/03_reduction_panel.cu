// For each column k, two launches:
//
//   find_pivot_kernel   p = argmax |A(k:, k)|: among the lanes of a warp by shuffles, among the warps of a block
//                       through shared memory, among the blocks through global memory: the block that finishes last
//                       reduces what all have found, then swaps rows k and p
//   eliminate_kernel    A(i,j) -= A(i,k)/A(k,k) · A(k,j)
//
// All threads of eliminate_kernel read A(i,k), so none may divide it in place there: it becomes L(i,k) when the search
// in column k + 1 passes over row i.

#include "dense/03_reduction_panel.h"

#include <algorithm>
#include <limits>

#include "core/simt/device_tools.h"

namespace lulab::dense {
namespace {

constexpr int max_threads = 256;
constexpr int max_search_blocks = 32;  // so that one warp reduces what they have found
constexpr int columns_per_thread = 8;  // of eliminate_kernel; they share one division

/// The better pivot of two: the larger magnitude, of equals the upper row; a NaN is better than any number.
template <class T>
__device__ __forceinline__ PivotCandidate<T> better(PivotCandidate<T> a, PivotCandidate<T> b) {
  const bool a_is_nan = a.magnitude != a.magnitude, b_is_nan = b.magnitude != b.magnitude;
  const bool equal = a.magnitude == b.magnitude || (a_is_nan && b_is_nan);
  const bool a_is_larger = a_is_nan || a.magnitude > b.magnitude;
  return (equal ? a.row < b.row : a_is_larger) ? a : b;
}

/// Worse than every candidate.
template <class T>
__device__ __forceinline__ PivotCandidate<T> no_candidate() {
  return {T(-1), std::numeric_limits<std::int32_t>::max()};
}

/// The best of the lanes' candidates.   Result valid in lane 0.   Called by whole warps.
template <class T>
__device__ __forceinline__ PivotCandidate<T> best_of_warp(PivotCandidate<T> best) {
  // lab: argmax begin
  for (int offset = 16; offset > 0; offset /= 2)
    best = better(
        best, {__shfl_down_sync(0xffffffffu, best.magnitude, offset), __shfl_down_sync(0xffffffffu, best.row, offset)});
  // lab: argmax end
  return best;
}

/// The best of the threads' candidates.   Result valid in thread 0.   Called by the whole block; shared: one candidate
/// for each warp.
template <class T>
__device__ __forceinline__ PivotCandidate<T> best_of_block(PivotCandidate<T> best) {
  LULAB_SHARED(PivotCandidate<T>, of_warp, max_threads / 32);
  // lab: argmax begin
  best = best_of_warp(best);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = best;
  __syncthreads();  // RACE: lane 0 of each warp wrote of_warp; the first warp reads all of them
  if (threadIdx.x < 32) best = best_of_warp(threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : no_candidate<T>());
  // lab: argmax end
  return best;
}

/// A(i,k) becomes L(i,k), unless the pivot is zero and step k is skipped.
template <class T>
__device__ __forceinline__ void divide_by_pivot(const DeviceDense<T>& a, std::int32_t i, std::int32_t k) {
  const T pivot = a.a[k + k * a.ld];
  if (pivot != T(0)) a.a[i + k * a.ld] = a.a[i + k * a.ld] / pivot;
}

/// Finds the pivot of column k, swaps its row with row k in columns [first_col, end_col), and divides L(:,k-1).
/// grid: at most max_search_blocks   block: whole warps, at most max_threads   shared: one candidate for each warp
/// candidates: (grid)   n_done: (1) 0 on entry and on exit
template <class T>
__global__ void find_pivot_kernel(DeviceDense<T> a, std::int32_t k, std::int32_t first_col, std::int32_t end_col,
                                  PivotCandidate<T>* candidates, std::uint32_t* n_done) {
  PivotCandidate<T> best = no_candidate<T>();
  for (std::int64_t i = k + std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.n;
       i += std::int64_t(gridDim.x) * blockDim.x) {  // thread_of_grid() would cost 4 registers here
    const T value = a.a[i + k * a.ld];
    best = better(best, {value < T(0) ? -value : value, static_cast<std::int32_t>(i)});
    if (k > first_col) divide_by_pivot(a, static_cast<std::int32_t>(i), k - 1);
  }
  best = best_of_block(best);

  LULAB_SHARED(bool, is_last, 1);
  LULAB_SHARED(std::int32_t, pivot_row, 1);
  if (threadIdx.x == 0) {
    candidates[blockIdx.x] = best;
    const cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> done(*n_done);
    // RACE: releases this block's candidate and, through the barrier in best_of_block(), its L(i,k-1); the last block
    // acquires those of all
    is_last[0] = done.fetch_add(1, cuda::std::memory_order_acq_rel) == gridDim.x - 1;
  }
  // RACE: thread 0 wrote is_last and acquired what the other blocks wrote; all threads go on from there
  __syncthreads();
  if (!is_last[0]) return;

  if (threadIdx.x < 32) {
    best = best_of_warp(threadIdx.x < gridDim.x ? candidates[threadIdx.x] : no_candidate<T>());
    if (threadIdx.x == 0) {
      pivot_row[0] = a.ipiv[k] = best.row;
      if (best.magnitude == T(0) && *a.info == 0) *a.info = k + 1;
      *n_done = 0;
    }
  }
  __syncthreads();  // RACE: thread 0 wrote pivot_row; all threads read it
  const std::int32_t p = pivot_row[0];
  if (p == k) return;
  for (std::int64_t j = first_col + threadIdx.x; j < end_col; j += blockDim.x) {
    const T upper = a.a[k + j * a.ld];
    a.a[k + j * a.ld] = a.a[p + j * a.ld];
    a.a[p + j * a.ld] = upper;
  }
}

/// A(i,j) -= A(i,k)/A(k,k) · A(k,j): a thread for each row, columns_per_thread columns each.
/// grid: enough for (rows below k, columns k+1 .. end_col-1)   block: any   shared: none
template <class T>
__global__ void eliminate_kernel(DeviceDense<T> a, std::int32_t k, std::int32_t end_col) {
  const std::int64_t i = k + 1 + simt::thread_of_grid();
  const std::int64_t first = k + 1 + std::int64_t(blockIdx.y) * columns_per_thread;
  const T pivot = a.a[k + k * a.ld];
  if (i >= a.n || pivot == T(0)) return;
  const T l = a.a[i + k * a.ld] / pivot;  // L(i,k)
#pragma unroll
  for (int c = 0; c < columns_per_thread; ++c)
    if (first + c < end_col)
      a.a[i + (first + c) * a.ld] -= l * a.a[k + (first + c) * a.ld];  // A(i,j) -= L(i,k) · U(k,j)
}

/// L(:,k), a thread for each row below k; for the last column of a panel, which no search follows.
template <class T>
__global__ void divide_column_kernel(DeviceDense<T> a, std::int32_t k) {
  const std::int64_t i = k + 1 + simt::thread_of_grid();
  if (i < a.n) divide_by_pivot(a, static_cast<std::int32_t>(i), k);
}

unsigned threads_for(std::int32_t rows) { return std::min<unsigned>(max_threads, 32 * simt::blocks_for(rows, 32)); }

}  // namespace

template <class T>
Result<ReductionWork<T>> ReductionWork<T>::create(simt::Stream& stream) {
  ReductionWork work;
  LULAB_ASSIGN_OR_RETURN(work.candidates, simt::DeviceBuffer<PivotCandidate<T>>::create(max_search_blocks));
  LULAB_ASSIGN_OR_RETURN(work.n_done, simt::DeviceBuffer<std::uint32_t>::create(1));
  LULAB_RETURN_IF_ERROR(work.n_done.fill_bytes(0, stream));
  return work;
}

template <class T>
std::int64_t ReductionWork<T>::bytes() const {
  return candidates.size() * std::int64_t(sizeof(PivotCandidate<T>)) + n_done.size() * 4;
}

template <class T>
Status factor_panel_by_reduction(const DeviceDense<T>& a, std::int32_t first_col, std::int32_t end_col,
                                 const ReductionWork<T>& work, simt::Stream& stream) {
  for (std::int32_t k = first_col; k < end_col; ++k) {
    const std::int32_t rows = a.n - k;
    const unsigned threads = threads_for(rows);
    const unsigned search_blocks = std::min<unsigned>(max_search_blocks, simt::blocks_for(rows, threads));
    LULAB_RETURN_IF_ERROR(simt::launch(find_pivot_kernel<T>, {.grid = search_blocks, .block = threads}, stream, a, k,
                                       first_col, end_col, work.candidates.data(), work.n_done.data()));
    if (k + 1 == a.n) break;
    const dim3 blocks(simt::blocks_for(rows - 1, threads), simt::blocks_for(end_col - k - 1, columns_per_thread));
    if (k + 1 < end_col)
      LULAB_RETURN_IF_ERROR(
          simt::launch(eliminate_kernel<T>, {.grid = blocks, .block = threads}, stream, a, k, end_col));
    else
      LULAB_RETURN_IF_ERROR(simt::launch(divide_column_kernel<T>, {.grid = blocks.x, .block = threads}, stream, a, k));
  }
  return {};
}

#define LULAB_INSTANTIATE(T)                                                                   \
  template struct ReductionWork<T>;                                                            \
  template Status factor_panel_by_reduction(const DeviceDense<T>&, std::int32_t, std::int32_t, \
                                            const ReductionWork<T>&, simt::Stream&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab::dense
