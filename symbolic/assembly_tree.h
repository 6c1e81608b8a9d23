#pragma once
// The assembly tree of a multifrontal factorization: columns grouped into dense fronts.

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"
#include "core/uninitialized_vector.h"
#include "symbolic/relaxed_supernodes.h"

namespace lulab {

/// What a front costs: `fixed` for being there, and so much for each of its pivots, multiply-adds and entries that it
/// leaves to its parent. A front up to `tile` rows is one tile; a larger one is cut into tiles, and each of them is
/// there.   Unit any, the same for all.
struct FrontCosts {
  std::int32_t tile = 64;
  double fixed = 5, pivot = 0.2, multiply_add = 1.0 / 20000, left_entry = 1.0 / 1000;

  /// Of a front with so many pivots and rows.
  double of(std::int64_t pivots, std::int64_t rows) const;
};

/// Front s eliminates the columns and rows first[s] .. first[s + 1] - 1 in a dense matrix whose rows, and columns, are
/// these and then others_of(s). All entries of L(:,k) and U(k,:) lie in the front of k, and all that they change lies
/// in it or in its ancestors: others_of(s) without the pivots of the parent are among the parent's.
struct AssemblyTree {
  std::vector<std::int32_t> first = {0};       // (size + 1)
  std::vector<std::int32_t> parent;            // (size) a later front; -1: none
  std::vector<std::int64_t> others_ptr = {0};  // (size + 1) into others
  UninitializedVector<std::int32_t> others;    // ascending in each front, all after its pivots

  std::int32_t size() const { return static_cast<std::int32_t>(parent.size()); }
  std::int32_t pivots(std::int32_t s) const { return first[s + 1] - first[s]; }
  std::int32_t last_pivot(std::int32_t s) const { return first[s + 1] - 1; }
  std::span<const std::int32_t> others_of(std::int32_t s) const {
    return std::span(others).subspan(others_ptr[s], others_ptr[s + 1] - others_ptr[s]);
  }
  std::int32_t rows(std::int32_t s) const { return pivots(s) + static_cast<std::int32_t>(others_of(s).size()); }

  bool operator==(const AssemblyTree&) const = default;
};

/// Panels become fronts, and a front joins its parent where the two cost less as one and are neighbours, as the last
/// child of a postordered tree is. The pattern is made symmetric: a front has a row for each of its columns.
///
/// panels: of `filled`.
/// Requires  a valid FilledPattern.
/// Cost      O(nnz(U) + rows of all panels).
/// Source    Duff & Reid 1983, sections 3 and 4 (fronts of an unsymmetric matrix, node amalgamation).
AssemblyTree find_assembly_tree(const FilledPattern& filled, const RelaxedSupernodes& panels,
                                const FrontCosts& costs = {});

/// The same, but for the contents of `others`, of panels of which is known: where they begin, the parent, a later panel
/// or -1, and how many others each has. Those of a front are those of the panel with its last pivot.
///
/// host_threads: that find it, the same for any number; 0: as many as pay.
///
/// Shapes    first: (panels + 1), as in RelaxedSupernodes. parent, n_others: (panels).
AssemblyTree join_panels(std::span<const std::int32_t> first, std::span<const std::int32_t> parent,
                         std::span<const std::int32_t> n_others, const FrontCosts& costs, int host_threads = 0);

/// The row of the parent's front for each of `others`: its pivots are rows 0, 1, ..., then come its others. Undefined
/// for a front without a parent.
std::vector<std::int32_t> rows_in_parent(const AssemblyTree& tree);

}  // namespace lulab
