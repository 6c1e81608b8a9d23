#pragma once
// A tile of 12_multifrontal in registers: what it adds and subtracts before its own pivots. Device code.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/loads.h"
#include "core/simt/prefetch.h"
#include "core/simt/staging.h"
#include "core/simt/tensor.h"
#include "sparse_syncfree/12_front_launch.h"

namespace lulab::sparse_syncfree {

/// What a thread has of a tile: entries (row(a), column(b)).
template <class T>
struct TilePart;

/// Of double: a warp has 32 x 16 entries in pieces of 16 x 8, which tensor cores multiply.
template <>
struct TilePart<double> {
  double x[4][4];

  static __device__ __forceinline__ int row(int a) {
    return int(threadIdx.x) / 128 * 32 + 8 * a + int(threadIdx.x) % 32 / 4;
  }
  static __device__ __forceinline__ int column(int b) {
    return int(threadIdx.x) / 32 % 4 * 16 + 8 * (b / 2) + int(threadIdx.x) % 4 * 2 + b % 2;
  }

  /// x(i,j) -= Σ l(k,i) · u(k,j)   for k < depth.   l, u: (front_depth, staged_stride), zero from depth on to the next
  /// multiple of 4
  __device__ __forceinline__ void subtract(const double* l, const double* u, int depth) {
    const int k_of_lane = int(threadIdx.x) % 4, other = int(threadIdx.x) % 32 / 4;
    l += k_of_lane * staged_stride + int(threadIdx.x) / 128 * 32 + other;
    u += k_of_lane * staged_stride + int(threadIdx.x) / 32 % 4 * 16 + other;
#pragma unroll 2
    for (int k = 0; k < depth; k += 4) {
      double of_l[4], of_u[2];
#pragma unroll
      for (int a = 0; a < 4; ++a) of_l[a] = l[k * staged_stride + 8 * a];
#pragma unroll
      for (int b = 0; b < 2; ++b) of_u[b] = -u[k * staged_stride + 8 * b];
#pragma unroll
      for (int a = 0; a < 4; a += 2)
#pragma unroll
        for (int b = 0; b < 2; ++b)
          simt::multiply_add_16x8x4(x[a][2 * b], x[a][2 * b + 1], x[a + 1][2 * b], x[a + 1][2 * b + 1], of_l[a],
                                    of_l[a + 1], of_u[b]);
    }
  }
};

/// Of float: a thread has rows and columns 16 apart.
template <>
struct TilePart<float> {
  float x[4][4];

  static __device__ __forceinline__ int row(int a) { return int(threadIdx.x) / 16 + 16 * a; }
  static __device__ __forceinline__ int column(int b) { return int(threadIdx.x) % 16 + 16 * b; }

  /// As that of double.
  __device__ __forceinline__ void subtract(const float* l, const float* u, int depth) {
    l += row(0);
    u += column(0);
#pragma unroll 4
    for (int k = 0; k < depth; ++k)
#pragma unroll
      for (int a = 0; a < 4; ++a)
#pragma unroll
        for (int b = 0; b < 4; ++b) x[a][b] -= l[k * staged_stride + 16 * a] * u[k * staged_stride + 16 * b];
  }
};

/// X(i,j) = entries of As, zero where there are none. A warp a column.   columns: (front_tile)
template <class T>
__device__ __forceinline__ void load_entries(const DeviceFactorsView<T>& f, const FrontColumn* columns, T* x) {
  constexpr int warps = front_threads / 32, columns_a_warp = front_tile / warps, rows_a_lane = front_tile / 32;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  FrontColumn column[columns_a_warp];
  T value[columns_a_warp][rows_a_lane];  // all are on their way before the first one is stored
#pragma unroll
  for (int k = 0; k < columns_a_warp; ++k) column[k] = columns[warp + k * warps];
#pragma unroll
  for (int k = 0; k < columns_a_warp; ++k)
#pragma unroll
    for (int r = 0; r < rows_a_lane; ++r) {
      const std::uint64_t rows = column[k].rows, bit = std::uint64_t(1) << (lane + 32 * r);
      value[k][r] = simt::load_if(rows & bit, f.values + column[k].position + __popcll(rows & (bit - 1)));
    }
#pragma unroll
  for (int k = 0; k < columns_a_warp; ++k)
#pragma unroll
    for (int r = 0; r < rows_a_lane; ++r) x[front_at(lane + 32 * r, warp + k * warps)] = value[k][r];
}

/// The entries of As = X(i,j); notes the column of one that is not finite as failed.
template <class T>
__device__ __forceinline__ void store_entries(const DeviceFactorsView<T>& f, const FrontColumn* columns, int count,
                                              const T* x) {
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
#pragma unroll 4
  for (int c = warp; c < count; c += front_threads / 32) {
    const FrontColumn column = columns[c];
#pragma unroll
    for (int row = lane; row < front_tile; row += 32) {
      const std::uint64_t bit = std::uint64_t(1) << row;
      if (!(column.rows & bit)) continue;
      const T value = x[front_at(row, c)];
      f.values[column.position + __popcll(column.rows & (bit - 1))] = value;
      // RACE: blocks lower failed_column; the atomic orders them, the end of the launch publishes it
      if (!simt::is_finite(value)) atomicMin(f.failed_column, column.column);
    }
  }
}

/// Spins until so many have counted themselves there; then what their blocks wrote before can be read.
__device__ __forceinline__ void await_flag(std::int32_t* flag, std::int32_t awaited) {
  const auto is_there = [&](std::int32_t done) { return done == awaited; };
  simt::spin_wait(flag, is_there);  // RACE: acquires what the blocks released that counted themselves
}

/// Spins until the children of the tile have left what it adds.   Called by all threads; ends with a barrier.
template <class T>
__device__ __forceinline__ void await_children(const FrontView<T>& v, const FrontTile& tile) {
  for (std::int32_t q = tile.first_input + static_cast<std::int32_t>(threadIdx.x); q < tile.end_input;
       q += front_threads) {
    const FrontInput& input = v.inputs[q];
    simt::prefetch_into_l2(v.places + 2 * front_tile * std::int64_t(q));
    await_flag(v.flags + input.flag, input.awaited);  // its blocks have smaller tickets
  }
  __syncthreads();  // RACE: threads have seen that children are done, all read what those left
}

/// What a child leaves to a tile, and where: entry (row[a], column[b]) for part.x[a][b], or no_place.
struct FrontInputPart {
  std::int64_t left;
  std::int32_t others;
  int row[4], column[4];

