#pragma once
// Groups of neighbouring columns of As that are faster to eliminate together, and the rows and columns of L each one
// needs.

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"

namespace lulab::sparse_leftlooking {

/// Group s = columns first[s] .. first[s + 1] - 1, at most max_width of them. A column of L that one column of a group
/// needs is applied to all of them: the others have zeros there, which stay zeros.
struct ColumnGroups {
  static constexpr std::int32_t max_width = 8;
  static constexpr std::int32_t columns_a_part = 1024;  // no group goes from a part into the next: a thread makes each

  /// What an update by L(:,j) reads, in one cache line.
  struct LColumn {
    std::int64_t begin;   // position in As of its first entry below the diagonal
    std::int32_t length;  // their number
    std::int32_t run;     // so many columns j, j+1, ... have one pattern except for their triangle
  };

  std::vector<std::int32_t> first = {0};       // (n_groups + 1)
  std::vector<std::int32_t> group_of;          // (n)
  std::vector<std::int64_t> source_ptr = {0};  // (n_groups + 1) into source_cols
  std::vector<std::int32_t> source_cols;       // j < first[s] with U(j,k) != 0 for a column k of the group, ascending
  std::vector<std::int64_t> row_ptr = {0};     // (n_groups + 1) into rows
  std::vector<std::int32_t> rows;              // i >= first[s] that a column of the group has an entry in, ascending
  std::vector<LColumn> l;                      // (n) columns of L
  std::vector<double> work;                    // (n_groups) multiply-adds, those with padding included

  std::int32_t size() const { return static_cast<std::int32_t>(first.size()) - 1; }
  std::int32_t width(std::int32_t s) const { return first[s + 1] - first[s]; }
  std::span<const std::int32_t> sources_of(std::int32_t s) const {
    return std::span(source_cols).subspan(source_ptr[s], source_ptr[s + 1] - source_ptr[s]);
  }
  std::span<const std::int32_t> rows_of(std::int32_t s) const {
    return std::span(rows).subspan(row_ptr[s], row_ptr[s + 1] - row_ptr[s]);
  }
};

/// Goes from left to right and gives each group the width that saves most: one pass over the columns of L serves all
/// columns of the group, instead of a pass for each, at the price of lanes that multiply zeros.
///
/// host_threads: that make the groups, the same for any number; 0: as many as pay.
///
/// Requires  a valid FilledPattern.
/// Cost      O(max_width · nnz(L+U)) time; at most 3 nnz(L+U) int32 of memory, a third of it in the result.
/// Source    Demmel, Eisenstat, Gilbert, Li & Liu 1999, section 3.2, where a group is a panel; here the patterns in it
///           may differ.
ColumnGroups make_column_groups(const FilledPattern& filled, int host_threads = 0);

/// Every column alone: what a sequential factorization needs of that, first and l.
///
/// Requires  a valid FilledPattern.   Cost O(n + nnz(L)).
ColumnGroups single_columns(const FilledPattern& filled);

}  // namespace lulab::sparse_leftlooking
