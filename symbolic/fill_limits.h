#pragma once
// What a search for fill may take, and what it did.

#include <cstdint>

namespace lulab {

/// Columns ("sources") first, first + step, ...: what one of `step` ranks searches from. A search from a later column
/// takes longer: so each rank has early and late ones.
struct SourceShare {
  std::int32_t first = 0, step = 1;  // 0 <= first < step

  /// How many of n columns.
  constexpr std::int32_t size(std::int32_t n) const { return first < n ? (n - 1 - first) / step + 1 : 0; }
  constexpr std::int32_t source(std::int32_t k) const { return first + k * step; }
};

/// Rungs that search from many columns at once share out memory to them, 08_depth_bitmaps to chains; the others
/// ignore it. What holds the result is not counted, nor the longest column twice, where ranks gather it; nor is the
/// tree of 08, some 150 bytes a column and 4 an entry of B, and what it renumbers with, 16 bytes an entry of L + U,
/// where columns are not in postorder.
struct FillLimits {
  std::int64_t workspace_bytes = 0;  // in device memory, at most; 0: an eighth of it
  std::int32_t sources = 0;          // columns searched from at once, at most; 0: as many as the device keeps busy
  std::int64_t queue_entries = 0;    // of 06_gsofa_sources, at most; 0: 256 a source, where there is room
  /// Line 9.5 of Gaihre et al., Fig. 6: a row already found is passed by before its maxId is looked at.
  bool passes_found_rows = false;
  // 06_gsofa_sources without what its paper adds to save time and memory; the pattern is the same.
  bool clears_max_id = false;  // for every group, instead of a range of values of its own (section 4, Fig. 14)
  bool keeps_bubbles = false;  // n values of maxId for every column, those above it too: all groups divide the
                               // workspace alike (section 6)
  /// Rungs that search from many columns at once: all groups are as large as the last one, whose columns need most.
  bool groups_of_one_size = false;
  int threads = 0;  // of the host, at most; 0: as many as there are cores
};

/// What a search on the device did.
struct FillWork {
  std::int64_t edges = 0;            // entries of B looked at
  std::int64_t batches = 0;          // groups of sources, one after the other
  std::int32_t most_sources = 0;     // of the largest group
  std::int32_t fewest_sources = 0;   // of the smallest group but the last
  std::int64_t workspace_bytes = 0;  // that was allocated
  std::int64_t cleared_bytes = 0;    // of it, once a group
};

}  // namespace lulab
