#pragma once
// Where solves by chunks are cut into tasks: all that is decided about chunk_tasks.h from how many entries there are,
// in O(n). What has to be done for each entry of L and U is done on the device, by chunk_tasks_on_device.h.

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"
#include "solve/chunk_tasks.h"
#include "symbolic/chunks.h"

namespace lulab {

/// Chunks of one layer, at neighbouring positions, whose rows one task takes, or several that share them.
struct ChunkBundle {
  std::int32_t first, end;  // positions
  std::int64_t piece;       // entries of a task, where there are several
};

/// Columns in the order of the solve: layer by layer, chunk by chunk.
struct ChunkPlaces {
  std::vector<std::int32_t> column_at;  // (n) at each position
  std::vector<std::int32_t> position;   // (n) of each column
  std::vector<std::int32_t> chunk_ptr;  // (chunks + 1) positions
  std::vector<ChunkBundle> bundles;
};

/// Bundles have about equal numbers of entries within a layer.
///
/// row_ptr: (n + 1) of As, or its transpose, by rows.
/// Cost      O(n).
ChunkPlaces place_chunks(const Chunks& chunks, std::span<const std::int64_t> row_ptr, const ChunkTaskOptions& options);

/// How many entries a row of a triangle has beside the diagonal.
struct ChunkRowCounts {
  std::int32_t outer;    // outside its chunk
  std::int16_t inner;    // inside
  std::int16_t inverse;  // of the chunk's inverse
};

/// A task as it is cut out. Its rows are those at the positions first .. first + count - 1.
struct ChunkCut {
  enum Entries : std::int32_t {
    outer,    // of its rows outside their chunks
    slice,    // those from .. end - 1 of one row
    sums,     // from .. end - 1: sums of slices, which are added up
    inverse,  // of the inverses of its rows' chunks
  };

  Entries entries;
  std::int32_t first, count, from, end;
  std::int32_t is_lower, has_inverse, has_pivots;
  ChunkTask::Start start;
  std::int32_t start_at, out, solution;       // as ChunkTask::first, out, solution
  std::int32_t least_source, end_source;      // sources: positions, of sums their numbers
  std::int32_t first_word;                    // of source 0
  std::int32_t outer_pieces, inverse_pieces;  // of its rows: one a row, and one a partial sum
  std::uint32_t first_piece;                  // in all tasks
};

constexpr std::int32_t longest_piece = 256;                    // of a row that is cut into pieces, each a partial sum
constexpr std::int32_t longest_whole_row = 2 * longest_piece;  // no longer than that it is one piece
constexpr std::int32_t partial_sums_of(std::int32_t entries) {
  return entries <= longest_whole_row ? 0 : (entries + longest_piece - 1) / longest_piece;
}

/// Of both triangles; [0] of lower, [1] of upper.
struct ChunkCuts {
  std::vector<ChunkCut> tasks;  // a task needs words of earlier ones only
  std::int64_t n_words = 0;     // [0, n) lower solution by position, [n, 2n) upper, the rest what tasks share
  std::int64_t n_pieces = 0;
  std::vector<std::int64_t> move[2];      // (n) of each position: its row's first one
  std::int64_t pivot_move[2] = {-1, -1};  // of position 0; -1: no pivots
  std::int64_t n_first_moves = 0, n_moves = 0;
  std::vector<std::uint32_t> entry[2];    // (n) of each position: its row's first one of a ChunkTriangle; no_entry:
                                          // its chunk needs no inverse
  std::vector<std::uint32_t> inverse[2];  // likewise, of inverses
  std::int64_t n_entries = 0, n_inverses = 0;
  std::vector<ChunkTriangle> triangles;                             // see ChunkTasks::d_triangles
  std::int32_t max_rows = 0, max_pieces = 0, max_partial_sums = 0;  // of a task
};
constexpr std::uint32_t no_entry = 0xffffffffu;

/// counts: (2, n) by position, of the lower triangle, then of the upper one.
/// Errors    not_implemented: more words or entries than 32 bits can count, slices of a row than 16 bits can.
/// Cost      O(n).
Result<ChunkCuts> cut_into_tasks(const ChunkPlaces& places, std::span<const ChunkRowCounts> counts,
                                 const ChunkTaskOptions& options);

/// Which tasks each of the workers does.
struct ChunkWorkers {
  std::vector<std::int32_t> ptr;   // (workers + 1) into task
  std::vector<std::int32_t> task;  // (tasks) of each worker, ascending
};

/// Tasks first .. work.size() - 1 in their order, each to the worker that has the least to do.
ChunkWorkers deal_tasks(std::span<const double> work, std::int32_t first, std::int32_t workers);

}  // namespace lulab
