#pragma once
// Fill-reducing orderings. Each returns q with q[k] = the column eliminated at step k; stored zeros count as entries.

#include "core/matrix/permutation.h"
#include "core/status.h"

namespace lulab {

/// Approximate minimum degree on the pattern of A + Aᵀ.
///
/// Shapes    A: n x n, sorted rows -> (n).
/// Errors    invalid_argument (not square, unsorted), out_of_memory.
/// Cost      O(n nnz(A)) worst case, near linear as a rule; about 10 (nnz + n) int64 of workspace.
/// Source    Amestoy, Davis & Duff 1996 (SuiteSparse AMD).
Result<Permutation> amd_order(CscPatternView a);

/// Column approximate minimum degree: keeps U sparse whatever rows are chosen as pivots; AᵀA is not formed.
///
/// Shapes    A: m x n, sorted rows -> (n).
/// Errors    invalid_argument (unsorted), out_of_memory.
/// Source    Davis, Gilbert, Larimore & Ng 2004 (SuiteSparse COLAMD).
Result<Permutation> colamd_order(CscPatternView a);

/// Nested dissection of the graph of A + Aᵀ: more parallel elimination trees than minimum degree. Deterministic, and
/// postordered: columns of a subtree of the elimination tree follow each other.
///
/// Shapes    A: n x n, sorted rows -> (n).
/// Errors    invalid_argument (not square, unsorted, graph beyond METIS's index type), out_of_memory.
/// Source    Karypis & Kumar 1998 (METIS NodeND).
Result<Permutation> metis_order(CscPatternView a);

}  // namespace lulab
