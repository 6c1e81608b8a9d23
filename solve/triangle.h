#pragma once
// The order in which a parallel triangular solve takes the rows of L, U, Uᵀ or Lᵀ, and where their entries lie.

#include <cstdint>
#include <vector>

#include "core/plan.h"

namespace lulab {

enum class TriangleSide {
  lower,             // L x = b, unit diagonal
  upper,             // U x = b
  upper_transposed,  // Uᵀ x = b
  lower_transposed,  // Lᵀ x = b, unit diagonal
};

/// A row of a triangle: count entries beside the diagonal from position begin on; U's diagonal is the one after them.
struct alignas(16) TriangleRow {
  std::int64_t begin;
  std::int32_t count;
  std::int32_t row;
};

/// Rows of one level that one warp solves at the same time: rows[first .. first + count), each by `lanes` lanes.
struct TriangleTask {
  std::int32_t first;
  std::int16_t count;
  std::int16_t lanes;  // for each right-hand side; 1, 2, 4, ..., 32
};

/// Rows by level: a row needs only rows of earlier levels. Entries of a row lie `step` apart in ascending levels of
/// the rows that they need, as far as the storage allows: entries whose rows finish last come last.
struct Triangle {
  std::vector<TriangleRow> rows;        // (n) level by level, long rows first
  std::vector<std::int32_t> level_ptr;  // (n_levels + 1) into rows
  int step = 1;                         // -1: entries are taken from begin downwards
  std::int64_t entries = 0;             // of L or U by rows, U's diagonal among them
  std::int32_t n_levels() const { return static_cast<std::int32_t>(level_ptr.size()) - 1; }
};

/// Columns of As are the rows of Uᵀ and Lᵀ as they lie: TriangleRow::begin is a position in As. L and U get storage by
/// rows, in the order of the solve (EntriesByRows): the copy of the values costs one pass a factorization, and then
/// every solve reads 12 bytes an entry one after the other instead of a sector of 32 bytes for each.
///
/// Requires  a valid FilledPattern.
/// Cost      O(n + nnz).
/// Source    Anderson & Saad 1989 (levels of a triangular solve).
Triangle make_triangle(const FilledPattern& f, TriangleSide side);

struct EntriesByRows {
  std::vector<std::int32_t> column;  // (entries)
  std::vector<std::int64_t> from;    // (entries) position in As
};

/// The entries of L or U at the places that make_triangle(f, side) gave to their rows.
///
/// Requires  side: lower or upper.   Cost O(n + nnz).
EntriesByRows entries_by_rows(const FilledPattern& f, TriangleSide side, const Triangle& triangle);

struct TriangleTasks {
  std::vector<TriangleTask> tasks;
  std::vector<std::int32_t> level_ptr;  // (n_levels + 1) into tasks
};

/// Assigns the rows to warps: a lane for every four entries of a row and each of rhs_lanes right-hand sides. A warp
/// gets several rows only where a level has more than `wide` rows: rows that share a warp finish together.
///
/// Requires  rhs_lanes: 1, 2, 4, ..., 32; wide > 0.
/// Ensures   count * lanes * rhs_lanes <= 32; all rows of a task are of one level.
/// Cost      O(n).
TriangleTasks make_tasks(const Triangle& triangle, int rhs_lanes, int wide);

/// Tasks first .. end of levels that are worth a block of their own, and their rows.
struct MiddleRange {
  std::int32_t first_task = 0, end_task = 0;
  std::int32_t first_row = 0, end_row = 0;  // positions in Triangle::rows
};

/// The narrow levels at the end of the first triangle of a solve (at_end), or at the start of the second: the top of
/// the elimination tree, where a solve consists of hops. A level saves the time of a hop through device memory and
/// costs the time that one block takes for its tasks. Returns the range that saves most, an empty one where that is
/// little.
///
/// level_rows, level_tasks: (n_levels + 1) as in Triangle and TriangleTasks   rhs_groups: times each task is done
/// Ensures   at most max_rows rows.
/// Cost      O(n_levels).
MiddleRange choose_middle(const std::vector<std::int32_t>& level_rows, const std::vector<std::int32_t>& level_tasks,
                          std::int64_t rhs_groups, std::int64_t max_rows, bool at_end);

}  // namespace lulab
