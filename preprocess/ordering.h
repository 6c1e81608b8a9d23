#pragma once
// Fill-reducing orderings. Each returns q with q[k] = the column eliminated at step k.

#include "core/matrix/permutation.h"
#include "core/status.h"

namespace lulab {

/// Approximate minimum degree on the pattern of A + Aᵀ.   Shapes A: n x n.   Source: Amestoy, Davis & Duff 1996 (SuiteSparse AMD).
Result<Permutation> amd_order(CscPatternView a);
/// Column approximate minimum degree, for AᵀA without forming it.   Shapes A: m x n -> (n).   Source: Davis et al. 2004 (SuiteSparse COLAMD).
Result<Permutation> colamd_order(CscPatternView a);
/// Nested dissection of the graph of A + Aᵀ.   Shapes A: n x n.   Source: Karypis & Kumar 1998 (METIS NodeND).
Result<Permutation> metis_order(CscPatternView a);

}  // namespace lulab
