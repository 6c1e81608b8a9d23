#pragma once
// A dense task of 11_fan_in: a front in registers. Device code.
//
// Thread (r, c) of down x across (FanInShape) has the rows r, r + down, ... and the columns c, c + across, ... of the
// front. Row and column k of a pivot travel through shared memory, with one barrier a pivot. Meanwhile the threads do
// the rest of the update by pivot k - 1, all but row and column k, which its owners have updated first.

#include <cstdint>

#include "sparse_syncfree/11_fan_in_sparse.h"

namespace lulab::sparse_syncfree {

/// A thread's part of a front of at most down · tiles rows and columns.
template <class T, int threads, int tiles>
struct FrontPart {
  static constexpr FanInShape shape = {threads};
  static constexpr int across = shape.across(), down = shape.down();
  static constexpr int rows = tiles, columns = 2 * tiles;
  T x[rows][columns];
  int row = threadIdx.x / across, column = threadIdx.x % across;  // the first ones
};

/// Pivots across · block to across · (block + 1) - 1, those that there are; then the next block.
/// exchange: (2, 2, max_front) columns and rows of two pivots
template <int block, class T, int threads, int tiles>
__device__ __forceinline__ void eliminate_pivots(const DeviceFactorsView<T>& f, FrontPart<T, threads, tiles>& part,
                                                 int pivots, const std::uint32_t* pivot_columns, bool counts, T least,
                                                 T* exchange) {
  if constexpr (block < 2 * tiles) {
    constexpr int first = block / 2;  // of the thread's rows; its columns begin with `block`
    using Part = FrontPart<T, threads, tiles>;
    constexpr int rows = Part::rows, columns = Part::columns, across = Part::across, down = Part::down;
    constexpr int max_front = Part::shape.max_front();
    if (across * block >= pivots) return;
    const int row = part.row, column = part.column;
    const int count = min(across, pivots - across * block);
    if (column == 0) {
#pragma unroll
      for (int i = first; i < rows; ++i) exchange[row + down * i] = part.x[i][block];
    }
    if (row == block % 2 * across) {
#pragma unroll
      for (int j = block; j < columns; ++j) exchange[max_front + column + across * j] = part.x[first][j];
    }
    T l[rows] = {}, u[columns] = {};  // of the pivot before
#pragma unroll 1
    for (int e = 0; e < count; ++e) {
      const int pivot_row = block % 2 * across + e;  // of the threads that have it
      T* const from = exchange + e % 2 * 2 * max_front;
      T* const to = exchange + (e + 1) % 2 * 2 * max_front;
      __syncthreads();  // RACE: owners wrote row and column e, all read them; all have read those that are overwritten
      const T value = from[across * block + e];
      T next_l[rows], next_u[columns];
#pragma unroll
      for (int i = first; i < rows; ++i) next_l[i] = from[row + down * i];
#pragma unroll
      for (int j = block; j < columns; ++j) next_u[j] = from[max_front + column + across * j];
        // No product with what is 0 because it is outside: it would be NaN where the other factor is infinite.
#pragma unroll
      for (int i = first; i < rows; ++i)
#pragma unroll
        for (int j = block; j < columns; ++j)
          if ((i > first || row > pivot_row) && (j > block || column > e)) part.x[i][j] -= l[i] * u[j];
      T pivot = value, inverse;
      if (is_plain(value, least)) {
        inverse = simt::reciprocal(value);
      } else {
        const bool notes = counts && threadIdx.x == 0;
        const std::int32_t of_a = notes ? static_cast<std::int32_t>(pivot_columns[across * block + e]) : 0;
        pivot = noted_pivot(f, value, least, of_a, notes);
        const Inverse<T> by(pivot);
#pragma unroll
        for (int i = first; i < rows; ++i) next_l[i] *= by.scale;
        inverse = by.inverse;
      }
#pragma unroll
      for (int i = first; i < rows; ++i) l[i] = next_l[i] * inverse;
#pragma unroll
      for (int j = block; j < columns; ++j) u[j] = next_u[j];
      if (column == e) {
#pragma unroll
        for (int i = first; i < rows; ++i)
          if (i > first || row > pivot_row) part.x[i][block] = l[i];
        if (row == pivot_row) part.x[first][block] = pivot;
      }
      if (e + 1 == count) break;
      if (column == e + 1) {
#pragma unroll
        for (int i = first; i < rows; ++i) {
          if (i > first || row > pivot_row) part.x[i][block] -= l[i] * u[block];
          to[row + down * i] = part.x[i][block];
        }
      }
      if (row == pivot_row + 1) {
#pragma unroll
        for (int j = block; j < columns; ++j) {
          if (j > block || column > e + 1) part.x[first][j] -= l[first] * u[j];
          to[max_front + column + across * j] = part.x[first][j];
        }
      }
    }
#pragma unroll
    for (int i = first; i < rows; ++i)
#pragma unroll
      for (int j = block; j < columns; ++j)
        if ((i > first || row > block % 2 * across + count - 1) && (j > block || column > count - 1))
          part.x[i][j] -= l[i] * u[j];
    eliminate_pivots<block + 1>(f, part, pivots, pivot_columns, counts, least, exchange);
  }
}

template <class T, int threads, int tiles>
__device__ __noinline__ void eliminate_front(const DeviceFactorsView<T>& f, const FanInTables& tables,
                                             const FanInTask& task, Word<T>* words, T* x, T* exchange) {
  FrontPart<T, threads, tiles> part;
  constexpr int across = part.across, down = part.down, stride = down * tiles;
  const int pivots = static_cast<int>(task.pivots), rows = static_cast<int>(task.rows),
            columns = static_cast<int>(task.columns);
#pragma unroll
  for (int i = 0; i < part.rows; ++i)
#pragma unroll
    for (int j = 0; j < part.columns; ++j) part.x[i][j] = x[(part.row + down * i) * stride + part.column + across * j];
  eliminate_pivots<0>(f, part, pivots, tables.at<std::uint32_t>(task.pivot_columns), task.counts_pivots != 0,
                      least_pivot(f), exchange);
  Word<T>* const out = words + task.words;
#pragma unroll
  for (int i = 0; i < part.rows; ++i)
#pragma unroll
    for (int j = 0; j < part.columns; ++j) {
      const int r = part.row + down * i, c = part.column + across * j;
      if (r < pivots || c < pivots)
        x[r * stride + c] = part.x[i][j];
      else if (r < rows && c < columns)
        publish<T>(out + (r - pivots) * (columns - pivots) + c - pivots, -part.x[i][j]);
    }
}

/// Equivalent to   for k < pivots:  perturb X(k,k) if it is small;   for i > k:  X(i,k) /= X(k,k);
///                                  for i > k, j > k:  X(i,j) -= X(i,k) · X(k,j)
///                 publish -X(i,j) for i, j >= pivots
/// Called by all threads of the block.
template <int threads, class T>
__device__ __forceinline__ void eliminate_dense(const DeviceFactorsView<T>& f, const FanInTables& tables,
                                                const FanInTask& task, Word<T>* words, T* x, T* exchange) {
  switch (task.stride / FanInShape{threads}.down()) {
    case 1: eliminate_front<T, threads, 1>(f, tables, task, words, x, exchange); break;
    case 2: eliminate_front<T, threads, 2>(f, tables, task, words, x, exchange); break;
    case 3: eliminate_front<T, threads, 3>(f, tables, task, words, x, exchange); break;
    default: eliminate_front<T, threads, 4>(f, tables, task, words, x, exchange);
  }
}

}  // namespace lulab::sparse_syncfree
