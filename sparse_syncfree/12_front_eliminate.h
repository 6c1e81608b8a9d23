#pragma once
// Pivots of a tile of 12_multifrontal, front_depth at a time, in shared memory. Device code.
//
// Entry (i,j) of a tile lies at front_at(i, j).

#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/tensor.h"
#include "sparse_syncfree/12_front_launch.h"
#include "sparse_syncfree/pivot_inverse.h"

namespace lulab::sparse_syncfree {

/// What divides by the pivots of a tile.
template <class T>
struct FrontPivots {
  T* inverse;  // (front_tile)
  T* scale;    // (front_tile)

  __device__ __forceinline__ void set(int k, const Inverse<T>& by) const {
    inverse[k] = by.inverse;
    scale[k] = by.scale;
  }
  __device__ __forceinline__ FrontPivots from(int k) const { return {inverse + k, scale + k}; }
};

/// 16 x 16 entries of a tile:   X -= Σ L(:,k) · U(k,:)   for k < depth.   Called by one warp.
__device__ __forceinline__ void update_piece(double* x, const double* l, const double* u, int depth) {
  const int lane = int(threadIdx.x) % 32, k_of_lane = lane % 4, other = lane / 4;
  double sum[2][4] = {};
  l += front_at(other, k_of_lane);
  u += front_at(k_of_lane, other);
#pragma unroll
  for (int k = 0; k < front_depth; k += 4) {
    const bool is_there = k + k_of_lane < depth;  // no condition for the loads: each would be a branch
    double of_l[2], of_u[2];
#pragma unroll
    for (int a = 0; a < 2; ++a) {
      of_l[a] = l[front_at(8 * a, k)];
      of_u[a] = u[front_at(k, 8 * a)];
    }
#pragma unroll
    for (int a = 0; a < 2; ++a) {
      of_l[a] = is_there ? of_l[a] : 0;
      of_u[a] = is_there ? of_u[a] : 0;
    }
#pragma unroll
    for (int b = 0; b < 2; ++b)
      simt::multiply_add_16x8x4(sum[b][0], sum[b][1], sum[b][2], sum[b][3], of_l[0], of_l[1], of_u[b]);
  }
  x += front_at(other, 2 * k_of_lane);
#pragma unroll
  for (int b = 0; b < 2; ++b)
#pragma unroll
    for (int c = 0; c < 4; ++c) x[front_at(c / 2 * 8, 8 * b + c % 2)] -= sum[b][c];
}
__device__ __forceinline__ void update_piece(float* x, const float* l, const float* u, int depth) {
  const int row = int(threadIdx.x) % 32 / 16, column = int(threadIdx.x) % 16;
  float sum[8] = {};
  l += front_at(row, 0);
  u += column;
  for (int k = 0; k < depth; ++k) {
    const float of_u = u[front_at(k, 0)];
#pragma unroll
    for (int a = 0; a < 8; ++a) sum[a] += l[front_at(2 * a, k)] * of_u;
  }
#pragma unroll
  for (int a = 0; a < 8; ++a) x[front_at(row + 2 * a, column)] -= sum[a];
}

/// X(i,j) -= Σ L(i,k) · U(k,j)   for i < rows, j < columns, both rounded up to pieces of 16, and k < depth
/// Called by all threads of the block.
template <class T>
__device__ __forceinline__ void update(T* x, int rows, int columns, const T* l, const T* u, int depth) {
  const int across = (columns + 15) / 16, pieces = across * ((rows + 15) / 16);
  for (int piece = simt::warp_of_block(); piece < pieces; piece += front_threads / 32) {
    const int row = piece / across * 16, column = piece % across * 16;
    update_piece(x + front_at(row, column), l + front_at(row, 0), u + column, depth);
  }
}

/// A row of X / U, or with `transposed` a column of L \ X:
///   for k < count:  x(k) /= pivot k, of U;   for j > k, j < front_depth:  x(j) -= x(k) · triangle(k,j)
/// x, triangle: of a tile, or with `transposed` of the transposed of one. Called by one thread a row.
template <bool transposed, class T>
__device__ __forceinline__ void solve_row(T* x, const T* triangle, int count, FrontPivots<T> pivots) {
  const auto at = [](int i, int j) { return transposed ? front_at(j, i) : front_at(i, j); };
  T v[front_depth];
#pragma unroll
  for (int k = 0; k < front_depth; ++k) v[k] = x[at(0, k)];
#pragma unroll
  for (int k = 0; k < front_depth; ++k) {
    const bool is_pivot = k < count;
    if (!transposed && is_pivot) v[k] = v[k] * pivots.scale[k] * pivots.inverse[k];
    const T by = is_pivot ? v[k] : T(0);
#pragma unroll
    for (int j = k + 1; j < front_depth; ++j) v[j] -= by * triangle[at(k, j)];
  }
#pragma unroll
  for (int k = 0; k < front_depth; ++k) x[at(0, k)] = v[k];
}

/// L(b,b) U(b,b) = X(b,b), a lane a row; of its front_depth rows and columns the first `count` are pivots. Does nothing
/// where a pivot may not be plain, and returns whether all are: asked once at the end, this is off the chain of pivots.
/// Called by one warp.
template <class T>
__device__ __forceinline__ bool factor_plain_block(T* x, int count, T least, FrontPivots<T> pivots) {
  const int lane = int(threadIdx.x) % 32, row = lane % front_depth;
  T d[front_depth];
#pragma unroll
  for (int c = 0; c < front_depth; ++c) d[c] = x[front_at(row, c)];
#pragma unroll
  for (int e = 0; e < front_depth; ++e) {
    const T inverse = simt::reciprocal(__shfl_sync(simt::all_lanes, d[e], e)), l = d[e] * inverse;
    if (lane == 0) pivots.inverse[e] = inverse;
    const bool changes = row > e && e < count;
    if (changes) d[e] = l;
#pragma unroll
    for (int c = e + 1; c < front_depth; ++c) {
      const T u = __shfl_sync(simt::all_lanes, d[c], e);
      if (changes) d[c] -= l * u;
    }
  }
  __syncwarp();  // RACE: lane 0 wrote what divides by the pivots, all read it
  if (__any_sync(simt::all_lanes, lane < count && !is_plain_inverse(pivots.inverse[row], least))) return false;
  if (lane < front_depth) {
    pivots.scale[lane] = T(1);
#pragma unroll
    for (int c = 0; c < front_depth; ++c) x[front_at(row, c)] = d[c];
  }
  return true;
}

/// The same for pivots of any size, which are perturbed and counted.   first_column: of As
/// Called by one warp.
template <class T>
__device__ __noinline__ void factor_block(DeviceFactorsView<T> f, T* x, int count, T least, std::int32_t first_column,
                                          FrontPivots<T> pivots) {
  const int lane = int(threadIdx.x) % 32;
  for (int e = 0; e < count; ++e) {
    __syncwarp();  // RACE: lanes wrote their rows, all read row e
    T pivot = x[front_at(e, e)];
    if (!is_plain(pivot, least)) pivot = noted_pivot(f, pivot, least, first_column + e, lane == 0);
    const Inverse<T> by(pivot);
    __syncwarp();  // RACE: all have read the pivot, which one lane overwrites
    if (lane == e) {
      x[front_at(e, e)] = pivot;
      pivots.set(e, by);
    }
    if (lane <= e || lane >= front_depth) continue;
    const T l = x[front_at(lane, e)] * by.scale * by.inverse;
    x[front_at(lane, e)] = l;
    for (int c = e + 1; c < front_depth; ++c) x[front_at(lane, c)] -= l * x[front_at(e, c)];
  }
}

enum class TileKind { diagonal, of_l, of_u };

/// The pivots of a tile, front_depth at a time:
///   diagonal   L U = X, where only the first `pivots` of X's rows and columns are pivots; the rest is updated
///   of_l       X = X / U       with the triangles of `diagonal`, which is X itself where X has the pivots
///   of_u       X = L \ X
/// Shapes   X: (rows, columns).   first_column: of the pivots, in As
/// Called by all threads of the block; ends with a barrier.
template <class T>
__device__ __forceinline__ void eliminate(const DeviceFactorsView<T>& f, TileKind part, T* x, int rows, int columns,
                                          const T* diagonal, int pivots, std::int32_t first_column, FrontPivots<T> by) {
  const int thread = static_cast<int>(threadIdx.x), warp = simt::warp_of_block();
  const bool is_diagonal = part == TileKind::diagonal;
  const T least = least_pivot(f);
  for (int first = 0; first < pivots; first += front_depth) {
    const int count = min(front_depth, pivots - first), next = first + front_depth;
    const FrontPivots<T> of_block = by.from(is_diagonal ? 0 : first);
    if (is_diagonal) {
      T* const block = x + front_at(first, first);
      if (warp == 0 && !factor_plain_block(block, count, least, by))
        factor_block(f, block, count, least, first_column + first, by);
      __syncthreads();  // RACE: one warp wrote the block and its pivots, all read them
    }
    const T* const triangle = diagonal + front_at(first, first);
    const int row = part == TileKind::of_l ? 0 : next, column = part == TileKind::of_u ? 0 : next;
    if (warp < 2 && part != TileKind::of_u) {
      if (row + thread < rows) solve_row<false>(x + front_at(row + thread, first), triangle, count, of_block);
    } else if (warp >= 2 && warp < 4 && part != TileKind::of_l) {
      if (column + thread - 64 < columns)
        solve_row<true>(x + front_at(first, column + thread - 64), triangle, count, of_block);
    }
    __syncthreads();  // RACE: threads wrote rows of U and columns of L, all read them
    const int rows_left = (part == TileKind::of_u ? pivots : rows) - row,
              columns_left = (part == TileKind::of_l ? pivots : columns) - column;
    if (rows_left <= 0 || columns_left <= 0) continue;
    update(x + front_at(row, column), rows_left, columns_left,
           (part == TileKind::of_u ? diagonal : x) + front_at(row, first),
           (part == TileKind::of_l ? diagonal : x) + front_at(first, column), count);
    __syncthreads();  // RACE: threads wrote the rest of X, others read it
  }
}

}  // namespace lulab::sparse_syncfree
