// One swap after another is a chain of memory latencies in every column. Here each block first follows the rows through
// the swaps without touching the matrix; what is left are moves row -> row that do not depend on each other. Then warps
// take columns: a warp reads all values that move, and writes them to their new rows.

#include "dense/04_row_swaps.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/simt/device_tools.h"
#include "dense/04_net_moves.h"

namespace lulab::dense {
namespace {

constexpr int warps_per_block = 8;
constexpr std::int64_t max_blocks = 1024;
constexpr std::int32_t max_row_swaps = 256;  // of a launch
constexpr int moves_per_lane = 2 * max_row_swaps / 32;

/// Equivalent to   for each column j, for s = 0 .. n_swaps - 1:  swap A(first_swap + s, j) and A(ipiv[first_swap + s],
/// j)
/// grid: any   block: 32 * warps_per_block   shared: 5 KB
template <class T>
__global__ void swap_rows_kernel(DeviceDense<T> a, std::int32_t first_swap, std::int32_t n_swaps,
                                 std::int32_t first_col, std::int32_t end_col) {
  LULAB_SHARED(std::int32_t, swap, max_row_swaps);
  LULAB_SHARED(std::int32_t, from, 2 * max_row_swaps);
  LULAB_SHARED(std::int32_t, to, 2 * max_row_swaps);
  for (std::int32_t s = threadIdx.x; s < n_swaps; s += blockDim.x) swap[s] = a.ipiv[first_swap + s];
  __syncthreads();  // RACE: a thread wrote swap(s); every thread follows its rows through all of them
  net_moves(first_swap, n_swaps, swap, from, to);
  __syncthreads();  // RACE: a thread wrote from(t), to(t); a lane of every warp makes move t

  const int lane = threadIdx.x % 32;
  const std::int64_t warp = std::int64_t(blockIdx.x) * warps_per_block + threadIdx.x / 32;
  for (std::int64_t j = first_col + warp; j < end_col; j += std::int64_t(gridDim.x) * warps_per_block) {
    T* column = a.a + j * a.ld;
    T value[moves_per_lane];
#pragma unroll
    for (int m = 0; m < moves_per_lane; ++m) {
      const std::int32_t t = 32 * m + lane;
      value[m] = t < 2 * n_swaps && from[t] != no_move ? column[from[t]] : T(0);
    }
    __syncwarp();  // RACE: lanes read the rows that move; other lanes write these rows below; the barrier orders them
#pragma unroll
    for (int m = 0; m < moves_per_lane; ++m) {
      const std::int32_t t = 32 * m + lane;
      if (t < 2 * n_swaps && from[t] != no_move) column[to[t]] = value[m];
    }
  }
}

}  // namespace

template <class T>
Status swap_rows(const DeviceDense<T>& a, std::int32_t first_swap, std::int32_t end_swap, std::int32_t first_col,
                 std::int32_t end_col, simt::Stream& stream) {
  if (!(0 <= first_swap && first_swap <= end_swap && end_swap <= a.n))
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("swaps {}..{} of {}; give a range inside", first_swap, end_swap, a.n));
  if (!(0 <= first_col && first_col <= end_col && end_col <= a.n))
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("columns {}..{} of {}; give a range inside", first_col, end_col, a.n));
  if (first_swap == end_swap || first_col == end_col) return {};
  const unsigned blocks = simt::blocks_for(end_col - first_col, warps_per_block, max_blocks);
  for (std::int32_t k = first_swap; k < end_swap; k += max_row_swaps)
    LULAB_RETURN_IF_ERROR(simt::launch(swap_rows_kernel<T>, {.grid = blocks, .block = 32 * warps_per_block}, stream, a,
                                       k, std::min(max_row_swaps, end_swap - k), first_col, end_col));
  return {};
}

template Status swap_rows(const DeviceDense<float>&, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                          simt::Stream&);
template Status swap_rows(const DeviceDense<double>&, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                          simt::Stream&);

}  // namespace lulab::dense
