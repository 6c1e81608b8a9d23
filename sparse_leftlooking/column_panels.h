#pragma once
// Neighbouring columns of As that gain from being eliminated together, and what a program needs to know to do so.

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"

namespace lulab::sparse_leftlooking {

/// Panel s = columns first[s] .. first[s + 1] - 1, at most max_width of them. What one column of a panel needs, all are
/// given: a column of L that only some of them need meets zeros in the others, which stay zeros.
struct ColumnPanels {
  static constexpr std::int32_t max_width = 8;

  /// What an update by L(:,j) asks for, in one cache line.
  struct LColumn {
    std::int64_t begin;   // of its entries below the diagonal in L and U
    std::int32_t length;  // their number
    std::int32_t run;     // columns j, j+1, ... have one pattern but for their triangle
  };

  std::vector<std::int32_t> first = {0};       // (n_panels + 1)
  std::vector<std::int32_t> panel_of;          // (n)
  std::vector<std::int64_t> source_ptr = {0};  // (n_panels + 1) into source_cols
  std::vector<std::int32_t> source_cols;       // j < first[s] with U(j,k) != 0 for a column k of the panel, ascending
  std::vector<std::int64_t> row_ptr = {0};     // (n_panels + 1) into rows
  std::vector<std::int32_t> rows;              // i >= first[s] that a column of the panel has an entry in, ascending
  std::vector<LColumn> l;                      // (n) columns of L
  std::vector<double> work;                    // (n_panels) multiply-adds, those with padding included

  std::int32_t size() const { return static_cast<std::int32_t>(first.size()) - 1; }
  std::int32_t width(std::int32_t s) const { return first[s + 1] - first[s]; }
  std::span<const std::int32_t> sources_of(std::int32_t s) const {
    return std::span(source_cols).subspan(source_ptr[s], source_ptr[s + 1] - source_ptr[s]);
  }
  std::span<const std::int32_t> rows_of(std::int32_t s) const {
    return std::span(rows).subspan(row_ptr[s], row_ptr[s + 1] - row_ptr[s]);
  }
};

/// Left to right, each panel as wide as saves most: one pass over the columns of L for all its columns, at the price of
/// lanes that only meet zeros, against a pass for each.
///
/// Requires  a valid FilledPattern.
/// Cost      O(max_width · nnz(L+U)) time; at most nnz(L+U) int32 of memory.
/// Source    Demmel, Eisenstat, Gilbert, Li & Liu 1999, section 3.2: panels; here they need no equal patterns.
ColumnPanels column_panels(const FilledPattern& filled);

}  // namespace lulab::sparse_leftlooking
