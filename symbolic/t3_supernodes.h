#pragma once
// Supernodes as Gaihre et al. find them on the device, with the kernel, so that its test can change it.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "symbolic/fill_sources.h"
#include "symbolic/supernodes.h"

namespace lulab {

/// Type T3, by its definition, one column after the other: with first column r, column s joins if L(:,s) has one row
/// less than L(:,s-1), U(r,s) != 0, and the supernode has fewer than max_width columns. (The paper has rows of U and
/// columns of L there; see 02_fill1.cpp.)
///
/// Requires  a valid FilledPattern, max_width >= 1.   Cost O(n log n).
/// Source    Demmel, Eisenstat, Gilbert, Li & Liu 1999, section 2.1; Gaihre et al. 2021, definition 1.
Supernodes find_t3_supernodes(const FilledPattern& filled, std::int32_t max_width);

/// The same on the device, for a pattern that is there. Waits for the stream.
///
/// Errors    out_of_memory, device_error.
/// Cost      O(n) work, one launch; as many steps one after the other as columns follow each other with one row less.
/// Source    Gaihre et al. 2021, section 5 and Fig. 8.
Result<Supernodes> find_t3_supernodes(const DeviceFilledPattern& filled, std::int32_t max_width, simt::Stream& stream);

constexpr std::int32_t t3_chunk = 128;  // columns of a block, one for each thread

struct T3Rules {
  static constexpr bool crosses_chunks = true;  // a supernode goes on behind the end of the chunk
  static constexpr bool restarts = true;        // a column that does not join starts a supernode, which others may join
};

/// leads[s] = 1: column s is the first of a supernode; else 0.
/// Phase 1: a thread a column; a bit says whether it has one row less than the one before. Where not, it surely leads.
/// Phase 2: a thread a column that surely leads; it follows the columns behind it up to the next one that does.
/// grid: ceil(n / t3_chunk)   block: t3_chunk   shared: static
template <class Keeps = T3Rules>
__global__ void t3_supernodes_kernel(std::int32_t n, const std::int64_t* col_ptr, const std::int64_t* diag,
                                     const std::int32_t* row_idx, std::int32_t max_width, std::uint8_t* leads) {
  LULAB_SHARED(std::uint32_t, one_less, t3_chunk / 32);  // bit s: column s of the chunk has one row less
  LULAB_SHARED(std::int32_t, queue, t3_chunk);           // columns that surely lead
  LULAB_SHARED(std::int32_t, queued, 1);
  const std::int32_t thread = static_cast<std::int32_t>(threadIdx.x), begin = blockIdx.x * t3_chunk;
  const std::int32_t end = n - begin < t3_chunk ? n : begin + t3_chunk;
  const auto rows_of_l = [&](std::int32_t s) { return col_ptr[s + 1] - diag[s]; };
  const auto has_one_less = [&](std::int32_t s) { return s > 0 && rows_of_l(s) == rows_of_l(s - 1) - 1; };

  if (thread == 0) queued[0] = 0;
  __syncthreads();  // RACE: thread 0 cleared the count that all raise now
  const std::int32_t mine = begin + thread;
  const bool joins = mine < end && has_one_less(mine);
  const std::uint32_t bits = __ballot_sync(simt::all_lanes, joins);
  if (thread % 32 == 0) one_less[thread / 32] = bits;
  // RACE: threads of the block queue columns; each gets a place of its own
  if (mine < end && !joins) queue[atomicAdd(&queued[0], 1)] = mine;
  __syncthreads();  // RACE: threads wrote the bits and the queue, all read them now

  for (std::int32_t at = thread; at < queued[0]; at += t3_chunk) {
    std::int32_t r = queue[at];
    leads[r] = 1;
    for (std::int32_t s = r + 1; s < n; ++s) {
      const bool in_chunk = s < end;
      if (!in_chunk && !Keeps::crosses_chunks) break;
      if (in_chunk ? !(one_less[(s - begin) / 32] >> ((s - begin) % 32) & 1) : !has_one_less(s)) break;
      const std::int64_t p = simt::find_row(row_idx, col_ptr[s], diag[s], r);
      const bool joins_r = s - r < max_width && p < diag[s] && row_idx[p] == r;
      leads[s] = !joins_r;
      if (!joins_r && Keeps::restarts) r = s;
    }
  }
}

}  // namespace lulab
