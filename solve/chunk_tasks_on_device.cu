// A warp looks at a row of a triangle, a block writes a task:
//
//   As by rows                             a sort of (row, position)
//   chunks and their places                on the host, from the elimination tree
//   for each row: the columns of its own chunk that it has, as bits; how many others
//   for each chunk: the columns that each row reaches, as bits: the rows of its inverse
//   tasks                                  on the host, from the numbers of entries (chunk_cuts.h)
//   for each task: its inputs, marked and counted; its rows, packed into passes; its bytes
//   for each task: where each entry of L and U goes

#include "solve/chunk_tasks_on_device.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"
#include "core/simt/primitives.h"
#include "solve/chunk_cuts.h"

namespace lulab {
namespace chunk_layout {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr unsigned most_blocks = 4096;
constexpr std::uint16_t no_row = 0xffff, partial_sum = 0x8000;

/// As or its transpose by rows. The entries before the diagonal are the lower triangle's.
struct PatternByRows {
  const std::int64_t* ptr;    // (n + 1)
  const std::int64_t* diag;   // (n)
  const std::int32_t* col;    // (nnz)
  const std::uint32_t* from;  // (nnz) position in As; null: the same

  __device__ std::int64_t begin(std::int32_t i, bool lower) const { return lower ? ptr[i] : diag[i] + 1; }
  __device__ std::int64_t end(std::int32_t i, bool lower) const { return lower ? diag[i] : ptr[i + 1]; }
  __device__ std::uint32_t position(std::int64_t k) const { return from ? from[k] : static_cast<std::uint32_t>(k); }
};

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

// --- As by rows ------------------------------------------------------------------------------------------------------

__global__ void row_key_kernel(DevicePattern as, int bits, std::int64_t* keys) {
  const std::int64_t stride = simt::threads_of_grid();
  for (std::int64_t k = simt::thread_of_grid(); k < as.nnz; k += stride)
    keys[k] = std::int64_t(as.row_idx[k]) << bits | k;
}

/// The column of position k.
__device__ __forceinline__ std::int32_t column_of(const DevicePattern& as, std::int64_t k) {
  std::int32_t j = 0;  // col_ptr[j] <= k
  for (std::int32_t end = as.n; end - j > 1;) {
    const std::int32_t middle = j + (end - j) / 2;
    (as.col_ptr[middle] <= k ? j : end) = middle;
  }
  return j;
}

/// ptr, diag: (n + 1), (n)
__global__ void rows_from_keys_kernel(DevicePattern as, const std::int64_t* keys, int bits, std::int64_t* ptr,
                                      std::int64_t* diag, std::int32_t* col, std::uint32_t* from) {
  const std::int64_t stride = simt::threads_of_grid(), mask = (std::int64_t(1) << bits) - 1;
  for (std::int64_t k = simt::thread_of_grid(); k < as.nnz; k += stride) {
    const auto row = static_cast<std::int32_t>(keys[k] >> bits);
    const std::int32_t j = column_of(as, keys[k] & mask);
    col[k] = j;
    from[k] = static_cast<std::uint32_t>(keys[k] & mask);
    if (j == row) diag[row] = k;
    if (k == 0 || keys[k - 1] >> bits < row) ptr[row] = k;  // no row is empty: each has its diagonal
    if (k == 0) ptr[as.n] = as.nnz;
  }
}

// --- rows and chunks -------------------------------------------------------------------------------------------------

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

__global__ void look_at_rows_kernel(PlacedRows v) {
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

/// A warp takes a chunk of a triangle.
/// Equivalent to   for each row i of the chunk, in the order of the solve:  reached(i) = {i} ∪ reached(j) for j inner
__global__ void reach_kernel(PlacedRows v) {
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

// --- tasks -----------------------------------------------------------------------------------------------------------

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
      if (simt::warp_of_block() == 0)
        visit_row(w.placed, c.is_lower, c.first, [&](std::int32_t e, std::int32_t at, std::int64_t k) {
          if (e >= c.from && e < c.end) visit(0, e - c.from, at, k);
        });
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

/// What each task consists of. A block takes a task.
__global__ void lay_out_kernel(TaskWork w) {
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

/// Writes a task; its entries are those that `put` places.
struct TaskWriter {
  const TaskWork& w;
  const ChunkCut& c;
  std::int64_t begin;  // bytes

  template <class V>
  __device__ V* at(std::uint32_t offset) const {
    return reinterpret_cast<V*>(w.tasks + begin + offset);
  }
  /// In units of the scalar.
  __device__ std::uint32_t scalar(std::uint32_t offset, std::uint32_t index) const {
    return static_cast<std::uint32_t>((begin + offset) / w.scalar_bytes) + index;
  }
  __device__ const PackedPiece* pieces(RowsOf of) const {
    return w.pieces + c.first_piece + (of == RowsOf::inverse ? c.outer_pieces : 0);
  }

  /// Passes, rows and long rows. Called by all threads of the block.
  __device__ void write_passes(const ChunkRows& rows, RowsOf of) const {
    const int thread = static_cast<int>(threadIdx.x);
    const PackedPiece* const packed = pieces(of);
    auto* const row_of = at<std::uint16_t>(rows.rows);
    for (std::uint32_t k = threadIdx.x; k < (rows.long_rows - rows.rows) / sizeof *row_of; k += threads)
      row_of[k] = no_row;
    __syncthreads();  // RACE: any thread cleared a row that another writes
    const int n = of == RowsOf::inverse ? c.inverse_pieces : c.outer_pieces;
    for (int k = thread; k < n; k += threads) {
      const PackedPiece& piece = packed[k];
      if (k < c.count && row_size(w, c, of, k) > longest_whole_row) {
        at<ChunkLongRow>(rows.long_rows)[piece.pass] = {static_cast<std::uint16_t>(k),
                                                        static_cast<std::uint16_t>(piece.at),
                                                        static_cast<std::uint16_t>(piece.at + piece.row_at), 0};
        continue;
      }
      row_of[piece.row_at] = static_cast<std::uint16_t>(k < c.count ? k : partial_sum + k - c.count);
      if (piece.is_first)
        at<ChunkPass>(rows.passes)[piece.pass] = {piece.at, piece.steps, piece.log_lanes, piece.row_at};
    }
  }

  /// Entry e of row r takes `source`. Returns its place among the values.
  __device__ std::uint32_t put(const ChunkRows& rows, RowsOf of, std::int32_t r, std::int32_t e,
                               std::uint16_t source) const {
    const PackedPiece* const packed = pieces(of);
    std::int32_t size = row_size(w, c, of, r), piece = r;
    if (size > longest_whole_row) {
      const std::int64_t all = size, parts = packed[r].row_at;
      std::int64_t part = e * parts / all;
      while (all * (part + 1) / parts <= e) ++part;
      piece = c.count + static_cast<std::int32_t>(packed[r].at + part);
      e -= static_cast<std::int32_t>(all * part / parts);
      size = static_cast<std::int32_t>(all * (part + 1) / parts - all * part / parts);
    }
    const PackedPiece p = packed[piece];
    const std::int32_t lanes = 1 << p.log_lanes;
    const auto place = [&](std::int32_t k) {
      return p.at + 32 * static_cast<std::uint32_t>(k >> p.log_lanes) + static_cast<std::uint32_t>(k & (lanes - 1));
    };
    auto* const sources = at<std::uint16_t>(rows.sources);
    sources[place(e)] = source;
    if (e + 1 == size)  // a gap multiplies zero by a factor of its own row
      for (std::int32_t k = size; k < p.steps * lanes; ++k) sources[place(k)] = source;
    return place(e);
  }

  __device__ void put_one(std::uint32_t values, std::uint32_t index) const {
    if (w.scalar_bytes == sizeof(double))
      at<double>(values)[index] = 1;
    else
      at<float>(values)[index] = 1;
  }

  /// Entry e of row r of an inverse, of column j of its chunk.
  __device__ void put_inverse(const ChunkRows& rows, RowsOf of, std::int32_t r, std::int32_t e, std::uint16_t source,
                              int j) const {
    const PlacedRows& v = w.placed;
    const std::uint32_t index = put(rows, of, r, e, source);
    const std::int32_t p = c.first + r, chunk = v.chunk_of[p], first = v.chunk_ptr[chunk];
    const int i = p - first, last = v.chunk_ptr[chunk + 1] - first - 1;
    if (i == j) return put_one(rows.values, index);
    // The diagonal comes first of an upper row, last of a lower one.
    w.inverses[w.inverse[v.side(c.is_lower) + p] + static_cast<std::uint32_t>(c.is_lower ? e : e - 1)] = {
        scalar(rows.values, index), static_cast<std::uint8_t>(c.is_lower ? i : last - i),
        static_cast<std::uint8_t>(c.is_lower ? j : last - j)};
  }
};

/// What lay_out_kernel() laid out. A block takes a task.
__global__ void write_tasks_kernel(TaskWork w) {
  LULAB_DYNAMIC_SHARED(std::uint32_t, memory);
  const TaskScratch s(memory, w);
  const ChunkCut& c = w.cuts[blockIdx.x];
  const ChunkTask head = w.heads[blockIdx.x];
  const PlacedRows& v = w.placed;
  const TaskWriter writer = {w, c, w.begin[blockIdx.x]};
  const std::int64_t side = v.side(c.is_lower);
  if (threadIdx.x == 0) *writer.at<ChunkTask>(0) = head;
  writer.write_passes(head.outer, RowsOf::outer);
  if (c.has_inverse) {
    writer.write_passes(head.inverse, RowsOf::inverse);
    visit_inverse(w, c, [&](std::int32_t r, std::int32_t e, std::int32_t at, int j) {
      writer.put_inverse(head.inverse, RowsOf::inverse, r, e, static_cast<std::uint16_t>(at - c.first), j);
    });
  }
  if (c.has_pivots)
    for (int r = static_cast<int>(threadIdx.x); r < c.count; r += threads)
      w.moves[w.pivot_move[c.is_lower ? 0 : 1] + c.first + r] = {
          writer.scalar(head.pivots, static_cast<std::uint32_t>(r)),
          v.rows.position(v.rows.diag[v.column_at[c.first + r]])};
  std::int32_t inputs = 0;
  for (std::int64_t base = c.least_source; base < c.end_source; base += 32 * std::int64_t(w.mark_words)) {
    const auto first = static_cast<std::int32_t>(base);
    const std::int32_t found = mark_sources(w, c, s, first);
    const auto words = static_cast<int>(min((c.end_source - base + 31) / 32, std::int64_t(w.mark_words)));
    auto* const of_task = writer.at<std::int32_t>(head.inputs) + inputs;
    for (int k = static_cast<int>(threadIdx.x); k < words; k += threads) {
      std::int32_t* next = of_task + s.before[k];
      for (std::uint32_t left = s.marks[k]; left != 0; left &= left - 1)
        *next++ = c.first_word + first + 32 * k + __ffs(static_cast<int>(left)) - 1;
    }
    visit_entries(w, c, [&](std::int32_t r, std::int32_t e, std::int32_t at, std::int64_t k) {
      const auto bit = static_cast<std::uint32_t>(at - first);
      if (at < first || bit / 32 >= static_cast<std::uint32_t>(words)) return;
      const auto source =
          static_cast<std::uint16_t>(inputs + s.before[bit / 32] + __popc(s.marks[bit / 32] & ((1u << bit % 32) - 1)));
      if (c.entries == ChunkCut::inverse)
        return writer.put_inverse(head.outer, RowsOf::outer, r, e, source, static_cast<int>(k));
      const std::uint32_t index = writer.put(head.outer, RowsOf::outer, r, e, source);
      if (c.entries == ChunkCut::sums) return writer.put_one(head.outer.values, index);
      w.moves[w.move[side + c.first + r] + (c.entries == ChunkCut::slice ? c.from : 0) + e] = {
          writer.scalar(head.outer.values, index), v.rows.position(k)};
    });
    inputs += found;
    __syncthreads();  // RACE: all have read the marks before they are cleared
  }
}

/// The entries of the chunks' own triangles. A warp takes a row.
__global__ void write_triangles_kernel(TaskWork w, std::int32_t lower_has_pivots) {
  const PlacedRows& v = w.placed;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t stride = std::int64_t(gridDim.x) * warps;
  for (std::int64_t item = std::int64_t(blockIdx.x) * warps + simt::warp_of_block(); item < 2 * std::int64_t(v.n);
       item += stride) {
    const std::uint32_t to = w.entry[item];
    if (to == no_entry) continue;
    const bool lower = item < v.n;
    const auto p = static_cast<std::int32_t>(lower ? item : item - v.n);
    const std::int32_t row = v.column_at[p], chunk = v.chunk_of[p];
    const std::int32_t first = v.chunk_ptr[chunk], size = v.chunk_ptr[chunk + 1] - first;
    const auto turned = [&](std::int32_t i) { return static_cast<std::uint8_t>(lower ? i : size - 1 - i); };
    const std::int64_t end = v.rows.end(row, lower);
    for (std::int64_t k = v.rows.begin(row, lower) + lane; k < end; k += 32) {
      const std::int32_t j = v.position[v.rows.col[k]] - first;
      if (j < 0 || j >= size) continue;
      const std::uint64_t before = v.inner[item] & ((std::uint64_t(1) << j) - 1);
      w.entries[to + static_cast<std::uint32_t>(__popcll(before))] = {v.rows.position(k), turned(p - first), turned(j)};
    }
    if (lane == 0 && lower == (lower_has_pivots != 0))  // these come before the chunk's first row
      w.entries[w.entry[item - (p - first)] - static_cast<std::uint32_t>(size - (p - first))] = {
          v.rows.position(v.rows.diag[row]), turned(p - first), turned(p - first)};
  }
}

/// Makes the tasks, with what that needs meanwhile.
class Maker {
 public:
  Maker(const DevicePattern& as, const std::int64_t* d_diag, const ChunkTaskOptions& options, simt::Stream& stream)
      : n_(as.n), as_(as), d_diag_(d_diag), options_(options), stream_(stream) {}

  Result<ChunkTasks> make(std::int32_t max_columns) {
    if (as_.nnz >= std::int64_t(no_entry))
      return Status::error(StatusCode::not_implemented, "a solve by chunks counts its entries in 32 bits");
    placed_.n = n_;
    if (options_.transposed)
      placed_.rows = {as_.col_ptr, d_diag_, as_.row_idx, nullptr};
    else
      LULAB_RETURN_IF_ERROR(transpose());
    LULAB_ASSIGN_OR_RETURN(auto tree, DeviceTree::create(n_, as_.nnz));
    LULAB_RETURN_IF_ERROR(tree.enqueue(as_, scratch_, stream_));
    std::vector<std::int64_t> row_ptr(n_ + std::size_t(1));
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(row_ptr.data(), placed_.rows.ptr, 8 * row_ptr.size(), stream_));
    LULAB_ASSIGN_OR_RETURN(const auto parent, tree.parents(stream_));
    LULAB_RETURN_IF_ERROR(place(find_chunks(parent, max_columns), row_ptr));
    return write();
  }

 private:
  /// With a warp for each item of both triangles.
  static unsigned blocks_of_warps(std::int64_t items) { return simt::blocks_for(2 * items, warps, most_blocks); }

  /// As by rows.
  Status transpose() {
    for (auto* buffer : {&d_row_ptr_, &d_row_diag_}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, n_ + std::int64_t(1)));
    LULAB_RETURN_IF_ERROR(simt::make(d_col_, as_.nnz));
    LULAB_RETURN_IF_ERROR(simt::make(d_from_, as_.nnz));
    simt::DeviceBuffer<std::int64_t> d_keys, d_sorted;
    for (auto* buffer : {&d_keys, &d_sorted}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, as_.nnz));
    const int position_bits = std::bit_width(static_cast<std::uint64_t>(as_.nnz));
    const int row_bits = std::bit_width(static_cast<std::uint32_t>(n_));
    const simt::LaunchShape shape = {.grid = simt::blocks_for(as_.nnz, threads, most_blocks), .block = threads};
    LULAB_RETURN_IF_ERROR(simt::launch(row_key_kernel, shape, stream_, as_, position_bits, d_keys.data()));
    LULAB_RETURN_IF_ERROR(
        simt::sort_keys(d_keys.data(), d_sorted.data(), as_.nnz, position_bits + row_bits, scratch_, stream_));
    LULAB_RETURN_IF_ERROR(simt::launch(rows_from_keys_kernel, shape, stream_, as_, d_sorted.data(), position_bits,
                                       d_row_ptr_.data(), d_row_diag_.data(), d_col_.data(), d_from_.data()));
    placed_.rows = {d_row_ptr_.data(), d_row_diag_.data(), d_col_.data(), d_from_.data()};
    return stream_.wait();  // the keys go
  }

  /// Puts the chunks into their order and counts the rows' entries.
  Status place(const Chunks& chunks, std::span<const std::int64_t> row_ptr) {
    places_ = place_chunks(chunks, row_ptr, options_);
    const auto n_chunks = static_cast<std::int32_t>(places_.chunk_ptr.size()) - 1;
    std::vector<std::int32_t> chunk_of(n_);
    for (std::int32_t k = 0; k < n_chunks; ++k)
      std::fill(chunk_of.begin() + places_.chunk_ptr[k], chunk_of.begin() + places_.chunk_ptr[k + 1], k);
    LULAB_RETURN_IF_ERROR(simt::make(d_column_at_, places_.column_at, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_position_, places_.position, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_chunk_of_, chunk_of, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_chunk_ptr_, places_.chunk_ptr, stream_));
    for (auto* buffer : {&d_inner_, &d_reached_}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, 2 * std::int64_t(n_)));
    LULAB_RETURN_IF_ERROR(simt::make(d_counts_, 2 * std::int64_t(n_)));
    placed_.column_at = d_column_at_.data();
    placed_.position = d_position_.data();
    placed_.chunk_of = d_chunk_of_.data();
    placed_.chunk_ptr = d_chunk_ptr_.data();
    placed_.chunks = n_chunks;
    placed_.inner = d_inner_.data();
    placed_.reached = d_reached_.data();
    placed_.counts = d_counts_.data();
    LULAB_RETURN_IF_ERROR(
        simt::launch(look_at_rows_kernel, {.grid = blocks_of_warps(n_), .block = threads}, stream_, placed_));
    LULAB_RETURN_IF_ERROR(
        simt::launch(reach_kernel, {.grid = blocks_of_warps(n_chunks), .block = threads}, stream_, placed_));
    counts_.resize(2 * std::size_t(n_));
    LULAB_RETURN_IF_ERROR(d_counts_.download(counts_, stream_));
    return stream_.wait();
  }

