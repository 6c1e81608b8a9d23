#pragma once
// Phases that only some rungs have: many matrices in one call, and a symbolic factorization on the device.

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

/// The phase symbolic of this rung is symbolic_case()'s.
constexpr bool has_symbolic_phase(const Rung& rung) { return rung.facts.id == "sparse_syncfree/01_sflu"; }

/// The search for the pattern of L + U by SFLU's kernel, with that of P·R·A·C·Q on the device before and that of L + U
/// left there. Preparing it searches once, which tells how much room L + U take. The pattern must be that of the
/// analysis.
///
/// Requires  rung and problem outlive the case.
Case symbolic_case(const Rung& rung, const Problem& problem);

}  // namespace lulab::bench
