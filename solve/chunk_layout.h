#pragma once
// What each task of a solve by chunks consists of: its inputs, and its rows packed into passes. Device code: a block
// lays out a task.

#include <cstdint>
#include <limits>

#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"
#include "solve/chunk_rows.h"

namespace lulab::chunk_layout {

constexpr std::uint16_t no_row = 0xffff, partial_sum = 0x8000;

/// A row of a task, or a piece of one, in its passes; of a row in several pieces: where its partial sums begin.
struct PackedPiece {
  std::uint32_t at;                      // its first entry; of a row in pieces its first partial sum
  std::uint32_t row_at;                  // in ChunkRows::rows; of a row in pieces how many partial sums
  std::uint16_t pass, steps, log_lanes;  // of a row in pieces: pass: among long rows
  std::uint16_t is_first;                // of its pass
};

struct TaskSize {
  std::int64_t bytes;
  std::int32_t n_inputs, padded;  // entries with gaps
};

struct TaskWork {
  PlacedRows placed;
  std::int32_t scalar_bytes, solve_warps;
  const ChunkCut* cuts;                  // (tasks)
  PackedPiece* pieces;                   // (pieces)
  ChunkTask* heads;                      // (tasks)
  TaskSize* sizes;                       // (tasks)
  const std::int64_t* begin;             // (tasks) bytes
  std::byte* tasks;                      // zero on entry
  const std::int64_t* move;              // (2, n), as ChunkCuts::move
  std::int64_t pivot_move[2];            // as in ChunkCuts
  const std::uint32_t *entry, *inverse;  // (2, n), likewise
  ChunkMove* moves;
  ChunkEntry *entries, *inverses;
  std::int32_t max_pieces, mark_words;
};

/// A block's shared memory.
struct TaskScratch {
  std::uint32_t* marks;     // (mark_words)
  std::uint16_t* before;    // (mark_words) marks in earlier words
  std::uint16_t* size_of;   // (max_pieces) entries of a piece; no_row: a row in pieces
  std::uint16_t* piece_at;  // (max_pieces) pieces, longest first

