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

constexpr int front_block = 8;  // pivots at once; a tile has as many rows and columns, a piece twice as many
constexpr int front_piece = 2 * front_block;

/// The entries of a row in the columns of a block, or those of a column in its rows.
template <class T>
struct FrontLine {
  T v[front_block];
};
template <bool is_column, class T>
__device__ __forceinline__ FrontLine<T> load_line(const T* x, int stride) {
  FrontLine<T> line;
#pragma unroll
  for (int k = 0; k < front_block; ++k) line.v[k] = x[is_column ? k * stride : k];
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
      if (lane > e) v[k] -= v[e] * of_block;
    }
  }
  return line;
}

/// Rows of L or columns of U: line i has pivot k at x[line · i + pivot · k]. Eight lines follow each other, and the
/// next eight begin `apart` lines on.
template <class T>
struct FrontOperand {
  const T* x;
  int line, pivot, apart;
};

/// A lane's part of   sum(i,j) += Σ A(i,k) · B(j,k)   for k < depth,   16 lines of A and 8 · across of B:
/// lines lane / 4 of each 8 of A, lane % 4 · 2 and the next one of B. Called by one warp.
template <int across>
__device__ __forceinline__ void add_products(double (&sum)[across][4], const FrontOperand<double>& a,
                                             const FrontOperand<double>& b, int depth) {
  const int lane = int(threadIdx.x) % 32, k_of_lane = lane % 4;
  const double* of_lane_a = a.x + lane / 4 * a.line + k_of_lane * a.pivot;
  const double* of_lane_b = b.x + lane / 4 * b.line + k_of_lane * b.pivot;
  const auto add_four = [&](const auto& masked) {
    double of_a[2], of_b[across];
#pragma unroll
    for (int h = 0; h < 2; ++h) of_a[h] = masked(of_lane_a[h * a.apart * a.line]);
#pragma unroll
    for (int c = 0; c < across; ++c) of_b[c] = masked(of_lane_b[c * b.apart * b.line]);
#pragma unroll
    for (int c = 0; c < across; ++c)
      simt::multiply_add_16x8x4(sum[c][0], sum[c][1], sum[c][2], sum[c][3], of_a[0], of_a[1], of_b[c]);
    of_lane_a += 4 * a.pivot;
    of_lane_b += 4 * b.pivot;
  };
  const int whole = depth / 4;
#pragma unroll 2
  for (int k = 0; k < whole; ++k) add_four([](double value) { return value; });
  // No condition for the load: that would be a branch.
  if (depth % 4 != 0) add_four([&](double value) { return k_of_lane < depth % 4 ? value : 0; });
}
template <int across>
__device__ __forceinline__ void add_products(float (&sum)[across][4], const FrontOperand<float>& a,
                                             const FrontOperand<float>& b, int depth) {
  const int lane = int(threadIdx.x) % 32;
  const float* const of_lane_a = a.x + lane / 4 * a.line;
  const float* const of_lane_b = b.x + lane % 4 * 2 * b.line;
#pragma unroll 2
  for (int k = 0; k < depth; ++k)
#pragma unroll
    for (int c = 0; c < across; ++c)
#pragma unroll
      for (int q = 0; q < 4; ++q)
        sum[c][q] +=
            of_lane_a[q / 2 * a.apart * a.line + k * a.pivot] * of_lane_b[(c * b.apart + q % 2) * b.line + k * b.pivot];
}

/// A front at work. Its memory has a multiple of front_piece rows and columns.
template <class T, int threads>
struct Front {
  static constexpr int warps = threads / 32, lines_of_warp = 32 - front_block;
  T* const x;
  const int stride, pivots, rows, columns;
  const int warp = simt::warp_of_block(), lane = int(threadIdx.x) % 32;

  static __device__ __forceinline__ int pieces(int lines) { return (lines + front_piece - 1) / front_piece; }
  /// Of eight lines from `first` on: the next ones, or where there are none the same ones again, which are then
  /// computed and stored twice, alike.
  static __device__ __forceinline__ int apart(int first, int lines) {
    return first + front_block < lines ? front_block : 0;
  }

