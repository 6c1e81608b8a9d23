#pragma once
// A dense task of 11_fan_in: a front, front_block pivots at a time. Device code.
//
// For each block of pivots, with a barrier after each of the two,
//
//   1. its rows and columns are updated by all pivots before it, with products on tensor cores;
//   2. they are eliminated. Each warp has the block's own rows, or columns, and 24 others; all eliminate the same
//      pivots, so that none waits for another.
//
// What is neither row nor column of a pivot is read and updated once, after all of them, and published at once.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/tensor.h"
#include "sparse_syncfree/11_fan_in_sparse.h"

namespace lulab::sparse_syncfree {

constexpr int front_block = 8;  // pivots at once; a tile has as many rows and columns, a piece two tiles each way
constexpr int front_piece = 2 * front_block;

/// The entries of a row in the columns of a block, or those of a column in its rows.
template <class T>
struct FrontLine {
  T v[front_block];
};
template <bool is_column, class T>
__device__ __forceinline__ FrontLine<T> load_line(const T* x, int stride, bool is_there) {
  FrontLine<T> line;
#pragma unroll
  for (int k = 0; k < front_block; ++k) line.v[k] = is_there ? x[is_column ? k * stride : k] : T(0);
  return line;
}
template <bool is_column, class T>
__device__ __forceinline__ void store_line(const FrontLine<T>& line, T* x, int stride) {
#pragma unroll
  for (int k = 0; k < front_block; ++k) x[is_column ? k * stride : k] = line.v[k];
}

/// A line a lane; those of the first front_block lanes are the block itself, whose first `count` rows are pivots:
///   rows      for e < count:  v(e) /= pivot(e);   for c > e:  v(c) -= v(e) · U(e,c)
///   columns   for e < count:                      for k > e:  v(k) -= L(k,e) · v(e)
/// Returns whether all pivots are plain; else what it has done counts for nothing. Asked once at the end, this is off
/// the chain of pivots. Rows and columns give the same bits for the block.   Called by one warp.
template <bool is_column, class T>
__device__ __forceinline__ bool eliminate_plain(FrontLine<T>& line, int count, T least) {
  const int lane = int(threadIdx.x) % 32;
  T(&v)[front_block] = line.v;
  T own = T(1);
#pragma unroll
  for (int e = 0; e < front_block; ++e) {
    const bool changes = lane > e && e < count;
    const T of_lane = simt::reciprocal(v[e]);
    if (lane == e) own = of_lane;
    if constexpr (is_column) {
#pragma unroll
      for (int k = e + 1; k < front_block; ++k) {
        const T l = __shfl_sync(simt::all_lanes, v[k] * of_lane, e);
        if (changes) v[k] -= l * v[e];
      }
    } else {
      const T l = v[e] * __shfl_sync(simt::all_lanes, of_lane, e);
      if (changes) v[e] = l;
#pragma unroll
      for (int c = e + 1; c < front_block; ++c) {
        const T u = __shfl_sync(simt::all_lanes, v[c], e);
        if (changes) v[c] -= l * u;
      }
    }
  }
  return !__any_sync(simt::all_lanes, lane < count && !is_plain_inverse(own, least));
}

/// The same for pivots of any size, which are perturbed, and noted by one lane where notes is true.
/// pivot_columns: (count) of As
template <bool is_column, class T>
__device__ __forceinline__ FrontLine<T> eliminate_any(const DeviceFactorsView<T>& f, FrontLine<T> line, int count,
                                                      T least, const std::uint32_t* pivot_columns, bool notes) {
  const int lane = int(threadIdx.x) % 32;
  T(&v)[front_block] = line.v;
#pragma unroll
  for (int e = 0; e < front_block; ++e) {
    if (e >= count) break;
    T pivot = __shfl_sync(simt::all_lanes, v[e], e);
    if (!is_plain(pivot, least))
      pivot = noted_pivot(f, pivot, least, static_cast<std::int32_t>(pivot_columns[e]), notes && lane == 0);
    const Inverse<T> by(pivot);
    if (lane == e) v[e] = pivot;
    if (!is_column && lane > e) v[e] = v[e] * by.scale * by.inverse;
#pragma unroll
    for (int k = e + 1; k < front_block; ++k) {
      const T of_block = __shfl_sync(simt::all_lanes, is_column ? v[k] * by.scale * by.inverse : v[k], e);
      if (lane > e) v[k] -= is_column ? of_block * v[e] : v[e] * of_block;
    }
  }
  return line;
}

/// A lane's part of -Σ L(:,k) · U(k,:)   for k < depth,   down x across tiles, which begin so many rows and columns
/// apart: of each the row lane / 4 and the columns lane % 4 · 2 and the next one. Called by one warp.
template <int down, int across>
__device__ __forceinline__ void subtract_products(double (&sum)[down][across][2], const double* l, const double* u,
                                                  int stride, int rows_apart, int columns_apart, int depth) {
  const int lane = int(threadIdx.x) % 32, k_of_lane = lane % 4;
  l += lane / 4 * stride + k_of_lane;
  u += k_of_lane * stride + lane / 4;
#pragma unroll 2
  for (int k = 0; k < depth; k += 4) {
    const bool is_there = k + k_of_lane < depth;
    double of_l[down], of_u[across];
#pragma unroll
    for (int a = 0; a < down; ++a) of_l[a] = is_there ? -l[rows_apart * a * stride + k] : 0;
#pragma unroll
    for (int b = 0; b < across; ++b) of_u[b] = is_there ? u[k * stride + columns_apart * b] : 0;
#pragma unroll
    for (int a = 0; a < down; ++a)
#pragma unroll
      for (int b = 0; b < across; ++b) simt::multiply_add_8x8x4(sum[a][b][0], sum[a][b][1], of_l[a], of_u[b]);
  }
}
template <int down, int across>
__device__ __forceinline__ void subtract_products(float (&sum)[down][across][2], const float* l, const float* u,
                                                  int stride, int rows_apart, int columns_apart, int depth) {
  const int lane = int(threadIdx.x) % 32;
  l += lane / 4 * stride;
  u += lane % 4 * 2;
#pragma unroll 2
  for (int k = 0; k < depth; ++k)
#pragma unroll
    for (int a = 0; a < down; ++a)
#pragma unroll
      for (int b = 0; b < across; ++b)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          sum[a][b][c] -= l[rows_apart * a * stride + k] * u[k * stride + columns_apart * b + c];
}

/// A front of down · n rows and columns, at work.
template <class T, int threads>
struct Front {
  static constexpr int warps = threads / 32, lines_of_warp = 32 - front_block;
  T* const x;
  const int stride, pivots, rows, columns;
  const int warp = simt::warp_of_block(), lane = int(threadIdx.x) % 32;