  template <class T>
  __device__ __forceinline__ FrontInputPart(const FrontView<T>& v, std::int32_t q, const TilePart<T>& part)
      : left(v.inputs[q].left), others(v.inputs[q].others) {
    const std::uint8_t* const rows = v.places + 2 * front_tile * std::int64_t(q);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      row[k] = rows[part.row(k)];
      column[k] = rows[front_tile + part.column(k)];
    }
  }
};

/// part += what the children left for it.   Called by all threads.
template <class T>
__device__ __forceinline__ void add_children(const FrontView<T>& v, const FrontTile& tile, TilePart<T>& part) {
  if (tile.first_input == tile.end_input) return;
  FrontInputPart input(v, tile.first_input, part);
#pragma unroll 1
  for (std::int32_t q = tile.first_input; q < tile.end_input; ++q) {
    const FrontInputPart next(v, min(q + 1, tile.end_input - 1), part);  // on its way while this one is added
#pragma unroll
    for (int a = 0; a < 4; ++a) {
      const T* const row = v.left + input.left + input.row[a] * input.others;
      T value[4];
#pragma unroll
      for (int b = 0; b < 4; ++b)
        value[b] = simt::load_if(input.row[a] != no_place && input.column[b] != no_place, row + input.column[b]);
#pragma unroll
      for (int b = 0; b < 4; ++b) part.x[a][b] += value[b];  // 0 where there is none, so -0 becomes 0
    }
    input = next;
  }
}

/// part -= L · U   for tiles of so many pivots, each pivot with its front_tile rows of L, or columns of U.
/// staged: (2, 2, front_depth, staged_stride) in shared memory, which nobody reads any more.   Called by all threads.
template <class T>
__device__ __forceinline__ void subtract_product(const T* l, const T* u, int pivots, T* staged, TilePart<T>& part) {
  constexpr int size = front_depth * staged_stride, at_once = 16 / int(sizeof(T));
  simt::Staging staging;
  const auto bring = [&](int first) {
    T* const to = staged + first / front_depth % 2 * 2 * size;
#pragma unroll
    for (int e = int(threadIdx.x) * at_once; e < front_depth * front_tile; e += front_threads * at_once) {
      const int k = e / front_tile, at = k * staged_stride + e % front_tile;
      if (first + k < pivots) {
        staging.copy_16(to + at, l + first * front_tile + e);
        staging.copy_16(to + size + at, u + first * front_tile + e);
      } else {
#pragma unroll
        for (int q = 0; q < at_once; ++q) to[at + q] = to[size + at + q] = T(0);
      }
    }
    staging.commit();
  };
  bring(0);
#pragma unroll 1
  for (int first = 0; first < pivots; first += front_depth) {
    staging.template wait<0>();
    __syncthreads();  // RACE: each thread brought some of L and U, all read them; all have read those before
    if (first + front_depth < pivots) bring(first + front_depth);
    const T* const of_l = staged + first / front_depth % 2 * 2 * size;
    part.subtract(of_l, of_l + size, min(front_depth, pivots - first));
  }
}

}  // namespace lulab::sparse_syncfree