  /// X(:, first ..) and X(first .., :) of a block  -=  L · U of the pivots before it
  __device__ __forceinline__ void update_block(int first) const {
    const int below = pieces(rows - first), both = below + pieces(max(0, columns - first - front_block));
    for (int piece = warp; piece < both; piece += warps) {
      const bool is_row = piece < below;
      const int at = first + (is_row ? piece * front_piece : (piece - below) * front_piece + front_block);
      const int line = is_row ? stride : 1, other = is_row ? 1 : stride, next = apart(at, is_row ? rows : columns);
      T* const own = x + (at + lane / 4) * line + (first + lane % 4 * 2) * other;
      T sum[1][4] = {}, before[4];
      const auto at_entry = [&](int q) { return q / 2 * next * line + q % 2 * other; };
#pragma unroll
      for (int q = 0; q < 4; ++q) before[q] = own[at_entry(q)];
      add_products(sum, FrontOperand<T>{x + at * line, line, other, next},
                   FrontOperand<T>{x + first * other, other, line, 0}, first);
#pragma unroll
      for (int q = 0; q < 4; ++q) own[at_entry(q)] = before[q] - sum[0][q];
    }
  }

  /// L, or with is_column U, of a block, of whose lines `count` are of pivots; the warp's other lines are from `others`
  /// on. Returns the lane's line; those of the block itself are not yet in X.
  template <bool is_column>
  __device__ __forceinline__ FrontLine<T> eliminate(const DeviceFactorsView<T>& f, int first, int others, int count,
                                                    T least, const std::uint32_t* pivot_columns, bool notes) const {
    const int wanted = lane < front_block ? first + lane : others + lane - front_block;
    const bool is_there = wanted < (is_column ? columns : rows);
    const int at = is_there ? wanted : first;
    T* const from = x + (is_column ? first * stride + at : at * stride + first);
    FrontLine<T> line = load_line<is_column>(from, stride);
    if (!eliminate_plain<is_column>(line, count, least))
      line = eliminate_any<is_column>(f, load_line<is_column>(from, stride), count, least, pivot_columns, notes);
    if (is_there && lane >= front_block) store_line<is_column>(line, from, stride);
    return line;
  }

  /// Publishes X(i,j) - Σ L(i,k) · U(k,j) for rows and columns from `begin` on, behind the blocks of pivots.
  /// out: word of X(0,0), had it one
  __device__ __forceinline__ void publish_rest(int begin, Word<T>* out) const {
    const int across = pieces(columns - begin), all = across * pieces(rows - begin);
    const float a_piece = 1 / static_cast<float>(across);
    for (int piece = warp; piece < all; piece += warps) {
      const int down = static_cast<int>((static_cast<float>(piece) + 0.5f) * a_piece);  // piece / across, sooner
      const int row = begin + down * front_piece, column = begin + (piece - down * across) * front_piece;
      const int next_row = apart(row, rows), next_column = apart(column, columns);
      T* const own = x + (row + lane / 4) * stride + column + lane % 4 * 2;
      T sum[2][4] = {}, before[2][4];
      const auto at = [&](int e) { return e % 4 / 2 * next_row * stride + e / 4 * next_column + e % 2; };
#pragma unroll
      for (int e = 0; e < 8; ++e) before[e / 4][e % 4] = own[at(e)];
      add_products(sum, FrontOperand<T>{x + row * stride, stride, 1, next_row},
                   FrontOperand<T>{x + column, 1, stride, next_column}, pivots);
#pragma unroll
      for (int e = 0; e < 8; ++e) own[at(e)] = sum[e / 4][e % 4] - before[e / 4][e % 4];
      __syncwarp();  // RACE: lanes wrote the piece, others publish it, whole rows at once
      const int i = row + lane / front_piece, j = column + lane % front_piece;
      Word<T> word[8];  // all at once: a condition around each would be eight branches
#pragma unroll
      for (int e = 0; e < 8; ++e) word[e] = word_of(x[min(i + 2 * e, rows - 1) * stride + min(j, columns - 1)]);
      Word<T>* to = out + i * (columns - pivots) + j;
      const int end = j < columns ? rows : 0;
#pragma unroll
      for (int e = 0; e < 8; ++e, to += 2 * (columns - pivots))
        if (i + 2 * e < end) publish_word<T>(to, word[e]);
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
        line = front.template eliminate<false>(f, first, next + share * Part::lines_of_warp, count, least,
                                               pivot_columns + first, task.counts_pivots != 0 && share == 0);
      else if (share < shares)
        line = front.template eliminate<true>(f, first, next + (share - of_rows) * Part::lines_of_warp, count, least,
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
