#pragma once
// L in panels, a supernode each, and the updates of every column, a run of a supernode's columns each.
//
// The columns of a supernode lie in a panel of equal columns: the triangle of the supernode's own rows (upper part
// unused), below it the rows that all have in common. A run k .. k'' of these columns, all that U(:,j) has of them before
// column j, updates column j at once:
//
//     x(k..k'')  <-  triangle of L(k..k'', k..k'')  \  x(k..k'')
//     x(rows of L(:,k''))  -=  L(those rows, k..k'') · x(k..k'')

#include <cstdint>
#include <vector>

#include "core/plan.h"

namespace lulab::sparse_leftlooking {

struct Update {
  std::int64_t panel;   // of L(k,k), which is not stored; L(k+i, k+e) lies at panel + e · ld + i
  std::int64_t rows;    // of L(:,k'') in row_idx
  std::int64_t map;     // of these rows in a map that has those of all updates
  std::int32_t ld;      // from one column of the panel to the next
  std::int32_t width;   // k'' - k + 1
  std::int32_t below;   // entries of L(:,k'')
  std::int32_t at;      // of U(k,j) in column j
  std::int32_t narrow;  // updates of column j, from this one on, that have one column of at most max_narrow rows each
};

struct UpdatePanels {
  std::vector<std::int64_t> l_begin;           // (n) of L(:,j) in its panel
  std::vector<std::int64_t> update_ptr = {0};  // (n + 1) into updates
  std::vector<Update> updates;                 // ascending k in each column
  std::int64_t size = 0;                       // of all panels, in scalars
  std::int64_t map_size = 0;                   // rows of all updates
};

/// Supernodes of at most max_width columns. A run of fewer than min_width columns becomes updates by single columns.
/// Update::narrow counts single columns of at most max_narrow rows.
///
/// Requires  a valid FilledPattern; max_width >= 1, min_width >= 1.
/// Cost      O(nnz(L+U)).
/// Source    supernode-column updates: Demmel, Eisenstat, Gilbert, Li & Liu 1999, section 3.1.
UpdatePanels make_update_panels(const FilledPattern& filled, std::int32_t max_width, std::int32_t min_width,
                                std::int32_t max_narrow);

}  // namespace lulab::sparse_leftlooking
