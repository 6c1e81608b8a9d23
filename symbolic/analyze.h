#pragma once
// A -> Analysis: preprocessing, fill and levels in one call.

#include "preprocess/preprocess.h"

namespace lulab {

/// Order::automatic tries AMD and METIS nested dissection and keeps the one with fewer flops.
/// Errors    as preprocess() and fill_gilbert_peierls().
Result<Analysis> analyze(const CscView<double>& a, const PreprocessOptions& options = {});

/// The same for a plan that is already known (for example the pivots of an earlier factorization).
/// Errors    invalid_argument when the plan does not fit A.
Result<Analysis> analyze_with_plan(CscPatternView a, Plan plan);

/// Position in `filled` of each entry of A under the plan: (nnz(A)).
/// Errors    invalid_argument naming an entry of A that `filled` lacks.
Result<std::vector<std::int64_t>> map_into_filled(CscPatternView a, const Plan& plan, const FilledPattern& filled);

}  // namespace lulab
