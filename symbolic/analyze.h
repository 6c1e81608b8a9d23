#pragma once
// A -> Analysis: preprocessing, fill and levels in one call.

#include "preprocess/preprocess.h"

namespace lulab {

/// Shapes    A: n x n, sorted rows.
/// Ensures   Order::automatic tries several orders and keeps the one that panel_costs() predicts to be the fastest on a GPU:
///           AMD and METIS nested dissection (a graph that METIS cannot take: AMD alone); the better of these two inside
///           the strongly connected blocks, where the biggest has at most 99 % of the columns; and for matrices whose
///           factors take less than a million multiply-adds also the other one of the two, and COLAMD. With
///           PreprocessOptions::blocks AMD and METIS inside the blocks. Plan::order says which.
/// Errors    as preprocess() and fill_gilbert_peierls().
Result<Analysis> analyze(const CscView<double>& a, const PreprocessOptions& options = {});

/// The same for a plan that is already known (for example the pivots of an earlier factorization).
/// Errors    invalid_argument when A is not square or unsorted or the plan does not fit it, out_of_memory.
Result<Analysis> analyze_with_plan(CscPatternView a, Plan plan);

/// Position in `filled` of each entry of A under the plan: (nnz(A)).
///
/// Requires  a plan and a pattern of A's size.
/// Errors    invalid_argument naming an entry of A that `filled` lacks.
/// Cost      O(nnz(A) log(longest column)).
Result<std::vector<std::int64_t>> map_into_filled(CscPatternView a, const Plan& plan, const FilledPattern& filled);

}  // namespace lulab
