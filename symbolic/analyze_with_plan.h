#pragma once
// Computes an Analysis from a Plan: fill, and the position of each entry of A in the filled pattern.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan.h"
#include "core/status.h"

namespace lulab {

/// Fill of P·R·A·C·Q for a given plan (from preprocess(), or with the pivots of an earlier factorization).
/// Errors    invalid_argument if A is not square, is unsorted, or the plan does not fit it, out_of_memory.
Result<Analysis> analyze_with_plan(CscPatternView a, Plan plan);

using WorkOnFill = std::function<void(const FilledPattern&)>;

/// The same for a given fill.   beside: what else is to be done with it at the same time, where there are threads
/// Requires  filled = fill_under(a, plan).
Result<Analysis> analyze_with_fill(CscPatternView a, Plan plan, FilledPattern filled,
                                   std::span<const WorkOnFill> beside = {});

/// pattern(L+U) of P·R·A·C·Q with the diagonal as pivots.   Requires, Errors as fill_permuted().
Result<FilledPattern> fill_under(CscPatternView a, const Plan& plan);

/// Position in `filled` of each entry of A under the plan: (nnz(A)).
///
/// Requires  a plan and a pattern of A's size.
/// Errors    invalid_argument naming an entry of A that `filled` lacks.
/// Cost      O(nnz(L+U)).
Result<std::vector<std::int64_t>> map_into_filled(CscPatternView a, const Plan& plan, const FilledPattern& filled);

}  // namespace lulab
