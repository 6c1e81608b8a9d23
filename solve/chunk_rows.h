#pragma once
// What the rows of a triangle have inside their chunks and outside, for chunk_layout.h. Device code: a warp looks at a
// row, or at a chunk.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"
#include "solve/chunk_cuts.h"
#include "solve/pattern_by_rows.h"

namespace lulab::chunk_layout {

constexpr int threads = 256, warps = threads / 32;  // of a block

/// Rows at their places. Of each array for both triangles, that of the lower one comes first.
struct PlacedRows {
  std::int32_t n;
  PatternByRows rows;
  const std::int32_t *column_at, *position;  // (n)
  const std::int32_t* chunk_of;              // (n) of each position
  const std::int32_t* chunk_ptr;             // (chunks + 1) positions
  std::int32_t chunks;
  std::uint64_t* inner;    // (2, n) columns of the chunk that the row has
  std::uint64_t* reached;  // (2, n) ... that its row of the inverse has, itself among them
  ChunkRowCounts* counts;  // (2, n)

  __device__ std::int64_t side(bool lower) const { return lower ? 0 : n; }
};

/// visit(e, at, k) for each entry e of the row at position p outside its chunk: the k-th by rows, of the column at
/// position `at`. Returns the bits of those inside. Called by all lanes, which take an entry each.
template <class Visit>
__device__ __forceinline__ std::uint64_t visit_row(const PlacedRows& v, bool lower, std::int32_t p,
                                                   const Visit& visit) {
  const unsigned lane = threadIdx.x % 32;
  const std::int32_t row = v.column_at[p], chunk = v.chunk_of[p];
  const std::int32_t first = v.chunk_ptr[chunk], size = v.chunk_ptr[chunk + 1] - first;
  const std::int64_t end = v.rows.end(row, lower);
  std::uint64_t inner = 0;
  std::int32_t before = 0;
  for (std::int64_t base = v.rows.begin(row, lower); base < end; base += 32) {
    const std::int64_t k = base + lane;
    const std::int32_t at = k < end ? v.position[v.rows.col[k]] : -1, in_chunk = at - first;
    const bool is_inner = in_chunk >= 0 && in_chunk < size, is_outer = at >= 0 && !is_inner;
    if (is_inner) inner |= std::uint64_t(1) << in_chunk;
    const unsigned outer = __ballot_sync(simt::all_lanes, is_outer);
    if (is_outer) visit(before + __popc(outer & ((1u << lane) - 1)), at, k);
    before += __popc(outer);
  }
  return inner;
}

__device__ __forceinline__ std::uint64_t warp_or(std::uint64_t bits) {
  return simt::warp_reduce(bits, [](std::uint64_t a, std::uint64_t b) { return a | b; });
}

/// The same for the entries from .. end - 1 only of a row, whose inner columns are known. All warps of a block share
/// it.
template <class Visit>
__device__ __forceinline__ void visit_slice(const PlacedRows& v, bool lower, std::int32_t p, std::int32_t from,
                                            std::int32_t end, const Visit& visit) {
  const unsigned lane = threadIdx.x % 32;
  const std::int32_t row = v.column_at[p], chunk = v.chunk_of[p];
  const std::int32_t first = v.chunk_ptr[chunk], size = v.chunk_ptr[chunk + 1] - first;
  const std::uint64_t inner = v.inner[v.side(lower) + p];
  const auto inner_column = [&](unsigned bit) { return inner >> bit & 1 ? v.column_at[first + bit] : v.n; };
  const std::int32_t inner_columns[2] = {inner_column(lane), inner_column(lane + 32)};
  const std::int64_t begin = v.rows.begin(row, lower);  // entry e is among the next max_chunk_columns from begin + e on
  const std::int64_t last = min(v.rows.end(row, lower), begin + end + max_chunk_columns);
  for (std::int64_t base = begin + from + 32 * simt::warp_of_block(); base < last; base += threads) {
    const std::int64_t k = base + lane;
    const std::int32_t column = k < last ? v.rows.col[k] : v.n;
    const std::int32_t first_column = __shfl_sync(simt::all_lanes, column, 0);
    const std::int32_t inner_before =
        simt::warp_sum(std::int32_t(inner_columns[0] < first_column) + std::int32_t(inner_columns[1] < first_column));
    const std::int32_t at = k < last ? v.position[column] : -1;
    const bool is_outer = at >= 0 && (at < first || at >= first + size);
    const unsigned outer = __ballot_sync(simt::all_lanes, is_outer);
    const std::int32_t e = static_cast<std::int32_t>(base - begin) - inner_before + __popc(outer & ((1u << lane) - 1));
    if (is_outer && e >= from && e < end) visit(e - from, at, k);
  }
}

/// grid: any   block: threads, a warp for each row of both triangles
inline __global__ void look_at_rows_kernel(PlacedRows v) {
  const std::int64_t stride = std::int64_t(gridDim.x) * warps;
  for (std::int64_t item = std::int64_t(blockIdx.x) * warps + simt::warp_of_block(); item < 2 * std::int64_t(v.n);
       item += stride) {
    const bool lower = item < v.n;
    const auto p = static_cast<std::int32_t>(lower ? item : item - v.n);
    std::int32_t outer = 0;
    const std::uint64_t inner =
        warp_or(visit_row(v, lower, p, [&](std::int32_t, std::int32_t, std::int64_t) { ++outer; }));
    outer = simt::warp_sum(outer);
    if (threadIdx.x % 32 == 0) {
      v.inner[item] = inner;
      v.counts[item] = {outer, static_cast<std::int16_t>(__popcll(inner)), 0};
    }
  }
}

/// grid: any   block: threads, a warp for each chunk of both triangles
/// Equivalent to   for each row i of the chunk, in the order of the solve:  reached(i) = {i} ∪ reached(j) for j inner
inline __global__ void reach_kernel(PlacedRows v) {
  LULAB_SHARED_2D(std::uint64_t, reached_of_warp, warps, max_chunk_columns);
  const int warp = simt::warp_of_block();
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::uint64_t* const reached = reached_of_warp[warp];
  const std::int64_t stride = std::int64_t(gridDim.x) * warps;
  for (std::int64_t item = std::int64_t(blockIdx.x) * warps + warp; item < 2 * std::int64_t(v.chunks); item += stride) {
    const bool lower = item < v.chunks;
    const std::int64_t chunk = lower ? item : item - v.chunks;
    const std::int32_t first = v.chunk_ptr[chunk], size = v.chunk_ptr[chunk + 1] - first;
    const std::int64_t at = v.side(lower) + first;
    for (int step = 0; step < size; ++step) {
      const int i = lower ? step : size - 1 - step;
      const std::uint64_t inner = v.inner[at + i];
      std::uint64_t bits = 0;
      for (int j = lane; j < size; j += 32)
        if (inner >> j & 1) bits |= reached[j];
      bits = warp_or(bits) | std::uint64_t(1) << i;
      if (lane == 0) {
        reached[i] = bits;
        v.reached[at + i] = bits;
        v.counts[at + i].inverse = static_cast<std::int16_t>(__popcll(bits) - 1);
      }
      __syncwarp();  // RACE: lane 0 wrote a row that others read
    }
  }
}

}  // namespace lulab::chunk_layout
