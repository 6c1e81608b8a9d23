#pragma once
// Block upper triangular form.

#include <span>

#include "core/matrix/permutation.h"
#include "core/status.h"

namespace lulab {

/// A(p,q) is block upper triangular; block b spans rows and columns [block_ptr[b], block_ptr[b+1]).
struct BlockTriangularForm {
  Permutation p, q;
  std::vector<std::int32_t> block_ptr = {0};

  std::int32_t n_blocks() const { return static_cast<std::int32_t>(block_ptr.size()) - 1; }
  /// Number of columns of the largest block.
  std::int32_t biggest() const;
};

/// A maximum matching puts entries on the diagonal; the blocks are the strongly connected components of the result.
///
/// Shapes    A: n x n, sorted rows. Stored zeros count as entries.
/// Ensures   A(p,q) has no entry below the diagonal blocks and a full diagonal; no block can be split.
/// Errors    invalid_argument (not square, unsorted); structurally_singular with the deficient rows and columns.
/// Cost      O(n nnz) worst case for the matching, usually near O(n + nnz).
/// Source    Pothen & Fan 1990; Duff & Reid 1978 (SuiteSparse BTF).
Result<BlockTriangularForm> block_triangular_form(CscPatternView a);

/// The same without a matching, so that p == q: the blocks are the strongly connected components of the graph of A.
/// With a full diagonal this is the block triangular form.
///
/// Shapes    A: n x n, sorted rows. Stored zeros count as entries.
/// Errors    invalid_argument (not square, unsorted).
/// Cost      O(n + nnz).
/// Source    Tarjan 1972; Duff & Reid 1978 (SuiteSparse BTF).
Result<BlockTriangularForm> strong_components(CscPatternView a);

/// A permutation q that makes A(q,q) block lower triangular, one strong component after the other; `inside` orders each
/// diagonal block. Lower triangular, because U then has entries in diagonal blocks only, and a left-looking
/// factorization of one block never waits for another block.
///
/// Shapes    A: n x n, sorted rows -> (n).
/// Requires  `components` are those of A.
/// Errors    those of `inside`.
/// Cost      that of `inside`, and O(n + nnz).
Result<Permutation> block_order(CscPatternView a, const BlockTriangularForm& components,
                                Result<Permutation> (*inside)(CscPatternView));

/// Is `order` like a block_order(): one strong component after the other, A(order, order) block lower triangular?
///
/// Shapes    A: n x n, order: a permutation of n.
/// Requires  `components` are those of A.
/// Cost      O(n + nnz).
bool is_block_order(CscPatternView a, const BlockTriangularForm& components, std::span<const std::int32_t> order);

}  // namespace lulab
