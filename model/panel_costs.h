#pragma once
// Predicted time of a factorization by panels on a GPU, from the pattern alone. Used to choose an ordering.

#include "core/plan.h"
#include "model/machine_speed.h"
#include "symbolic/relaxed_supernodes.h"

namespace lulab {

struct PanelCosts : PanelUpdates {
  double predicted_us = 0;  // time of one refactorization on an H200, in microseconds
};

/// The prediction is a sum of three times: the chain of panels (per panel a hop from block to block, one update, the
/// elimination), the work of all panels shared by all blocks, and the multiply-adds. The constants are fitted to
/// sparse_syncfree/10_supernode_panels on an H200 with 15 matrices. Meant for comparing orderings of one matrix.
///
/// Requires  a valid FilledPattern.
/// Cost      O(nnz(L+U)), plus finding the panels (relaxed_supernodes.h).
PanelCosts panel_costs(const FilledPattern& filled);
/// Of panels that are known.   Cost O(1).
PanelCosts panel_costs(const PanelUpdates& updates);

/// Time of one refactorization on a GPU of this speed, in microseconds. With MachineSpeed{} it is costs.predicted_us.
double panels_us(const PanelCosts& costs, const MachineSpeed& speed);
/// Likewise of sparse_syncfree/11_fan_in; how near: model/NOTES.md.
double fan_in_us(const PanelCosts& costs, const MachineSpeed& speed);
/// Likewise of sparse_syncfree/12_multifrontal, where the pattern is symmetric enough for its fronts.
double multifrontal_us(const PanelCosts& costs, const MachineSpeed& speed);

}  // namespace lulab