  Result<ChunkTasks> write() {
    LULAB_ASSIGN_OR_RETURN(const ChunkCuts cuts, cut_into_tasks(places_, counts_, options_));
    const auto tasks = static_cast<std::int64_t>(cuts.tasks.size());
    simt::DeviceBuffer<ChunkCut> d_cuts;
    simt::DeviceBuffer<PackedPiece> d_pieces;
    simt::DeviceBuffer<ChunkTask> d_heads;
    simt::DeviceBuffer<TaskSize> d_sizes;
    simt::DeviceBuffer<std::int64_t> d_move;
    simt::DeviceBuffer<std::uint32_t> d_entry, d_inverse;
    LULAB_RETURN_IF_ERROR(simt::make(d_cuts, cuts.tasks, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_pieces, cuts.n_pieces));
    LULAB_RETURN_IF_ERROR(simt::make(d_heads, tasks));
    LULAB_RETURN_IF_ERROR(simt::make(d_sizes, tasks));
    TaskWork work = {};
    work.placed = placed_;
    work.scalar_bytes = options_.scalar_bytes;
    work.solve_warps = options_.threads / 32;
    work.cuts = d_cuts.data();
    work.pieces = d_pieces.data();
    work.heads = d_heads.data();
    work.sizes = d_sizes.data();
    work.max_pieces = cuts.max_pieces;
    work.mark_words = options_.mark_words;
    const simt::LaunchShape shape = {
        .grid = static_cast<unsigned>(tasks), .block = threads, .shared_bytes = TaskScratch::bytes(work)};
    LULAB_RETURN_IF_ERROR(simt::launch(lay_out_kernel, shape, stream_, work));
    std::vector<TaskSize> sizes(tasks);
    LULAB_RETURN_IF_ERROR(d_sizes.download(sizes, stream_));
    LULAB_RETURN_IF_ERROR(upload_sides(d_move, cuts.move));
    LULAB_RETURN_IF_ERROR(upload_sides(d_entry, cuts.entry));
    LULAB_RETURN_IF_ERROR(upload_sides(d_inverse, cuts.inverse));
    ChunkTasks made;
    LULAB_RETURN_IF_ERROR(simt::make(made.d_moves, cuts.n_moves));
    LULAB_RETURN_IF_ERROR(simt::make(made.d_triangles, cuts.triangles, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(made.d_entries, cuts.n_entries));
    LULAB_RETURN_IF_ERROR(simt::make(made.d_inverses, cuts.n_inverses));
    LULAB_RETURN_IF_ERROR(stream_.wait());  // for the sizes

    std::vector<std::int64_t> begin = {0};
    std::vector<double> time;
    for (const TaskSize& size : sizes) {
      begin.push_back(begin.back() + size.bytes);
      time.push_back(double(size.padded + size.n_inputs) / options_.threads + 10);
      made.max_inputs = std::max(made.max_inputs, size.n_inputs);
      made.max_bytes = std::max(made.max_bytes, size.bytes);
    }
    if (begin.back() / options_.scalar_bytes > std::numeric_limits<std::uint32_t>::max())
      return Status::error(StatusCode::not_implemented, "a solve by chunks counts its entries in 32 bits");
    const ChunkWorkers workers = deal_tasks(time, options_.workers);
    LULAB_RETURN_IF_ERROR(simt::make(made.d_begin, begin, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(made.d_worker_ptr, workers.ptr, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(made.d_worker_task, workers.task, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(made.d_tasks, begin.back()));
    LULAB_RETURN_IF_ERROR(made.d_tasks.fill_bytes(0, stream_));
    work.begin = made.d_begin.data();
    work.tasks = made.d_tasks.data();
    work.move = d_move.data();
    for (int side = 0; side < 2; ++side) work.pivot_move[side] = cuts.pivot_move[side];
    work.entry = d_entry.data();
    work.inverse = d_inverse.data();
    work.moves = made.d_moves.data();
    work.entries = made.d_entries.data();
    work.inverses = made.d_inverses.data();
    LULAB_RETURN_IF_ERROR(simt::launch(write_tasks_kernel, shape, stream_, work));
    LULAB_RETURN_IF_ERROR(simt::launch(write_triangles_kernel, {.grid = blocks_of_warps(n_), .block = threads}, stream_,
                                       work, options_.transposed));
    made.d_column_at = std::move(d_column_at_);
    made.n_words = cuts.n_words;
    made.n_first_moves = cuts.n_first_moves;
    made.n_large = static_cast<std::uint32_t>(
        std::ranges::count_if(cuts.triangles, [](const ChunkTriangle& t) { return t.size > 32; }));
    made.size = static_cast<std::int32_t>(tasks);
    made.max_rows = cuts.max_rows;
    made.max_partial_sums = cuts.max_partial_sums;
    LULAB_RETURN_IF_ERROR(stream_.wait());  // what it needed goes
    return made;
  }

  /// Of the lower triangle, then of the upper one.
  template <class V>
  Status upload_sides(simt::DeviceBuffer<V>& buffer, const std::vector<V> (&sides)[2]) {
    LULAB_RETURN_IF_ERROR(simt::make(buffer, 2 * std::int64_t(n_)));
    for (int side = 0; side < 2; ++side)
      LULAB_RETURN_IF_ERROR(simt::copy_to_device(buffer.data() + side * std::int64_t(n_), sides[side].data(),
                                                 sides[side].size() * sizeof(V), stream_));
    return {};
  }

  const std::int32_t n_;
  const DevicePattern as_;
  const std::int64_t* const d_diag_;
  const ChunkTaskOptions options_;
  simt::Stream& stream_;
  simt::Scratch scratch_;
  ChunkPlaces places_;
  std::vector<ChunkRowCounts> counts_;
  PlacedRows placed_ = {};
  simt::DeviceBuffer<std::int64_t> d_row_ptr_, d_row_diag_;
  simt::DeviceBuffer<std::int32_t> d_col_;
  simt::DeviceBuffer<std::uint32_t> d_from_;
  simt::DeviceBuffer<std::int32_t> d_column_at_, d_position_, d_chunk_of_, d_chunk_ptr_;
  simt::DeviceBuffer<std::uint64_t> d_inner_, d_reached_;
  simt::DeviceBuffer<ChunkRowCounts> d_counts_;
};

}  // namespace
}  // namespace chunk_layout

std::int64_t ChunkTasks::bytes() const {
  return d_tasks.size() + 8 * (d_begin.size() + d_moves.size()) +
         4 * (d_worker_ptr.size() + d_worker_task.size() + d_column_at.size()) +
         std::int64_t(sizeof(ChunkTriangle)) * d_triangles.size() +
         std::int64_t(sizeof(ChunkEntry)) * (d_entries.size() + d_inverses.size());
}

Result<ChunkTasks> make_chunk_tasks(const DevicePattern& as, const std::int64_t* d_diag, std::int32_t max_columns,
                                    const ChunkTaskOptions& options, simt::Stream& stream) {
  return chunk_layout::Maker(as, d_diag, options, stream).make(max_columns);
}

}  // namespace lulab
