#pragma once
// What a factorization by panels will take on a GPU, told from the pattern alone: by which an ordering is chosen.

#include <cstdint>

#include "core/plan.h"

namespace lulab {

struct PanelCosts {
  std::int32_t panels = 0;   // of relaxed supernodes
  std::int64_t updates = 0;  // of a panel by a panel
  double multiply_adds = 0;  // with those of the panels' zeros
  std::int32_t chain = 0;    // panels on the longest chain of panels that need each other
  double predicted_us = 0;   // one refactorization on an H200, in microseconds
};

/// The prediction is a sum: a chain of panels, each with a hop from block to block, one update and its elimination; the work
/// of all panels on all blocks; the multiply-adds. Its constants are fitted to sparse_syncfree/10_supernode_panels on 15
/// matrices; it is meant to compare orderings of one matrix.
///
/// Requires  a valid FilledPattern.
/// Cost      O(nnz(L+U)) but for finding the panels (relaxed_supernodes.h).
PanelCosts panel_costs(const FilledPattern& filled);

}  // namespace lulab
