#pragma once
// The pattern of L and U compared entry by entry with the one that KLU finds.

#include <string>

#include "core/plan.h"
#include "core/status.h"

namespace lulab {

struct PatternComparison {
  bool equal = false;
  std::string first_difference;  // "column 7: U(3,7) is in KLU's factors only"; empty when equal
};

/// Do L and U on `filled` have exactly the entries that KLU stores for P·A·Q with the diagonal as pivots?
///
/// KLU factors a matrix of this pattern (the diagonal added where it is missing) with seeded random values, strictly
/// diagonally dominant by columns: the diagonal is always its pivot, and it stores an entry wherever its search finds
/// one, whatever the value.
///
/// Shapes    A: n x n; plan and filled of size n.
/// Requires  check_permutations and check_structure of verify/checks.h.
/// Errors    out_of_memory, not_implemented (what KLU could not do).
/// Cost      one KLU analysis and factorization.
/// Source    Davis & Palamadai Natarajan 2010 (klu_analyze_given, btf = 0, tol = 0, no scaling).
Result<PatternComparison> compare_with_klu(CscPatternView a, const Plan& plan, const FilledPattern& filled);

/// Does A fall into the same diagonal blocks as KLU finds, with the same L and U in each block under KLU's own order,
/// and are the entries outside the blocks those of A? Compares preprocess/btf.h and symbolic/fill.h with klu_analyze
/// (btf = 1).
///
/// Shapes    A: n x n, sorted.
/// Errors    structurally_singular as block_triangular_form(); out_of_memory, not_implemented.
/// Cost      one KLU analysis and factorization, one symbolic factorization of each block.
Result<PatternComparison> compare_blocks_with_klu(CscPatternView a);

}  // namespace lulab
