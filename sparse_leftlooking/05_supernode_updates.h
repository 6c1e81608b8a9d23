#pragma once
// L stored by supernodes, and the updates of every column, each by a run of one supernode's columns.
//
// A supernode is a rectangle of equal columns: the triangle of the supernode's own rows (upper part unused), below it
// the rows that all its columns have in common. A run k .. k'' of these columns, all that U(:,j) has of them before
// column j, updates column j at once:
//
//     x(k..k'')  <-  triangle of L(k..k'', k..k'')  \  x(k..k'')
//     x(rows of L(:,k''))  -=  L(those rows, k..k'') · x(k..k'')

#include <cstdint>
#include <vector>

#include "core/plan.h"

namespace lulab::sparse_leftlooking {

/// The update of column j by a run k .. k''.
struct Update {
  std::int64_t l_kk;    // place of L(k,k), which is not stored; L(k+i, k+e) lies at l_kk + e · ld + i
  std::int64_t rows;    // of L(:,k'') in row_idx
  std::int64_t map;     // of these rows in the map of all updates
  std::int32_t ld;      // from one column of the supernode to the next
  std::int32_t width;   // k'' - k + 1
  std::int32_t below;   // entries of L(:,k'')
  std::int32_t at;      // of U(k,j) in column j
  std::int32_t narrow;  // updates of column j, from this one on, that have one column of at most max_narrow rows each
};

struct SupernodeUpdates {
  std::vector<std::int64_t> l_begin;           // (n) where L(:,j) starts in the array of all supernodes
  std::vector<std::int64_t> update_ptr = {0};  // (n + 1) into updates
  std::vector<Update> updates;                 // ascending k in each column
  std::int64_t size = 0;                       // of the array of all supernodes, in scalars
  std::int64_t map_size = 0;                   // rows of all updates
};

/// Supernodes of at most max_width columns. A run of fewer than min_width columns becomes updates by single columns.
/// Update::narrow counts single columns of at most max_narrow rows.
///
/// Requires  a valid FilledPattern; max_width >= 1, min_width >= 1.
/// Cost      O(nnz(L+U)).
/// Source    supernode-column updates: Demmel, Eisenstat, Gilbert, Li & Liu 1999, section 3.1.
SupernodeUpdates make_supernode_updates(const FilledPattern& filled, std::int32_t max_width, std::int32_t min_width,
                                        std::int32_t max_narrow);

}  // namespace lulab::sparse_leftlooking
