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

/// Shapes    A: n x n.
/// Errors    structurally_singular with the deficient rows and columns.
/// Source    Pothen & Fan 1990; Duff & Reid 1978 (SuiteSparse BTF).
Result<BlockTriangularForm> block_triangular_form(CscPatternView a);

}  // namespace lulab
