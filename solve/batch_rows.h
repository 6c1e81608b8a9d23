#pragma once
// L or U by rows for a solve in which a warp takes a row for many systems: long rows are cut into parts.

#include <cstdint>
#include <vector>

#include "solve/triangle.h"

namespace lulab {

constexpr std::int32_t max_batch_entries = 32;  // of a part: one to each lane of the warp that brings them

struct BatchEntry {
  std::int32_t column;
  std::int32_t from;  // position in As
};

/// What one warp solves: a row, or the sum of some of a row's entries.
struct BatchRow {
  std::int32_t begin, count;       // entries
  std::int32_t word;               // row i: i; a part: at least n
  std::int32_t first_part, parts;  // words of the row's parts
  std::int32_t diagonal;           // of U in As; -1: L's, which is 1; a part has none
};

struct BatchTriangle {
  std::vector<BatchRow> rows;  // each after those it needs
  std::vector<BatchEntry> entries;
  std::int32_t n_words = 0;  // rows and parts
};

/// triangle, entries: of one side, lower or upper, with less than 2^31 entries
/// Cost      O(n + entries).
BatchTriangle cut_rows(const Triangle& triangle, const EntriesByRows& entries, bool unit_diagonal);

}  // namespace lulab
