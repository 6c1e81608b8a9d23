#pragma once
// Phases that only some rungs have: many matrices in one call.

#include <cstdint>

#include "bench/harness.h"
#include "bench/problem.h"
#include "core/rung.h"

namespace lulab::bench {

template <class T>
constexpr bool has_batch_phase(const Rung& rung) {
  return rung.supports<T>() && rung.facts.takes_batches;
}

/// One factorization of `systems` perturbed copies of the problem's values: the time of all, divided by their number.
/// The backward error is the largest of a solve, before refinement, with the first, the middle and the last system's
/// factors, and must be at most 10 sqrt(eps).
///
/// Requires  has_batch_phase<T>(rung); rung and problem outlive the case; systems >= 1.
template <class T>
Case batch_case(const Rung& rung, const Problem& problem, std::int32_t systems, const FactorOptions& factor = {});

/// A step of BatchSolver in device memory with such copies: factored, solved, and refined as SolverOptions say by
/// default, in the analysis of the problem. The backward error is the largest of the first, the middle and the last x.
///
/// Requires  as batch_case().
template <class T>
Case batch_step_case(const Rung& rung, const Problem& problem, std::int32_t systems, const FactorOptions& factor = {});

}  // namespace lulab::bench