  __device__ TaskScratch(std::uint32_t* memory, const TaskWork& w)
      : marks(memory),
        before(reinterpret_cast<std::uint16_t*>(memory + w.mark_words)),
        size_of(before + w.mark_words),
        piece_at(size_of + w.max_pieces) {}
  static std::size_t bytes(const TaskWork& w) {
    return 6 * static_cast<std::size_t>(w.mark_words) + 4 * static_cast<std::size_t>(w.max_pieces);
  }
};

enum class RowsOf { outer, inverse };  // of a task: ChunkTask::outer or ChunkTask::inverse

/// Entries of row r.
__device__ __forceinline__ std::int32_t row_size(const TaskWork& w, const ChunkCut& c, RowsOf of, std::int32_t r) {
  const ChunkRowCounts& counts = w.placed.counts[w.placed.side(c.is_lower) + c.first + r];
  if (of == RowsOf::inverse || c.entries == ChunkCut::inverse) return counts.inverse + 1;
  return c.entries == ChunkCut::outer ? counts.outer : c.end - c.from;
}

/// visit(r, e, at, j) for the entries of the inverse's rows: column j of the chunk, at position `at`.
/// Called by all threads of the block.
template <class Visit>
__device__ __forceinline__ void visit_inverse(const TaskWork& w, const ChunkCut& c, const Visit& visit) {
  const PlacedRows& v = w.placed;
  for (std::int32_t r = simt::warp_of_block(); r < c.count; r += warps) {
    const std::uint64_t bits = v.reached[v.side(c.is_lower) + c.first + r];
    const std::int32_t first = v.chunk_ptr[v.chunk_of[c.first + r]];
    for (int j = static_cast<int>(threadIdx.x % 32); j < max_chunk_columns; j += 32)
      if (bits >> j & 1) visit(r, __popcll(bits & ((std::uint64_t(1) << j) - 1)), first + j, j);
  }
}

/// visit(r, e, source, k) for each entry e of row r: k: by rows; of an inverse the column of the chunk.
/// Called by all threads of the block.
template <class Visit>
__device__ __forceinline__ void visit_entries(const TaskWork& w, const ChunkCut& c, const Visit& visit) {
  switch (c.entries) {
    case ChunkCut::outer:
      for (std::int32_t r = simt::warp_of_block(); r < c.count; r += warps)
        visit_row(w.placed, c.is_lower, c.first + r,
                  [&](std::int32_t e, std::int32_t at, std::int64_t k) { visit(r, e, at, k); });
      break;
    case ChunkCut::slice:
      visit_slice(w.placed, c.is_lower, c.first, c.from, c.end,
                  [&](std::int32_t e, std::int32_t at, std::int64_t k) { visit(0, e, at, k); });
      break;
    case ChunkCut::sums:
      for (auto q = static_cast<std::int32_t>(threadIdx.x); q < c.end; q += threads) visit(0, q, q, std::int64_t(0));
      break;
    case ChunkCut::inverse: visit_inverse(w, c, visit); break;
  }
}

/// Marks the sources among the first .. first + 32 · mark_words - 1 and counts the marks before each word; returns
/// how many there are. Called by all threads of the block.
__device__ __forceinline__ std::int32_t mark_sources(const TaskWork& w, const ChunkCut& c, const TaskScratch& s,
                                                     std::int32_t first) {
  LULAB_SHARED(std::int32_t, of_warp, warps);
  const int words = static_cast<int>(min((std::int64_t(c.end_source) - first + 31) / 32, std::int64_t(w.mark_words)));
  for (int k = static_cast<int>(threadIdx.x); k < words; k += threads) s.marks[k] = 0;
  __syncthreads();  // RACE: any thread cleared a word that another marks
  visit_entries(w, c, [&](std::int32_t, std::int32_t, std::int32_t source, std::int64_t) {
    const std::uint32_t bit = static_cast<std::uint32_t>(source - first);
    // RACE: threads mark bits of one word; read after the barrier below
    if (source >= first && bit / 32 < static_cast<std::uint32_t>(words)) atomicOr(&s.marks[bit / 32], 1u << bit % 32);
  });
  __syncthreads();  // RACE: orders the marks before all threads' reads
  const int warp = simt::warp_of_block(), lane = static_cast<int>(threadIdx.x % 32);
  const int own = (words + warps - 1) / warps, begin = min(warp * own, words), end = min(begin + own, words);
  std::int32_t marks = 0;
  for (int k = begin + lane; k < end; k += 32) marks += __popc(s.marks[k]);
  marks = simt::warp_sum(marks);
  if (lane == 0) of_warp[warp] = marks;
  __syncthreads();  // RACE: one lane of each warp wrote its sum, all threads read them
  std::int32_t before = 0, all = 0;
  for (int q = 0; q < warps; ++q) {
    if (q < warp) before += of_warp[q];
    all += of_warp[q];
  }
  for (int base = begin; base < end; base += 32) {
    const int k = base + lane;
    const std::int32_t count = k < end ? __popc(s.marks[k]) : 0;
    const std::int32_t in_lanes_before = simt::warp_sum_before(count);
    if (k < end) s.before[k] = static_cast<std::uint16_t>(before + in_lanes_before);
    before += simt::warp_sum(count);
  }
  __syncthreads();  // RACE: orders the counts before all threads' reads, and the reads of of_warp before its next use
  return all;
}

__device__ __forceinline__ int log_lanes_for(std::int32_t size, std::int32_t most_steps) {
  int log_lanes = 0;
  while (log_lanes < 5 && size > (most_steps << log_lanes)) ++log_lanes;
  return log_lanes;
}

/// visit(k, count, log_lanes, steps) for each pass: pieces k .. k + count - 1, longest first.
template <class Visit>
__device__ __forceinline__ void visit_passes(const TaskScratch& s, int pieces, std::int32_t most_steps,
                                             const Visit& visit) {
  for (int k = 0; k < pieces;) {
    const std::int32_t size = s.size_of[s.piece_at[k]];
    const int log_lanes = log_lanes_for(size, most_steps);
    int count = 1;
    // An empty row has no source that a gap could take, so it does not share a pass that has entries.
    while (count < 32 >> log_lanes && k + count < pieces && (size == 0 || s.size_of[s.piece_at[k + count]] > 0))
      ++count;
    visit(k, count, log_lanes, (size + (1 << log_lanes) - 1) >> log_lanes);
    k += count;
  }
}

/// Most steps of a pass, so that the warp with the longest passes is done first. More make fewer passes: a second one
/// for a warp takes longer than some steps. Called by all lanes of a warp.
__device__ __forceinline__ std::int32_t steps_of_passes(const TaskWork& w, const TaskScratch& s, int pieces,
                                                        std::int32_t entries) {
  constexpr std::int32_t steps_of_one = 4;  // what a pass takes besides its steps: .5 and .13 µs on an H200
  constexpr std::int32_t tried = 9;
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  const std::int32_t fewest = max(entries / (32 * w.solve_warps), 2);
  std::int32_t cost = 0, passes = 0;
  if (lane < tried)
    visit_passes(s, pieces, fewest + lane, [&](int, int, int, std::int32_t steps) {
      if (passes++ % w.solve_warps == 0) cost += steps_of_one + steps;
    });
  // No more than one pass a warp: more steps would only make it longer.
  const unsigned enough = __ballot_sync(simt::all_lanes, lane < tried && passes <= w.solve_warps);
  const std::int32_t last = enough ? __ffs(static_cast<int>(enough)) - 1 : tried - 1;
  const std::int64_t key = lane <= last ? std::int64_t(cost) * 32 + lane : std::numeric_limits<std::int64_t>::max();
  return fewest + static_cast<std::int32_t>(simt::warp_min(key) % 32);
}

struct PackedRows {
  ChunkRows rows;
  std::int32_t padded;
};

/// Rows by length, so that those that share a pass are of one length; a hub's row in several pieces. Writes where each
/// of them goes, and reserves what they take from byte `at` of the task on.
/// Called by all threads of the block; the result is that of thread 0.
__device__ __forceinline__ PackedRows pack_rows(const TaskWork& w, const ChunkCut& c, const TaskScratch& s, RowsOf of,
                                                std::uint32_t& at) {
  LULAB_SHARED(std::int32_t, entries_of_warp, warps);
  const int thread = static_cast<int>(threadIdx.x);
  PackedPiece* const packed = w.pieces + c.first_piece + (of == RowsOf::inverse ? c.outer_pieces : 0);
  const int n = of == RowsOf::inverse ? c.inverse_pieces : c.outer_pieces;
  std::int32_t entries = 0;
  for (int r = thread; r < c.count; r += threads) {
    const std::int32_t size = row_size(w, c, of, r);
    s.size_of[r] = size > longest_whole_row ? no_row : static_cast<std::uint16_t>(size);
    entries += size;
  }
  entries = simt::warp_sum(entries);
  if (thread % 32 == 0) entries_of_warp[thread / 32] = entries;
  __syncthreads();  // RACE: orders the sizes before all threads' reads
  int long_rows = 0;
  if (n > c.count) {
    if (thread == 0) {
      int sums = 0;
      for (int r = 0, q = 0; r < c.count; ++r) {
        if (s.size_of[r] != no_row) continue;
        const std::int32_t size = row_size(w, c, of, r), parts = partial_sums_of(size);
        packed[r] = {static_cast<std::uint32_t>(sums),
                     static_cast<std::uint32_t>(parts),
                     static_cast<std::uint16_t>(q++),
                     0,
                     0,
                     0};
        for (std::int32_t part = 0; part < parts; ++part)
          s.size_of[c.count + sums++] =
              static_cast<std::uint16_t>(std::int64_t(size) * (part + 1) / parts - std::int64_t(size) * part / parts);
      }
    }
    __syncthreads();  // RACE: thread 0 wrote sizes that all threads read
    for (int r = 0; r < c.count; ++r) long_rows += s.size_of[r] == no_row;
  }
  for (int k = thread; k < n; k += threads) {
    const std::uint16_t size = s.size_of[k];
    if (size == no_row) continue;
    int longer = 0;
    for (int m = 0; m < n; ++m) {
      const std::uint16_t other = s.size_of[m];
      longer += other != no_row && (other > size || (other == size && m < k));
    }
    s.piece_at[longer] = static_cast<std::uint16_t>(k);
  }
  __syncthreads();  // RACE: any thread placed a piece that warp 0 reads
  PackedRows result = {};
  if (thread < 32) {
    entries = 0;
    for (int q = 0; q < warps; ++q) entries += entries_of_warp[q];
    const int pieces = n - long_rows;
    const std::int32_t most_steps = steps_of_passes(w, s, pieces, entries);
    std::uint32_t passes = 0, rows = 0, values = 0;
    visit_passes(s, pieces, most_steps, [&](int first, int count, int log_lanes, std::int32_t steps) {
      for (int g = thread; g < count; g += 32)
        packed[s.piece_at[first + g]] = {values + (static_cast<std::uint32_t>(g) << log_lanes),
                                         rows + static_cast<std::uint32_t>(g),
                                         static_cast<std::uint16_t>(passes),
                                         static_cast<std::uint16_t>(steps),
                                         static_cast<std::uint16_t>(log_lanes),
                                         static_cast<std::uint16_t>(g == 0)};
      ++passes;
      rows += 32u >> log_lanes;
      values += 32u * static_cast<std::uint32_t>(steps);
    });
    const auto room = [&](std::uint32_t bytes) {
      const std::uint32_t begin = at;
      at += (bytes + 15) / 16 * 16;
      return begin;
    };
    result.rows.n_passes = passes;
    result.rows.n_long_rows = static_cast<std::uint32_t>(long_rows);
    result.rows.values = room(values * static_cast<std::uint32_t>(w.scalar_bytes));
    result.rows.sources = room(values * sizeof(std::uint16_t));
    result.rows.passes = room(passes * sizeof(ChunkPass));
    result.rows.rows = room(rows * sizeof(std::uint16_t));
    result.rows.long_rows = room(result.rows.n_long_rows * sizeof(ChunkLongRow));
    result.padded = static_cast<std::int32_t>(values);
  }
  __syncthreads();  // RACE: all have read sizes and pieces before they are overwritten
  return result;
}

/// What each task consists of.
/// grid: tasks   block: threads   shared: TaskScratch::bytes()
inline __global__ void lay_out_kernel(TaskWork w) {
  LULAB_DYNAMIC_SHARED(std::uint32_t, memory);
  const TaskScratch s(memory, w);
  const ChunkCut& c = w.cuts[blockIdx.x];
  std::int32_t inputs = 0;
  for (std::int64_t first = c.least_source; first < c.end_source; first += 32 * std::int64_t(w.mark_words))
    inputs += mark_sources(w, c, s, static_cast<std::int32_t>(first));
  ChunkTask head = {};
  head.n_rows = c.count;
  head.n_inputs = inputs;
  head.start = c.start;
  head.first = c.start_at;
  head.out = c.out;
  head.solution = c.solution;
  std::uint32_t at = (sizeof head + 15) / 16 * 16;
  head.inputs = at;
  at += (static_cast<std::uint32_t>(inputs) * 4 + 15) / 16 * 16;
  const PackedRows outer = pack_rows(w, c, s, RowsOf::outer, at);
  head.outer = outer.rows;
  std::int32_t padded = outer.padded;
  if (c.has_inverse) {
    const PackedRows inverse = pack_rows(w, c, s, RowsOf::inverse, at);
    head.has_inverse = 1;
    head.inverse = inverse.rows;
    padded += inverse.padded;
  }
  if (c.has_pivots) {
    head.pivots = at;
    at += (static_cast<std::uint32_t>(c.count * w.scalar_bytes) + 15) / 16 * 16;
  }
  if (threadIdx.x > 0) return;
  w.heads[blockIdx.x] = head;
  w.sizes[blockIdx.x] = {at, inputs, padded};
}

}  // namespace lulab::chunk_layout
