#pragma once
// The pattern of L + U when the diagonal supplies every pivot: symbolic factorization.

#include "core/plan.h"

namespace lulab {

/// Column by column: U(:,j) and L(:,j) are what A(:,j) reaches through the columns of L already known. The definition.
///
/// Shapes    B = P·R·A·C·Q: n x n, sorted rows. A missing diagonal entry is added (it is a pivot).
/// Errors    invalid_argument (not square, unsorted), out_of_memory.
/// Cost      O(flops + nnz(L+U) log n) time, without pruning; n int32 and n bits beside the result.
/// Source    Gilbert & Peierls 1988, section 2; Rose & Tarjan 1978, theorem 1 (fill path).
Result<FilledPattern> fill_reference(CscPatternView b);

/// The same pattern with symmetric pruning: the search skips what an earlier symmetric pair already reaches.
///
/// Shapes, Errors as fill_reference().
/// Cost      near O(nnz(L+U)) when the pattern is nearly symmetric, at most O(flops); while the rows are being sorted
///           two copies of the result live.
/// Source    Gilbert & Peierls 1988; Eisenstat & Liu 1992.
Result<FilledPattern> fill_gilbert_peierls(CscPatternView b);

/// The oracle: (i,j) is filled iff a path i -> j exists whose inner vertices are all < min(i,j); all-pairs brute force.
///
/// Shapes    B: n x n, n <= 64, sorted rows.
/// Errors    invalid_argument (n > 64, not square, unsorted).
/// Cost      O(n³) operations on sets of 64 vertices.
/// Source    Rose & Tarjan 1978, theorem 1.
Result<FilledPattern> fill_reachability(CscPatternView b);

/// Floating-point operations of one factorization on As: sum over k of l_k + 2 l_k u_k, l_k = off-diagonal entries of
/// L(:,k), u_k = off-diagonal entries of U(k,:).   Cost O(nnz(L+U)).
double factor_flops(const FilledPattern& filled);

}  // namespace lulab
