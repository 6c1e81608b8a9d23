#pragma once
// A tile of 12_multifrontal in registers: what it adds and subtracts before its own pivots. Device code.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/staging.h"
#include "sparse_syncfree/12_front_launch.h"

namespace lulab::sparse_syncfree {

/// What a thread has of a tile: pairs of rows and of columns, so that a pair of scalars is one load.
template <class T>
struct TilePart {
  T x[4][4];

  static __device__ __forceinline__ int row(int a) { return 2 * (int(threadIdx.x) / 16) + a % 2 + 32 * (a / 2); }
  static __device__ __forceinline__ int column(int b) { return 2 * (int(threadIdx.x) % 16) + b % 2 + 32 * (b / 2); }
};

template <class T>
struct alignas(2 * sizeof(T)) ScalarPair {
  T first, second;
};

/// X(i,j) = entries of As, zero where there are none. A warp a column.
template <class T>
__device__ __forceinline__ void load_entries(const DeviceFactorsView<T>& f, const FrontColumn* columns, int count,
                                             T* x) {
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
#pragma unroll 4
  for (int c = warp; c < front_tile; c += front_threads / 32) {
    const FrontColumn column = c < count ? columns[c] : FrontColumn{};
#pragma unroll
    for (int row = lane; row < front_tile; row += 32) {
      const std::uint64_t bit = std::uint64_t(1) << row;
      x[row * front_stride + c] =
          column.rows & bit ? f.values[column.position + __popcll(column.rows & (bit - 1))] : T(0);
    }
  }
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
      const T value = x[row * front_stride + c];
      f.values[column.position + __popcll(column.rows & (bit - 1))] = value;
      // RACE: blocks lower failed_column; the atomic orders them, the end of the launch publishes it
      if (!simt::is_finite(value)) atomicMin(f.failed_column, column.column);
    }
  }
}

/// Spins until the children of the tile have left what it adds.   Called by all threads; ends with a barrier.
template <class T>
__device__ __forceinline__ void await_children(const FrontView<T>& v, const FrontTile& tile) {
  for (std::int32_t q = tile.first_input + static_cast<std::int32_t>(threadIdx.x); q < tile.end_input;
       q += front_threads) {
    const std::int32_t awaited = v.inputs[q].awaited;
    // RACE: acquires what the blocks wrote that counted their tiles there; these have smaller tickets
    simt::spin_wait(v.flags + v.inputs[q].flag, [&](std::int32_t done) { return done == awaited; });
  }
  __syncthreads();  // RACE: threads have seen that children are done, all read what those left
}

/// part += what the children left for it.
/// places: (front_children, 2, front_tile) in shared memory.   Called by all threads.
template <class T>
__device__ __forceinline__ void add_children(const FrontView<T>& v, const FrontTile& tile, int first_row,
                                             int first_column, std::int16_t* places, TilePart<T>& part) {
  for (std::int32_t from = tile.first_input; from < tile.end_input; from += front_children) {
    const int count = min(front_children, tile.end_input - from);
    for (int e = static_cast<int>(threadIdx.x); e < count * 2 * front_tile; e += front_threads) places[e] = -1;
    __syncthreads();  // RACE: threads cleared the places, others fill them
    for (int e = static_cast<int>(threadIdx.x); e < count * 2 * front_tile; e += front_threads) {
      const FrontInput& input = v.inputs[from + e / (2 * front_tile)];
      const bool is_column = e / front_tile % 2 != 0;
      const int at = (is_column ? input.first_column : input.first_row) + e % front_tile;
      if (at < (is_column ? input.end_column : input.end_row))
        places[e / front_tile * front_tile + v.places[input.places + at] - (is_column ? first_column : first_row)] =
            static_cast<std::int16_t>(at);
    }
    __syncthreads();  // RACE: threads filled the places, all read them
    for (int q = 0; q < count; ++q) {
      const FrontInput& input = v.inputs[from + q];
      const T* const left = v.left + input.left;
      const std::int16_t* const rows = places + 2 * q * front_tile;
      const std::int16_t* const columns = rows + front_tile;
#pragma unroll
      for (int a = 0; a < 4; ++a) {
        const int i = rows[part.row(a)];
        if (i < 0) continue;
#pragma unroll
        for (int b = 0; b < 4; ++b)
          if (const int j = columns[part.column(b)]; j >= 0) part.x[a][b] += left[std::int64_t(i) * input.others + j];
      }
    }
    __syncthreads();  // RACE: all have read the places, which are cleared for the next children
  }
}

/// part -= L · U   for tiles of so many pivots, each pivot with its front_tile rows of L, or columns of U.
/// staged: (2, 2, front_depth, front_tile) in shared memory, which nobody reads any more.   Called by all threads.
template <class T>
__device__ __forceinline__ void subtract_product(const T* l, const T* u, int pivots, T* staged, TilePart<T>& part) {
  constexpr int size = front_depth * front_tile, at_once = 16 / int(sizeof(T));
  simt::Staging staging;
  const auto bring = [&](int first) {
    T* const to = staged + first / front_depth % 2 * 2 * size;
    const int end = min(front_depth, pivots - first) * front_tile;
    for (int e = int(threadIdx.x) * at_once; e < end; e += front_threads * at_once) {
      staging.copy_16(to + e, l + first * front_tile + e);
      staging.copy_16(to + size + e, u + first * front_tile + e);
    }
    staging.commit();
  };
  bring(0);
  for (int first = 0; first < pivots; first += front_depth) {
    staging.template wait<0>();
    __syncthreads();  // RACE: each thread brought some of L and U, all read them; all have read those before
    if (first + front_depth < pivots) bring(first + front_depth);
    const T* const of_l = staged + first / front_depth % 2 * 2 * size + part.row(0);
    const T* const of_u = staged + first / front_depth % 2 * 2 * size + size + part.column(0);
    const int depth = min(front_depth, pivots - first);
#pragma unroll 4
    for (int k = 0; k < depth; ++k) {
      ScalarPair<T> row[2], column[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        row[half] = *reinterpret_cast<const ScalarPair<T>*>(of_l + k * front_tile + 32 * half);
        column[half] = *reinterpret_cast<const ScalarPair<T>*>(of_u + k * front_tile + 32 * half);
      }
#pragma unroll
      for (int a = 0; a < 4; ++a)
#pragma unroll
        for (int b = 0; b < 4; ++b)
          part.x[a][b] -= (a % 2 ? row[a / 2].second : row[a / 2].first) *
                          (b % 2 ? column[b / 2].second : column[b / 2].first);
    }
  }
}

}  // namespace lulab::sparse_syncfree