  /// X(:, first ..) and X(first .., :) of a block  -=  L · U of the pivots before it
  __device__ __forceinline__ void update_block(int first) const {
    const int below = (rows - first + front_block - 1) / front_block,
              tiles = below + max(0, (columns - first - 1) / front_block);
    for (int tile = warp; tile < tiles; tile += warps) {
      const int row = first + (tile < below ? tile * front_block : 0),
                column = first + (tile < below ? 0 : (tile - below + 1) * front_block);
      T sum[1][1][2] = {};
      subtract_products(sum, x + row * stride, x + column, stride, 0, 0, first);
      T* const own = x + (row + lane / 4) * stride + column + lane % 4 * 2;
#pragma unroll
      for (int c = 0; c < 2; ++c) own[c] += sum[0][0][c];
    }
  }

  /// L, or with is_column U, of a block, of whose lines `count` are of pivots; the lines after its own begin with other
  /// `others`. Returns the lane's line; those of the block itself are not yet in X.
  template <bool is_column>
  __device__ __forceinline__ FrontLine<T> eliminate(const DeviceFactorsView<T>& f, int first, int others, int count,
                                                    T least, const std::uint32_t* pivot_columns, bool notes) const {
    const int at = first + (lane < front_block ? lane : others + lane);
    T* const from = x + (is_column ? first * stride + at : at * stride + first);
    const bool is_there = at < (is_column ? columns : rows);
    FrontLine<T> line = load_line<is_column>(from, stride, is_there);
    if (!eliminate_plain<is_column>(line, count, least))
      line =
          eliminate_any<is_column>(f, load_line<is_column>(from, stride, is_there), count, least, pivot_columns, notes);
    if (is_there && lane >= front_block) store_line<is_column>(line, from, stride);
    return line;
  }

