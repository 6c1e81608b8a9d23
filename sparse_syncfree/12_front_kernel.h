#pragma once
// One launch that does all tiles of a plan. Included only where it is compiled.
//
//   12_front_kernel.h          tiles by ticket; what they wait for and publish
//     12_front_tile.h          entries of As, what children left, products of other tiles
//     12_front_eliminate.h     a tile's own pivots

#include <cstdint>

#include "core/simt/loads.h"
#include "core/simt/note_writes.h"
#include "sparse_syncfree/12_front_eliminate.h"
#include "sparse_syncfree/12_front_tile.h"
#include "sparse_syncfree/injected_delays.h"

namespace lulab::sparse_syncfree {

/// Shared memory of a block.
template <class T>
struct FrontShared {
  T* x;       // (front_tile, front_stride)
  T* staged;  // (2, 2, front_depth, staged_stride), or a tile of pivots as x
  FrontPivots<T> by;

  __device__ __forceinline__ explicit FrontShared(T* shared)
      : x(shared),
        staged(x + front_tile * front_stride),
        by{staged + 4 * front_depth * staged_stride, staged + 4 * front_depth * staged_stride + front_tile} {}
};

/// Equivalent to   X = As + Σ what children left - Σ L(I,K) · U(K,J),   once they are there
template <class T>
__device__ __forceinline__ void assemble(const DeviceFactorsView<T>& f, const FrontView<T>& v, const FrontTile& tile,
                                         const FrontShape& shape, const FrontShared<T>& shared, TilePart<T>& part) {
  const FrontCuts& cuts = shape.cuts;
  const int pivot = min(min(int(tile.row), int(tile.column)), cuts.pivot_tiles);  // tiles before it
  const bool has_entries = pivot < cuts.pivot_tiles;
  if (has_entries) load_entries(f, v.columns + shape.columns + front_tile * cuts.slot(tile.row, tile.column), shared.x);
  __syncthreads();  // RACE: each thread loaded some of X, others read it
#pragma unroll
  for (int a = 0; a < 4; ++a)
#pragma unroll
    for (int b = 0; b < 4; ++b) part.x[a][b] = has_entries ? shared.x[front_at(part.row(a), part.column(b))] : T(0);
  await_children(v, tile);
  add_children(v, tile, part);
  const std::int64_t size = std::int64_t(front_tile) * cuts.pivot_edge;
  for (int k = 0; k < pivot; ++k) {
    const std::int32_t l = cuts.slot(tile.row, k), u = cuts.slot(k, tile.column);
    if (threadIdx.x % 32 == 0 && threadIdx.x < 64)  // their blocks have smaller tickets
      await_flag(v.flags + shape.flags + 1 + (threadIdx.x == 0 ? l : u), 1);
    __syncthreads();  // RACE: two threads have seen L and U, all read them; all have read what was staged before
    subtract_product(v.parts + shape.parts + l * size, v.parts + shape.parts + u * size, cuts.size(k), shared.staged,
                     part);
  }
}

/// X in shared memory, all of it.   Ends with a barrier.
template <class T>
__device__ __forceinline__ void put(const TilePart<T>& part, T* x) {
#pragma unroll
  for (int a = 0; a < 4; ++a)
#pragma unroll
    for (int b = 0; b < 4; ++b) x[front_at(part.row(a), part.column(b))] = part.x[a][b];
  __syncthreads();  // RACE: each thread wrote some of X, others read it
}

/// Says to the blocks that await it that something is done.   Called by all threads.
__device__ __forceinline__ void publish_done(std::int32_t* flag) {
  __syncthreads();  // RACE: all threads have written what thread 0 releases
  // RACE: releases what the block wrote to those who see the count
  if (threadIdx.x == 0)
    cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(*flag).fetch_add(1, cuda::memory_order_release);
}

/// A tile without pivots in its rows and columns.
template <class T>
__device__ __forceinline__ void leave(const FrontView<T>& v, const FrontTile& tile, const FrontShape& shape,
                                      const TilePart<T>& part) {
  const FrontCuts& cuts = shape.cuts;
  const int rows = cuts.size(tile.row), columns = cuts.size(tile.column), others = cuts.rows - cuts.pivots;
  T* const left = v.left + shape.left + std::int64_t(cuts.begin(tile.row) - cuts.pivots) * others +
                  cuts.begin(tile.column) - cuts.pivots;
#pragma unroll
  for (int a = 0; a < 4; ++a)
#pragma unroll
    for (int b = 0; b < 4; ++b)
      if (part.row(a) < rows && part.column(b) < columns)
        left[std::int64_t(part.row(a)) * others + part.column(b)] = part.x[a][b];
  publish_done(v.flags + shape.flags);
}

/// A tile of L and U, in shared memory: eliminates its pivots, and returns it to As and to other tiles.
template <class T>
__device__ __forceinline__ void finish(const DeviceFactorsView<T>& f, const FrontView<T>& v, const FrontTile& tile,
                                       const FrontShape& shape, const FrontShared<T>& shared) {
  const FrontCuts& cuts = shape.cuts;
  const int pivot = min(tile.row, tile.column), pivots = cuts.pivots_of(pivot);
  const int rows = cuts.size(tile.row), columns = cuts.size(tile.column);
  const auto part_of = [&](std::int32_t slot) {
    return v.parts + shape.parts + std::int64_t(slot) * front_tile * cuts.pivot_edge;
  };
  const TileKind part = tile.row == tile.column  ? TileKind::diagonal
                        : tile.row > tile.column ? TileKind::of_l
                                                 : TileKind::of_u;
  if (part != TileKind::diagonal) {
    const std::int32_t diagonal = cuts.slot(pivot, pivot);
    if (threadIdx.x == 0) await_flag(v.flags + shape.flags + 1 + diagonal, 1);  // its block has a smaller ticket
    __syncthreads();  // RACE: one thread has seen the tile of the pivots, all read it
    const T* const from = part_of(diagonal);
#pragma unroll
    for (int k = 0; k < front_tile; k += front_threads / front_tile) {
      const int row = k + int(threadIdx.x) / front_tile, column = int(threadIdx.x) % front_tile;
      if (row < pivots) shared.staged[front_at(row, column)] = from[row * front_tile + column];
    }
    __syncthreads();  // RACE: each thread brought some of the tile of the pivots, all read it
    if (const int k = static_cast<int>(threadIdx.x); part == TileKind::of_l && k < pivots)
      shared.by.set(k, Inverse<T>(shared.staged[front_at(k, k)]));
    __syncthreads();  // RACE: threads wrote what divides by the pivots, all read it
  }
  simt::read_again();  // the shape; without this 13 words spill, and af23560 takes 1.31 ms instead of 1.00
  eliminate(f, part, shared.x, rows, columns, part == TileKind::diagonal ? shared.x : shared.staged, pivots,
            shape.first_column + cuts.begin(pivot), shared.by);
  const std::int32_t slot = cuts.slot(tile.row, tile.column);
  if (!cuts.is_one_tile()) {
    T* const to = part_of(slot);
    for (int e = static_cast<int>(threadIdx.x); e < pivots * front_tile; e += front_threads) {
      const int k = e / front_tile, other = e % front_tile;
      to[e] = shared.x[part == TileKind::of_l ? front_at(other, k) : front_at(k, other)];
    }
    publish_done(v.flags + shape.flags + 1 + slot);
  } else if (const int others = rows - pivots; others > 0) {
    T* const left = v.left + shape.left;
    for (int e = static_cast<int>(threadIdx.x); e < others * others; e += front_threads)
      left[e] = shared.x[front_at(pivots + e / others, pivots + e % others)];
    publish_done(v.flags + shape.flags);
  }
  store_entries(f, v.columns + shape.columns + front_tile * slot, columns, shared.x);
}

/// Equivalent to   for each tile:  assemble;  leave it to the parent, or eliminate its pivots
template <class T, bool inject_delays>
__global__ void __launch_bounds__(front_threads, 3)
    front_tiles_kernel(DeviceFactorsView<T> f, FrontView<T> v, std::uint64_t seed) {
  LULAB_DYNAMIC_SHARED(T, dynamic);
  const FrontShared<T> shared(dynamic);
  LULAB_SHARED(FrontShape, shape_of_tile, 1);  // read again after each barrier: in device memory that takes long
  // RACE: no two blocks get one tile. A tile awaits tiles with smaller tickets alone, so the one with the smallest
  // ticket that is left never waits. All have done with the shared memory of a tile when they have the next ticket.
  for (std::int32_t t; (t = simt::block_ticket(v.flags)) < v.n_tiles;) {
    const FrontTile tile = v.tiles[t];
    if (threadIdx.x == 0) shape_of_tile[0] = v.fronts[tile.front];
    __syncthreads();  // RACE: thread 0 wrote the shape, all read it
    const FrontShape& shape = shape_of_tile[0];
    simt::note_column(shape.first_column);
    const bool leaves = shape.cuts.is_one_tile() || min(tile.row, tile.column) >= shape.cuts.pivot_tiles;
    simt::note_writes(
        simt::written(v.flags + shape.flags + (leaves ? 0 : 1 + shape.cuts.slot(tile.row, tile.column)), 1));
    if constexpr (inject_delays) pause_before(seed, t);
    TilePart<T> part;
    assemble(f, v, tile, shape, shared, part);
    if (min(tile.row, tile.column) >= shape.cuts.pivot_tiles) {
      leave(v, tile, shape, part);
    } else {
      put(part, shared.x);
      finish(f, v, tile, shape, shared);
    }
  }
}

template <class T, bool inject_delays>
FrontKernel<T> front_kernel() {
  return front_tiles_kernel<T, inject_delays>;
}

}  // namespace lulab::sparse_syncfree
