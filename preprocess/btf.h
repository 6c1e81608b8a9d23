#pragma once
// Block upper triangular form.

#include "core/matrix/permutation.h"
#include "core/status.h"

namespace lulab {

/// A(p,q) is block upper triangular; block b spans rows and columns [block_ptr[b], block_ptr[b+1]).
struct BlockTriangularForm {
  Permutation p, q;
  std::vector<std::int32_t> block_ptr = {0};

  std::int32_t n_blocks() const { return static_cast<std::int32_t>(block_ptr.size()) - 1; }
};

/// A maximum matching puts entries on the diagonal; the strongly connected components of what results are the blocks.
///
/// Shapes    A: n x n, sorted rows. Stored zeros count as entries.
/// Ensures   no entry of A(p,q) lies below the diagonal blocks; none is missing on the diagonal; no block can be split.
/// Errors    invalid_argument (not square, unsorted); structurally_singular with the deficient rows and columns.
/// Cost      O(n nnz) worst case for the matching, as a rule near O(n + nnz).
/// Source    Pothen & Fan 1990; Duff & Reid 1978 (SuiteSparse BTF).
Result<BlockTriangularForm> block_triangular_form(CscPatternView a);

}  // namespace lulab
