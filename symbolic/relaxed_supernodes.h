#pragma once
// Relaxed supernodes: panels of neighbouring columns with nearly the same pattern, padded with zeros.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"

namespace lulab {

struct RelaxationOptions {
  std::int32_t max_width = 8;    // most columns of a panel
  std::int32_t max_subtree = 8;  // a subtree of the elimination tree with at most so many columns becomes one panel
  double padding = 2;            // limit of (entries of a panel with its zeros) / (entries of its columns)

  bool operator==(const RelaxationOptions&) const = default;
};

/// Panel s = columns first[s] .. first[s + 1] - 1 with the union of their rows.
struct RelaxedSupernodes {
  std::vector<std::int32_t> first = {0};    // (size + 1)
  std::vector<std::int32_t> of;             // (n) panel of each column
  std::vector<std::int64_t> row_ptr = {0};  // (size + 1) into rows
  std::vector<std::int32_t> rows;           // ascending in each panel: the union of the rows of its columns

  std::int32_t size() const { return static_cast<std::int32_t>(first.size()) - 1; }
  /// One more, up to column `end`, with so many rows, which are not there yet.   Requires of: (n).
  void add(std::int32_t end, std::int64_t n_rows) {
    std::fill(of.begin() + first.back(), of.begin() + end, size());
    first.push_back(end);
    row_ptr.push_back(row_ptr.back() + n_rows);
  }
  std::int32_t width(std::int32_t s) const { return first[s + 1] - first[s]; }
  std::span<const std::int32_t> rows_of(std::int32_t s) const {
    return std::span(rows).subspan(row_ptr[s], row_ptr[s + 1] - row_ptr[s]);
  }

  bool operator==(const RelaxedSupernodes&) const = default;
};

/// How panels update each other: K updates J where a row of J is one of K's columns, and K comes before J.
struct PanelUpdates {
  std::int32_t panels = 0;
  std::int32_t updated = 0;  // panels with an update
  std::int64_t updates = 0;  // of one panel by another
  double multiply_adds = 0;  // including those with padding zeros of the panels
  std::int32_t chain = 0;    // panels on the longest chain of dependent panels

  bool operator==(const PanelUpdates&) const = default;
};

/// Cost   O(rows of the panels).
PanelUpdates count_updates(const RelaxedSupernodes& panels);

/// parent[j] = the smallest i > j with L(i,j) != 0 or U(j,i) != 0; -1: none. For a pattern of Aᵀ + A this is the
/// elimination tree.
///
/// host_threads: that find it, the same for any number; 0: as many as pay.
///
/// Requires  a valid FilledPattern.   Shapes (n).   Cost O(nnz(L+U)).
/// Source    Liu 1990, section 2; Davis 2006, section 4.1.
std::vector<std::int32_t> elimination_tree(const FilledPattern& filled, int host_threads = 0);

/// For each node its smallest child; n: none.   Shapes (n).
std::vector<std::int32_t> first_children(std::span<const std::int32_t> parent);

/// From left to right: a small subtree becomes one panel if the union of its rows adds few zeros. After that a column
/// joins the panel of the column before it, as long as that column is its child and the zeros stay few. Products with
/// padding zeros are zero, so the factors do not change. Postordered columns (children before their parent) give wide
/// panels. Where panels end: panel_growth.h.
///
/// host_threads: that find them, the same for any number; 0: as many as pay.
///
/// Requires  a valid FilledPattern; max_width >= 1, padding >= 1.
/// Cost      O(max_width · (n + rows of the panels) + nnz(L+U)).
/// Source    Demmel, Eisenstat, Gilbert, Li & Liu 1999, section 2.4 (relaxed supernodes).
RelaxedSupernodes find_relaxed_supernodes(const FilledPattern& filled, const RelaxationOptions& options,
                                          int host_threads = 0);

}  // namespace lulab
