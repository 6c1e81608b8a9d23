#pragma once
// Entries of each column of L + U where B is symmetric: found from the elimination tree, before the pattern is.

#include <cstdint>

#include "core/simt/workspace.h"
#include "symbolic/tree_on_device.h"

namespace lulab {

/// counts[j] = entries of column j of L + U, its diagonal included; counts[n] = 0.
///
/// Row j of L is made of paths in the tree: entry v of B(:,j) above the diagonal starts one, up to the first ancestor
/// that is not in front of the column's next entry. A node gets 1 where a path starts and -1 behind its end: then the
/// sum over a node's subtree is how many paths cross it, which are the rows of its column of L.
///
/// Shapes    d_counts: (n + 1) in device memory.
/// Requires  tree: of b, postordered; b with a symmetric pattern, n >= 1.
/// Errors    out_of_memory, device_error.
/// Cost      O((nnz(B) + n log n) · chains above each other) work.
/// Source    Gilbert, Ng & Peyton 1994, "An efficient algorithm to compute row and column counts for sparse Cholesky
///           factorization"; that a thread finds the end of its path, and the first node below, by itself is ours.
Status count_symmetric_fill(const TreeView& tree, const DevicePattern& b, std::int64_t* d_counts, simt::Workspace& work,
                            simt::Stream& stream);

}  // namespace lulab
