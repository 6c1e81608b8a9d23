#pragma once
// Maximum-product bipartite matching with dual scalings.

#include "core/plan.h"

namespace lulab {

struct Matching {
  Permutation row_of_column;  // (n) row matched to column j
  std::vector<double> r, c;   // (n) scalings: |r[i]·A(i,j)·c[j]| <= 1, = 1 on the matching
};

/// The row permutation that maximizes the product of the diagonal's magnitudes, and the scalings of its dual solution.
///
/// Shapes    A: n x n.   Explicit zeros are not edges.
/// Errors    structurally_singular with the unmatched rows and columns; invalid_argument for non-square or non-finite.
/// Cost      O(n (nnz + n log n)) worst case, near linear on circuit matrices.
/// Source    Duff & Koster 2001, shortest augmenting paths on c(i,j) = log max|A(:,j)| - log |A(i,j)|.
Result<Matching> maximum_product_matching(const CscView<double>& a);

/// A maximum-cardinality matching of the pattern: row_of_column[j] = -1 where column j is unmatched.
std::vector<std::int32_t> maximum_matching(CscPatternView a);

}  // namespace lulab
