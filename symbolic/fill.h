#pragma once
// Symbolic factorization: the pattern of L + U if all pivots are on the diagonal.

#include <cstdint>
#include <span>

#include "core/plan.h"

namespace lulab {

/// Errors    invalid_argument: not square, or rows not sorted.
Status check_fillable(CscPatternView b);
/// out_of_memory of the host.
Status no_memory_for_fill();

/// The definition, column by column: column j of L + U holds the rows that B(:,j) reaches through columns of L left of
/// j.
///
/// Shapes    B = P·R·A·C·Q: n x n, sorted rows. A missing diagonal entry is added (it is a pivot).
/// Errors    invalid_argument (not square, unsorted), out_of_memory.
/// Cost      O(flops + nnz(L+U) log n) time, without pruning; n int32 and n bits besides the result.
/// Source    Gilbert & Peierls 1988, section 2; Rose & Tarjan 1978, theorem 1 (fill path).
Result<FilledPattern> fill_reference(CscPatternView b);

/// The same pattern with symmetric pruning: the search skips rows that a symmetric pair L(s,k), U(k,s) makes redundant.
///
/// Shapes, Errors as fill_reference().
/// Cost      near O(nnz(L+U)) if the pattern is nearly symmetric, at most O(flops). Sorting the rows needs a second
///           copy of the result.
/// Source    Gilbert & Peierls 1988; Eisenstat & Liu 1992.
Result<FilledPattern> fill_gilbert_peierls(CscPatternView b);
/// The same for B = A(p,q), which is not formed.
///
/// Requires  A: n x n, sorted rows; p and q permutations of n.
/// Errors    out_of_memory.
Result<FilledPattern> fill_permuted(CscPatternView a, std::span<const std::int32_t> p, std::span<const std::int32_t> q);

/// The same pattern by a breadth-first search in the filled graph, a source after the other.
///
/// Shapes, Errors as fill_reference().
/// Cost      O(flops). Sorting the rows needs a second copy of the result.
/// Source    Rose & Tarjan 1978 (FILL1); Gaihre et al. 2021, Fig. 3(a).
Result<FilledPattern> fill1(CscPatternView b);

/// The same pattern by searches in the graph of B, each source on its own: a search for every row that it reaches, the
/// smallest first.
///
/// Shapes, Errors as fill_reference().   threads: at most so many; 0: as many as there are cores.
/// Cost      O(n² + n nnz(B)) at most. 2n int32 a thread, and a second copy of the result.
/// Source    Rose & Tarjan 1978 (FILL2); Gaihre et al. 2021, Fig. 3(b).
Result<FilledPattern> fill2(CscPatternView b, int threads = 0);

/// An independent check: (i,j) is filled iff a path i -> j exists whose inner vertices are all < min(i,j); brute force.
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
