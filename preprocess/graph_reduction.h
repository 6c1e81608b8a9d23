#pragma once
// Eliminates the vertices of low degree of a graph, so that nested dissection has only the rest to cut.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/matrix/csc.h"
#include "core/matrix/permutation.h"

namespace lulab {

/// Column v holds the neighbours of vertex v in the graph of A + Aᵀ, ascending, without v.   Requires A as amd_order().
CscPattern symmetrized_graph(CscPatternView a);

/// What is eliminated first, and the graph that this leaves: its fill included.
struct GraphReduction {
  std::vector<std::int32_t> representative;  // (n) of vertices with the same neighbours and each other: one of them
  std::vector<std::int32_t> eliminated;      // representatives, in this order
  CscPattern rest;                           // rows in any order
  std::vector<std::int32_t> vertex_of_rest;  // the representative that each vertex of `rest` is

  /// All vertices of the graph: those eliminated, then the rest in the order given, each with the vertices like it.
  /// Shapes    order_of_rest: a permutation of the vertices of `rest` -> (n).
  Permutation expand(const Permutation& order_of_rest) const;
};

/// Multiple minimum degree, ended early. Vertices that cannot be told apart are one. Rounds eliminate vertices of
/// degree <= 2, then <= 3, up to <= 12 (columns, not representatives), in each round an independent set: paths and
/// trees shrink in logarithmically many rounds, so the elimination tree stays as low as nested dissection makes it.
/// A degree ends with a round that finds few vertices: one after the other would make a long chain.
///
/// Requires  a graph as symmetrized_graph() makes it.
/// Ensures   nothing, where any degree leaves more edges than there were, or degree 3 more than 95 % of them, as of a
///           mesh.
/// Cost      near linear; at most 66 new edges a vertex.
/// Source    Liu 1985 (multiple elimination); Ashcraft 1995 (compressed graphs); Ost, Schulz & Strash 2021 (data
///           reduction before nested dissection).
std::optional<GraphReduction> reduce_graph(const CscPattern& graph);

}  // namespace lulab
