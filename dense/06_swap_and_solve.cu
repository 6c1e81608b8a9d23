// A thread block takes 32 columns at a time. It keeps their rows that belong to the factored block, and the block's L,
// in shared memory.
//
//   w(t) = A(source(t), :)                                  the rows that the swaps bring up
//   for each strip of 32 rows
//     solve with its triangle                               a warp for each column, a lane for each row
//     w(below) -= L(below, strip) · w(strip)                a lane for each column, four rows at a time

#include "dense/06_swap_and_solve.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/simt/device_tools.h"
#include "dense/04_net_moves.h"
#include "dense/04_row_swaps.h"

namespace lulab::dense {
namespace {

constexpr int max_solve_rows = 128;  // of a launch
constexpr int warps = 8;
constexpr int tile_columns = 32;
constexpr int columns_per_warp = tile_columns / warps;
constexpr int rows_per_lane = max_solve_rows / 32;
constexpr int rows_at_once = 4;
constexpr int l_stride = max_solve_rows + 1;  // odd: lanes that read down a column use different banks
constexpr int w_stride = tile_columns + 1;

template <class T>
constexpr std::size_t shared_bytes = sizeof(T) * max_solve_rows*(l_stride + w_stride);

/// Equivalent to   for each column j:  for s = 0 .. n_swaps - 1:  swap A(first + s, j) and A(ipiv[first + s], j)
///                                     for k, for i > k in the block:  A(i,j) -= L(i,k) · A(k,j)
/// grid: any   block: 32 * warps   shared: shared_bytes<T> and 3 KB
template <class T>
__global__ void __launch_bounds__(32 * warps)
    swap_and_solve_kernel(DeviceDense<T> a, std::int32_t first, std::int32_t n_rows, std::int32_t n_swaps,
                          std::int32_t first_col, std::int32_t end_col) {
  LULAB_DYNAMIC_SHARED(T, memory);
  T* l = memory;                              // (n_rows, n_rows) row by row, zero beyond the block's last row
  T* w = memory + max_solve_rows * l_stride;  // (n_rows, tile_columns) row by row
  LULAB_SHARED(std::int32_t, swap, max_solve_rows);
  LULAB_SHARED(std::int32_t, from, 2 * max_solve_rows);
  LULAB_SHARED(std::int32_t, to, 2 * max_solve_rows);
  LULAB_SHARED(std::int32_t, source, max_solve_rows);  // the row that is moved to row first + t
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const std::int32_t end = first + n_rows;

  for (int s = thread; s < max_solve_rows; s += 32 * warps) {
    if (s < n_swaps) swap[s] = a.ipiv[first + s];
    source[s] = first + s;
  }
  for (int c = warp; c < max_solve_rows; c += warps)
    for (int r = lane; r < max_solve_rows; r += 32)
      l[r * l_stride + c] = c < r && r < n_rows ? a.a[first + r + (first + c) * a.ld] : T(0);
  __syncthreads();  // RACE: a thread wrote swap(s); every thread follows its rows through all of them
  net_moves(first, n_swaps, swap, from, to);
  __syncthreads();  // RACE: a thread wrote from(t), to(t); lanes of every warp read them below
  for (int t = thread; t < 2 * n_swaps; t += 32 * warps)
    if (from[t] != no_move && to[t] < end) source[to[t] - first] = from[t];
  __syncthreads();  // RACE: a thread wrote source(t), a lane of every warp reads it; also for l

  for (std::int32_t tile = first_col + static_cast<std::int32_t>(blockIdx.x) * tile_columns; tile < end_col;
       tile += static_cast<std::int32_t>(gridDim.x) * tile_columns) {
    // Columns of the warp: rows that come into the block go to w, rows that leave it to their new places.
    for (int q = 0; q < columns_per_warp; ++q) {
      const int c = warp * columns_per_warp + q;
      const bool exists = tile + c < end_col;
      T* column = a.a + std::int64_t(exists ? tile + c : tile) * a.ld;
      T leaving[2 * rows_per_lane];
#pragma unroll
      for (int m = 0; m < 2 * rows_per_lane; ++m) {
        const int t = 32 * m + lane;
        leaving[m] = exists && t < 2 * n_swaps && from[t] != no_move && to[t] >= end ? column[from[t]] : T(0);
      }
#pragma unroll
      for (int m = 0; m < rows_per_lane; ++m) {
        const int t = 32 * m + lane;
        w[t * w_stride + c] = exists && t < n_rows ? column[source[t]] : T(0);
      }
      __syncwarp();  // RACE: lanes read rows of the column that other lanes write below; the barrier orders them
#pragma unroll
      for (int m = 0; m < 2 * rows_per_lane; ++m) {
        const int t = 32 * m + lane;
        if (exists && t < 2 * n_swaps && from[t] != no_move && to[t] >= end) column[to[t]] = leaving[m];
      }
    }

    for (int strip = 0; strip < n_rows; strip += 32) {
      __syncwarp();  // RACE: lanes wrote w of the warp's columns; other lanes read them
      T u[columns_per_warp];
#pragma unroll
      for (int q = 0; q < columns_per_warp; ++q) u[q] = w[(strip + lane) * w_stride + warp * columns_per_warp + q];
      const T* l_row = l + (strip + lane) * l_stride + strip;
#pragma unroll 8
      for (int k = 0; k < 32; ++k) {
        const T factor = l_row[k];
#pragma unroll
        for (int q = 0; q < columns_per_warp; ++q) {
          const T done = __shfl_sync(0xffffffffu, u[q], k);
          if (k < lane) u[q] -= factor * done;
        }
      }
#pragma unroll
      for (int q = 0; q < columns_per_warp; ++q) w[(strip + lane) * w_stride + warp * columns_per_warp + q] = u[q];
      __syncthreads();  // RACE: each warp solved its columns of the strip; all warps read them
      for (int r = strip + 32 + warp * rows_at_once; r < n_rows; r += warps * rows_at_once) {
        T sum[rows_at_once];
#pragma unroll
        for (int q = 0; q < rows_at_once; ++q) sum[q] = w[(r + q) * w_stride + lane];
#pragma unroll 8
        for (int k = strip; k < strip + 32; ++k) {
          const T solved = w[k * w_stride + lane];
#pragma unroll
          for (int q = 0; q < rows_at_once; ++q) sum[q] -= l[(r + q) * l_stride + k] * solved;
        }
#pragma unroll
        for (int q = 0; q < rows_at_once; ++q) w[(r + q) * w_stride + lane] = sum[q];
      }
      __syncthreads();  // RACE: each warp updated its rows of all columns; the next strip reads them by columns
    }

    for (int q = 0; q < columns_per_warp; ++q) {
      const int c = warp * columns_per_warp + q;
      if (tile + c >= end_col) continue;
      T* column = a.a + std::int64_t(tile + c) * a.ld + first;
      for (int t = lane; t < n_rows; t += 32) column[t] = w[t * w_stride + c];
    }
    __syncwarp();  // RACE: lanes read w of the warp's columns, which lanes write for the next tile
  }
}

}  // namespace

template <class T>
Status swap_rows_and_solve(const DeviceDense<T>& a, std::int32_t first, std::int32_t end, std::int32_t first_col,
                           std::int32_t end_col, simt::Blas& blas, simt::Stream& stream) {
  if (!(0 <= first && first <= end && end <= first_col && first_col <= end_col && end_col <= a.n))
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("rows [{}, {}) and columns [{}, {}) of a {} x {} matrix; give columns right of the rows", first,
                    end, first_col, end_col, a.n, a.n));
  if (first == end || first_col == end_col) return {};
  constexpr unsigned enough_blocks = 264;  // each loads L once
  const unsigned tiles = simt::blocks_for(end_col - first_col, tile_columns);
  const simt::LaunchShape shape{
      .grid = std::min(tiles, enough_blocks), .block = 32 * warps, .shared_bytes = shared_bytes<T>};
  const bool swaps_with_solve = end - first <= max_solve_rows;
  if (!swaps_with_solve) LULAB_RETURN_IF_ERROR(swap_rows(a, first, end, first_col, end_col, stream));
  for (std::int32_t k = first, next; k < end; k = next) {
    next = std::min(k + max_solve_rows, end);
    LULAB_RETURN_IF_ERROR(simt::launch(swap_and_solve_kernel<T>, shape, stream, a, k, next - k,
                                       swaps_with_solve ? next - k : 0, first_col, end_col));
    LULAB_RETURN_IF_ERROR(blas.subtract_product(end - next, end_col - first_col, next - k, a.a + next + k * a.ld, a.ld,
                                                a.a + k + first_col * a.ld, a.ld, a.a + next + first_col * a.ld, a.ld));
  }
  return {};
}

template Status swap_rows_and_solve(const DeviceDense<float>&, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                                    simt::Blas&, simt::Stream&);
template Status swap_rows_and_solve(const DeviceDense<double>&, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                                    simt::Blas&, simt::Stream&);

}  // namespace lulab::dense
