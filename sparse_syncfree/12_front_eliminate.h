#pragma once
// Pivots of a tile of 12_multifrontal, front_depth at a time, in shared memory. Device code.

#include <cstdint>

#include "core/simt/device_tools.h"
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
};

/// A matrix in shared memory: entry (i,j) at i · rows + j · columns.
template <class T>
struct Strided {
  T* at;
  int rows, columns;

  __device__ __forceinline__ T& operator()(int i, int j) const { return at[i * rows + j * columns]; }
  __device__ __forceinline__ Strided from(int i, int j) const { return {&(*this)(i, j), rows, columns}; }
  __device__ __forceinline__ Strided transposed() const { return {at, columns, rows}; }
};

/// X(i,j) -= Σ L(i,k) · U(k,j)   for i < rows, j < columns, k < depth
/// Called by all threads of the block.   Requires rows, columns <= front_tile.
template <class T>
__device__ __forceinline__ void update(const Strided<T>& x, int rows, int columns, const Strided<T>& l,
                                       const Strided<T>& u, int depth) {
  const int row = int(threadIdx.x) / 16, column = int(threadIdx.x) % 16;
  T sum[4][4] = {};
  for (int k = 0; k < depth; ++k) {
    T of_l[4], of_u[4];
#pragma unroll
    for (int a = 0; a < 4; ++a) of_l[a] = row + 16 * a < rows ? l(row + 16 * a, k) : T(0);
#pragma unroll
    for (int b = 0; b < 4; ++b) of_u[b] = column + 16 * b < columns ? u(k, column + 16 * b) : T(0);
#pragma unroll
    for (int a = 0; a < 4; ++a)
#pragma unroll
      for (int b = 0; b < 4; ++b)
        if (16 * a < rows && 16 * b < columns) sum[a][b] += of_l[a] * of_u[b];
  }
#pragma unroll
  for (int a = 0; a < 4; ++a)
#pragma unroll
    for (int b = 0; b < 4; ++b)
      if (row + 16 * a < rows && column + 16 * b < columns) x(row + 16 * a, column + 16 * b) -= sum[a][b];
}

/// One row of a triangular solve from the right:   for k < count:  x(k) /= pivot k, if it divides;
///                                                 for j > k, j < front_depth:  x(j) -= x(k) · triangle(k,j)
/// x: a row of one matrix. Called by one thread a row.
template <class T>
__device__ __forceinline__ void solve_row(const Strided<T>& x, const Strided<T>& triangle, int count, bool divides,
                                          const FrontPivots<T>& pivots) {
  T v[front_depth];
#pragma unroll
  for (int k = 0; k < front_depth; ++k) v[k] = x(0, k);
#pragma unroll
  for (int k = 0; k < front_depth; ++k) {
    if (k >= count) break;
    if (divides) v[k] = v[k] * pivots.scale[k] * pivots.inverse[k];
#pragma unroll
    for (int j = k + 1; j < front_depth; ++j) v[j] -= v[k] * triangle(k, j);
  }
#pragma unroll
  for (int k = 0; k < front_depth; ++k) x(0, k) = v[k];
}

/// L(b,b) U(b,b) = X(b,b), a lane a row; the last front_depth - count pivots are none.
/// Called by one warp.   first_column: of As
template <class T>
__device__ __forceinline__ void factor_block(const DeviceFactorsView<T>& f, const Strided<T>& x, int count,
                                             std::int32_t first_column, const FrontPivots<T>& pivots) {
  const int lane = int(threadIdx.x) % 32, row = lane % front_depth;
  const T least = least_pivot(f);
  T d[front_depth];
#pragma unroll
  for (int c = 0; c < front_depth; ++c) d[c] = x(row, c);
#pragma unroll
  for (int e = 0; e < front_depth; ++e) {
    if (e >= count) break;
    T pivot = __shfl_sync(simt::all_lanes, d[e], e);
    T scale = T(1), inverse;
    if (is_plain(pivot, least)) {
      inverse = simt::reciprocal(pivot);
    } else {
      pivot = noted_pivot(f, pivot, least, first_column + e, lane == 0);
      const Inverse<T> by(pivot);
      scale = by.scale;
      inverse = by.inverse;
    }
    const T l = d[e] * scale * inverse;
    if (row == e) {
      d[e] = pivot;
      pivots.inverse[e] = inverse;
      pivots.scale[e] = scale;
    }
    if (row > e) d[e] = l;
#pragma unroll
    for (int c = e + 1; c < front_depth; ++c) {
      const T u = __shfl_sync(simt::all_lanes, d[c], e);
      if (row > e) d[c] -= l * u;
    }
  }
  if (lane < front_depth) {
#pragma unroll
    for (int c = 0; c < front_depth; ++c) x(row, c) = d[c];
  }
}

/// Equivalent to   for k < pivots:  perturb X(k,k) if it is small;   for i > k:  X(i,k) /= X(k,k);
///                                  for i > k, j > k:  X(i,j) -= X(i,k) · X(k,j)
/// X: (rows, rows).   Called by all threads of the block; ends with a barrier.
template <class T>
__device__ __forceinline__ void eliminate_pivots(const DeviceFactorsView<T>& f, const Strided<T>& x, int rows,
                                                 int pivots, std::int32_t first_column, const FrontPivots<T>& by) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int first = 0; first < pivots; first += front_depth) {
    const int count = min(front_depth, pivots - first), next = first + front_depth;
    const Strided<T> block = x.from(first, first);
    if (thread < 32) factor_block(f, block, count, first_column + first, by);
    __syncthreads();  // RACE: one warp wrote the block and its pivots, all read them
    if (thread < front_tile && next + thread < rows)
      solve_row(x.from(next + thread, first), block, count, true, by);
    else if (thread >= front_tile && next + thread - front_tile < rows)
      solve_row(x.from(first, next + thread - front_tile).transposed(), block.transposed(), count, false, by);
    __syncthreads();  // RACE: threads wrote rows of U and columns of L, all read them
    if (next < rows) {
      update(x.from(next, next), rows - next, rows - next, x.from(next, first), x.from(first, next), count);
      __syncthreads();  // RACE: threads wrote the rest of X, others read it
    }
  }
}

/// X(:, k) of a tile of L:   X = X / U, where U is the upper triangle of `diagonal`.   With the transposed of both, and
/// divides = false:   X = L \ X of a tile of U.
/// X: (rows, pivots).   Called by all threads of the block; ends with a barrier.
template <class T>
__device__ __forceinline__ void solve_tile(const Strided<T>& x, int rows, int pivots, const Strided<T>& diagonal,
                                           bool divides, const FrontPivots<T>& by) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int first = 0; first < pivots; first += front_depth) {
    const int count = min(front_depth, pivots - first), next = first + front_depth;
    if (thread < rows)
      solve_row(x.from(thread, first), diagonal.from(first, first), count, divides,
                {by.inverse + first, by.scale + first});
    __syncthreads();  // RACE: threads wrote columns of X, all read them
    if (next < pivots) {
      update(x.from(0, next), rows, pivots - next, x.from(0, first), diagonal.from(first, next), count);
      __syncthreads();  // RACE: threads wrote the rest of X, others read it
    }
  }
}

}  // namespace lulab::sparse_syncfree
