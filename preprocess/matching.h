#pragma once
// Maximum-product bipartite matching with dual scalings.

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"

namespace lulab {

struct Matching {
  Permutation row_of_column;  // (n) row matched to column j
  std::vector<double> r, c;   // (n) scalings; what they ensure is said below
};

/// The row permutation that maximizes the product of the magnitudes on the diagonal, and the scalings of the dual
/// problem.
///
/// Shapes    A: n x n.   Explicit zeros are not edges.
/// Ensures   2^-1000 <= r[i], c[j] <= 2^1000. r[i]·A(i,j)·c[j], from left to right, never overflows and is at most 1 in
///           magnitude (plus 2 eps). On the matching it is 1 up to the rounding of the logarithms, a few
///           eps · (|log r| + |log A| + |log c|). It is smaller only if a scaling does not fit into 2^±1000: the
///           connected component is then centred in that range, and scalings outside are cut off.
/// Errors    structurally_singular with the unmatched rows and columns, n - structural rank of each; invalid_argument
///           for non-square, unsorted or non-finite.
/// Cost      O(n (nnz + n log n)) worst case, near linear on circuit matrices; 8 bytes per entry and about 100 per
///           column.
/// Source    Duff & Koster 2001, shortest augmenting paths on c(i,j) = log max|A(:,j)| - log |A(i,j)|.
Result<Matching> maximum_product_matching(const CscView<double>& a);

/// The same for magnitudes rounded to the nearest powers of two: the row permutation with the largest product of those,
/// without logarithms, 1.3 to 10 times as fast. Among those that are equally good it takes `preferred`, else it
/// prefers the diagonal.
///
/// Shapes    A: n x n, preferred: (n) or empty.   Requires `preferred` is a permutation.
/// Ensures   r and c are powers of two, 2^-1000 <= r[i], c[j] <= 2^1000. |r[i]·A(i,j)·c[j]| <= √2, and >= √½ on the
///           matching. Where such scalings do not fit into 2^±1000 it is maximum_product_matching() with its scalings
///           rounded.
/// Errors, Source    as there.
Result<Matching> power_of_two_matching(const CscView<double>& a, std::span<const std::int32_t> preferred = {});

/// The power of two nearest to x on a logarithmic scale: x / result is in [√½, √2].   Requires x positive, normal.
double nearest_power_of_two(double x);

/// A maximum-cardinality matching of the pattern: row_of_column[j] = -1 where column j is unmatched.
///
/// Shapes    A: m x n -> (n).   Requires sorted rows.
/// Cost      O(n nnz) worst case, usually near linear.
/// Source    Duff 1981 (SuiteSparse BTF).
std::vector<std::int32_t> maximum_matching(CscPatternView a);

}  // namespace lulab
