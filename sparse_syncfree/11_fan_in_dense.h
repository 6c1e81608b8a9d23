#pragma once
// A dense task of 11_fan_in: a front of up to 128 rows and columns in registers. Device code.
//
// Thread (r, c) of 32 x 16 has the rows r, r + 32, ... and the columns c, c + 16, ... of the front. Row and column k of
// a pivot travel through shared memory, with one barrier a pivot. Meanwhile the threads do the rest of the update by
// pivot k - 1, all but row and column k, which its owners have updated first.

#include <cstdint>

#include "sparse_syncfree/11_fan_in_sparse.h"

namespace lulab::sparse_syncfree {

/// A thread's part of a front of at most 32 · tiles rows and columns.
template <class T, int tiles>
struct FrontPart {
  static constexpr int rows = tiles, columns = 2 * tiles;
  T x[rows][columns];
  int row = threadIdx.x / 16, column = threadIdx.x % 16;  // the first ones
};

/// Pivots 16 · block to 16 · block + 15, those that there are; then the next block.
/// exchange: (2, 2, 128) columns and rows of two pivots
template <int block, class T, int tiles>
__device__ __forceinline__ void eliminate_pivots(const DeviceFactorsView<T>& f, FrontPart<T, tiles>& part, int pivots,
                                                 const std::uint32_t* pivot_columns, bool counts, T least,
                                                 T* exchange) {
  if constexpr (block < 2 * tiles) {
    constexpr int first = block / 2;  // of the thread's rows; its columns begin with `block`
    constexpr int rows = FrontPart<T, tiles>::rows, columns = FrontPart<T, tiles>::columns;
    if (16 * block >= pivots) return;
    const int row = part.row, column = part.column;
    const int count = min(16, pivots - 16 * block);
    if (column == 0) {
#pragma unroll
      for (int i = first; i < rows; ++i) exchange[row + 32 * i] = part.x[i][block];
    }
    if (row == block % 2 * 16) {
#pragma unroll
      for (int j = block; j < columns; ++j) exchange[max_fan_in_front + column + 16 * j] = part.x[first][j];
    }
    T l[rows] = {}, u[columns] = {};  // of the pivot before
#pragma unroll 1
    for (int e = 0; e < count; ++e) {
      const int pivot_row = block % 2 * 16 + e;  // of the threads that have it
      T* const from = exchange + e % 2 * 2 * max_fan_in_front;
      T* const to = exchange + (e + 1) % 2 * 2 * max_fan_in_front;
      __syncthreads();  // RACE: owners wrote row and column e, all read them; all have read those that are overwritten
      const T value = from[16 * block + e];
      T next_l[rows], next_u[columns];
#pragma unroll
      for (int i = first; i < rows; ++i) next_l[i] = from[row + 32 * i];
#pragma unroll
      for (int j = block; j < columns; ++j) next_u[j] = from[max_fan_in_front + column + 16 * j];
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
        const std::int32_t of_a = notes ? static_cast<std::int32_t>(pivot_columns[16 * block + e]) : 0;
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
          to[row + 32 * i] = part.x[i][block];
        }
      }
      if (row == pivot_row + 1) {
#pragma unroll
        for (int j = block; j < columns; ++j) {
          if (j > block || column > e + 1) part.x[first][j] -= l[first] * u[j];
          to[max_fan_in_front + column + 16 * j] = part.x[first][j];
        }
      }
    }
#pragma unroll
    for (int i = first; i < rows; ++i)
#pragma unroll
      for (int j = block; j < columns; ++j)
        if ((i > first || row > block % 2 * 16 + count - 1) && (j > block || column > count - 1))
          part.x[i][j] -= l[i] * u[j];
    eliminate_pivots<block + 1>(f, part, pivots, pivot_columns, counts, least, exchange);
  }
}

template <class T, int tiles>
__device__ __noinline__ void eliminate_front(const DeviceFactorsView<T>& f, const FanInTables& tables,
                                             const FanInTask& task, Word<T>* words, T* x, T* exchange) {
  constexpr int stride = 32 * tiles;
  FrontPart<T, tiles> part;
  const int pivots = static_cast<int>(task.pivots), rows = static_cast<int>(task.rows),
            columns = static_cast<int>(task.columns);
#pragma unroll
  for (int i = 0; i < part.rows; ++i)
#pragma unroll
    for (int j = 0; j < part.columns; ++j) part.x[i][j] = x[(part.row + 32 * i) * stride + part.column + 16 * j];
  eliminate_pivots<0>(f, part, pivots, tables.at<std::uint32_t>(task.pivot_columns), task.counts_pivots != 0,
                      least_pivot(f), exchange);
  Word<T>* const out = words + task.words;
#pragma unroll
  for (int i = 0; i < part.rows; ++i)
#pragma unroll
    for (int j = 0; j < part.columns; ++j) {
      const int r = part.row + 32 * i, c = part.column + 16 * j;
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
template <class T>
__device__ __forceinline__ void eliminate_dense(const DeviceFactorsView<T>& f, const FanInTables& tables,
                                                const FanInTask& task, Word<T>* words, T* x, T* exchange) {
  switch (task.stride) {
    case 32: eliminate_front<T, 1>(f, tables, task, words, x, exchange); break;
    case 64: eliminate_front<T, 2>(f, tables, task, words, x, exchange); break;
    case 96: eliminate_front<T, 3>(f, tables, task, words, x, exchange); break;
    default: eliminate_front<T, 4>(f, tables, task, words, x, exchange);
  }
}

}  // namespace lulab::sparse_syncfree
