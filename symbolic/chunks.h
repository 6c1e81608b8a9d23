#pragma once
// Chunks: sets of columns that a triangular solve takes in one go, so that it needs few hops.

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// Every entry of L and of U lies within a chunk or joins chunks of two layers: the chunk of its smaller index is in
/// the earlier one. So a solve with L takes layer by layer, a solve with U the same layers backwards.
struct Chunks {
  std::vector<std::int32_t> of;     // (n) chunk of each column, numbered by their first columns
  std::vector<std::int32_t> layer;  // (size) of each chunk
  std::int32_t n_layers = 0;

  std::int32_t size() const { return static_cast<std::int32_t>(layer.size()); }
};

/// From left to right: what a column needs lies in the subtrees of its children. It joins the chunks of those in their
/// highest layer, and makes them one, as long as that has at most max_columns columns; otherwise it opens a chunk one
/// layer up. Patterns of a chunk's columns need not match, as those of a supernode must: what counts is how many layers
/// there are.
///
/// parent: (n) of the elimination tree of L + U and its transpose, filled; a root's is none of the columns.
/// Requires  parent[j] > j; max_columns >= 1.
/// Ensures   layers are as few as the longest path over the chunks of the tree.
/// Cost      O(n).
Chunks find_chunks(std::span<const std::int32_t> parent, std::int32_t max_columns);

/// The same by what each column needs, which of an unsymmetric pattern may be less than the tree says: the columns
/// i < j with an entry in U(i,j) or L(j,i) (ChunkTrees).
///
/// Requires  a valid FilledPattern; max_columns >= 1.
/// Cost      nearly O(n + nnz).
Chunks find_chunks_by_need(const FilledPattern& filled, std::int32_t max_columns);

/// Those of the tree, or by need where that may give fewer layers: where the tree's are narrow, and joined by entries
/// of L or of U alone, as the blocks of a block triangular order are (layers of circuit_1 in blocks 41 -> 5, of rajat19
/// 12 -> 4, of logic_rent_20000 142 -> 20).
///
/// parent: as above, of this pattern.   Cost O(n), or by need.
Chunks find_chunks(const FilledPattern& filled, std::span<const std::int32_t> parent, std::int32_t max_columns);

}  // namespace lulab
