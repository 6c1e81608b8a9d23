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

/// From left to right: a column needs the columns i < j with an entry in U(i,j) or L(j,i). It joins the chunks of those
/// in their highest layer, and makes them one, as long as that has at most max_columns columns; otherwise it opens a
/// chunk one layer up. Patterns of a chunk's columns need not match, as those of a supernode must: what counts is how
/// many layers there are.
///
/// Requires  a valid FilledPattern; max_columns >= 1.
/// Ensures   layers are as few as the longest path over the chunks.
/// Cost      nearly O(n + nnz).
Chunks find_chunks(const FilledPattern& filled, std::int32_t max_columns);

/// find_chunks() of a filled pattern with (j,i) for each (i,j), from its elimination tree alone: what a column needs
/// lies in the subtrees of its children, which have the highest layers there.
///
/// parent: (n) the first row below each column's diagonal; -1: none.
/// Cost      O(n).
Chunks chunks_of_tree(std::span<const std::int32_t> parent, std::int32_t max_columns);

}  // namespace lulab
