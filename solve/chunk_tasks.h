#pragma once
// What a triangular solve by chunks does, laid out for one launch: each task is one block of memory that a thread block
// brings on chip before what it waits for is there. Cut by chunk_cuts.h, written by chunk_tasks_on_device.h, done by
// the kernels of 04_chunks.h and chunk_values.h.
//
// A task takes rows of one triangle T, all of one chunk or of several chunks of one layer:
//
//   s = start - Σ T(i,j) x(j) over the columns j outside the chunk             outer
//   s(i) = s(i) / T(i,i), where T has pivots
//   x = T̂⁻¹ s, where T̂ is the chunk's own triangle with rows divided by T(i,i)   inverse
//
// so the chunk's columns, which hang together in a chain of up to 64, cost one product instead of a hop each. Where a
// task would have too many entries, its rows and its inverse become tasks of their own, joined by words of their own.

#include <cstdint>

namespace lulab {

// One bit each in a row of an inverse's pattern. Chunks of 48 make an update of a circuit 3 µs shorter, but each solve
// 2 to 4 µs longer; solves of a large matrix take a quarter longer.
constexpr std::int32_t max_chunk_columns = 64;
constexpr std::int32_t small_chunk_columns = 32;  // most of a chunk whose triangle one warp inverts

/// 2^log_lanes lanes sum one row: lane l takes the entries first + l, first + 32 + l, ... , `steps` of them. The sum of
/// group g goes to the row rows[first_row + g].
struct ChunkPass {
  std::uint32_t first;
  std::uint16_t steps;
  std::uint16_t log_lanes;
  std::uint32_t first_row;
};

/// A row too long for one pass: the sum of the partial sums from .. end - 1.
struct ChunkLongRow {
  std::uint16_t row, from, end, unused;
};

/// Rows of a task, packed into passes. What follows the task's header, as offsets in bytes from its start:
/// values: (entries) T, zero in the gaps of a pass   sources: (entries) std::uint16_t, the factor of each
/// passes, rows, long_rows: as above; a row of at least 0x8000 is partial sum row - 0x8000, 0xffff none
struct ChunkRows {
  std::uint32_t n_passes, n_long_rows;
  std::uint32_t values, sources, passes, rows, long_rows;
};

struct ChunkTask {
  enum Start : std::int32_t { zero, right_side, word };

  std::int32_t n_rows;
  std::int32_t n_inputs;
  Start start;
  std::int32_t first;     // position of the first row, of the right side or of the word it starts from
  std::int32_t out;       // the first row's solution is this word
  std::int32_t solution;  // position of the first row in x; -1: it is not x yet
  std::uint32_t inputs;   // (n_inputs) std::int32_t, words; an offset like those of ChunkRows
  std::uint32_t pivots;   // (n_rows) T, negated; 0: none
  std::int32_t has_inverse;
  ChunkRows outer, inverse;
};

/// An entry of L+U, and where it goes, negated.
struct ChunkMove {
  std::uint32_t to;    // in tasks, in units of the scalar
  std::uint32_t from;  // position in As
};

/// An entry (i, j) of a chunk's own triangle, i >= j: upper ones are counted from their end. at is its position in As;
/// of an inverse it is where the entry goes, as in ChunkMove.
struct ChunkEntry {
  std::uint32_t at;
  std::uint8_t i, j;
};

struct ChunkTriangle {
  std::uint32_t entry, entry_end;      // in entries; those of a triangle with pivots begin with them
  std::uint32_t inverse, inverse_end;  // in inverses
  std::int32_t size;
  std::int32_t is_first;  // of the first of the two triangles that are solved
};

struct ChunkTaskOptions {
  bool transposed = false;          // Uᵀ and Lᵀ instead of L and U
  std::int32_t scalar_bytes = 8;    // of the factors
  std::int32_t threads = 512;       // of the block that does a task; a multiple of 32
  std::int32_t workers = 1;         // blocks
  std::int32_t max_entries = 4096;  // of a task; 1 to 65535
  // In which a block marks its task's sources while it makes the task, 32 each; more take several rounds.
  std::int32_t mark_words = 4096;
};

}  // namespace lulab
