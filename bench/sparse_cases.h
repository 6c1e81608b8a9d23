#pragma once
// Every rung of the registry on one sparse matrix, phase by phase.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cost_estimate.h"
#include "bench/harness.h"
#include "bench/peers/peer.h"
#include "bench/problem.h"
#include "core/rung.h"

namespace lulab::bench {

struct SparseOptions {
  std::vector<std::string> rungs = {}, phases = {}, precisions = {};  // full names; empty: all
  std::vector<PeerLibrary> peers = {};                                // of the phases of a whole solver, beside KLU
  FactorOptions factor = {};
  std::int32_t batch = 64;  // systems of the phase batch, which is timed only where `phases` names it
  bool cold = false;        // flush the device's L2 before each timed run
  bool quick = false;       // dense GPU rungs on smaller matrices only
  double budget_s = 0.05;   // to sample each row for
  bool energy = false;      // of the GPU in the phase step
};

/// What applies to the matrix: first the phases step and first, each a comparison in which Solver (with the rungs that
/// are named, else with its own choice) and KLU take turns; then the rungs of symbolic/ (fill_cases.h), where their
/// phases or one of them are named; then one comparison with one case after the other. The
/// phases of one rung share its preparation: drop a comparison once it is measured, so that the rung's memory is free
/// for the next one.
///
/// Requires  problem, constants and history outlive the comparisons.
/// Ensures   klu_refactor in f64, the yardstick of the other phases, comes before all; names are unique.
std::vector<Comparison> sparse_comparisons(const Problem& problem, const SparseOptions& options,
                                           const DeviceConstants& constants, CostHistory& history);

}  // namespace lulab::bench
