#pragma once
// How near to singular is a matrix whose blocks follow one another, as the stages of a circuit do?

#include "core/matrix/csc.h"
#include "core/status.h"

namespace lulab {

/// The smallest rcond of R·B·C over the diagonal blocks B of A's block triangular form, each scaled on its own; 0 where
/// a block is singular. What lies off the diagonal blocks can be scaled down to nothing: it makes rcond of A small
/// (three stages of rcond 1e-12 in a row: 1e-36), but it does not make the blocks singular.
///
/// Shapes    A: n x n, sorted rows, structurally nonsingular.
/// Errors    out_of_memory and others that are no statement about the values.
/// Cost      a factorization of each block in double, on one core of the host, and 20 solves.
Result<double> estimate_rcond_of_blocks(const CscView<double>& a);

}  // namespace lulab