  /// Publishes X(i,j) - Σ L(i,k) · U(k,j) for rows and columns from `begin` on, behind the blocks of pivots.
  /// out: word of X(0,0), had it one
  __device__ __forceinline__ void publish_rest(int begin, Word<T>* out) const {
    const int across = (columns - begin + front_piece - 1) / front_piece,
              pieces = across * ((rows - begin + front_piece - 1) / front_piece);
    for (int piece = warp; piece < pieces; piece += warps) {
      const int row = begin + piece / across * front_piece, column = begin + piece % across * front_piece;
      const bool is_last_row = row + front_block >= rows, is_last_column = column + front_block >= columns;
      T sum[2][2][2] = {};  // a tile outside is another time the one before it
      subtract_products(sum, x + row * stride, x + column, stride, is_last_row ? 0 : front_block,
                        is_last_column ? 0 : front_block, pivots);
#pragma unroll
      for (int a = 0; a < 2; ++a)
#pragma unroll
        for (int b = 0; b < 2; ++b)
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const int i = row + front_block * a + lane / 4, j = column + front_block * b + lane % 4 * 2 + c;
            if (i < rows && j < columns)
              publish<T>(out + i * (columns - pivots) + j, -(x[i * stride + j] + sum[a][b][c]));
          }
    }
  }

  /// Publishes the rows and columns of the last block of pivots that are no pivots, if there are any.
  __device__ __forceinline__ void publish_block(int begin, Word<T>* out) const {
    for (int at = int(threadIdx.x); at < (begin - pivots) * stride; at += threads) {
      const int line = pivots + at / stride, other = at % stride;
      if (line < rows && other >= pivots && other < columns)
        publish<T>(out + line * (columns - pivots) + other, -x[line * stride + other]);
      if (line < columns && other >= begin && other < rows)
        publish<T>(out + other * (columns - pivots) + line, -x[other * stride + line]);
    }
  }
};

/// Equivalent to   for k < pivots:  perturb X(k,k) if it is small;   for i > k:  X(i,k) /= X(k,k);
///                                  for i > k, j > k:  X(i,j) -= X(i,k) · X(k,j)
///                 publish -X(i,j) for i, j >= pivots
/// Called by all threads of the block.
template <int threads, class T>
__device__ __forceinline__ void eliminate_dense(const DeviceFactorsView<T>& f, const FanInTables& tables,
                                                const FanInTask& task, Word<T>* words, T* x) {
  using Part = Front<T, threads>;
  const Part front = {x, int(task.stride), int(task.pivots), int(task.rows), int(task.columns)};
  const std::uint32_t* const pivot_columns = tables.at<std::uint32_t>(task.pivot_columns);
  const T least = least_pivot(f);
  const int blocks = (front.pivots + front_block - 1) / front_block;
#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    const int first = block * front_block, next = first + front_block, count = min(front_block, front.pivots - first);
    if (block > 0) {
      front.update_block(first);
      __syncthreads();  // RACE: warps updated the block's rows and columns, others read them
    }
    const int of_rows = max(1, (front.rows - next + Part::lines_of_warp - 1) / Part::lines_of_warp);
    const int shares = of_rows + max(0, (front.columns - next + Part::lines_of_warp - 1) / Part::lines_of_warp);
    FrontLine<T> line;
#pragma unroll 1
    for (int begin = (shares - 1) / Part::warps * Part::warps; begin >= 0; begin -= Part::warps) {
      const int share = begin + front.warp;
      if (share < of_rows)
        line = front.template eliminate<false>(f, first, share * Part::lines_of_warp, count, least,
                                               pivot_columns + first, task.counts_pivots != 0 && share == 0);
      else if (share < shares)
        line = front.template eliminate<true>(f, first, (share - of_rows) * Part::lines_of_warp, count, least,
                                              pivot_columns + first, false);
    }
    __syncthreads();  // RACE: warps wrote rows of U and columns of L, all read them; all have read the block itself
    if (front.warp == 0 && front.lane < front_block)
      store_line<false>(line, x + (first + front.lane) * front.stride + first, front.stride);
  }
  Word<T>* const out = words + task.words - front.pivots * (front.columns - front.pivots) - front.pivots;
  front.publish_rest(blocks * front_block, out);
  if (front.pivots % front_block == 0) return;
  __syncthreads();  // RACE: warp 0 wrote the last block, all read what of it is no pivot
  front.publish_block(blocks * front_block, out);
}

}  // namespace lulab::sparse_syncfree
