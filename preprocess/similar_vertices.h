#pragma once
// Groups vertices of a graph that have nearly the same neighbours, so that nested dissection has fewer to cut.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/matrix/csc.h"
#include "core/matrix/permutation.h"

namespace lulab {

/// Disjoint groups of all vertices, and the graph of the groups: two are neighbours if vertices of theirs are.
struct VertexGroups {
  std::vector<std::int32_t> group_ptr = {0};  // (groups + 1) into vertices
  std::vector<std::int32_t> vertices;         // (n) group by group, ascending in each
  CscPattern graph;                           // rows in any order

  std::vector<std::int32_t> sizes() const;  // (groups)
  /// Shapes    order_of_groups: a permutation of the groups -> (n).
  Permutation expand(const Permutation& order_of_groups) const;
};

/// The unknowns of a point of a mesh, say. The first vertex that has no group yet takes those of the rest whose
/// neighbours are its own but for a few: the number they have in common is at least 4/5 of the geometric mean of
/// their numbers, and not 0; of two neighbours 7/8, where each counts among its own. A neighbour in common that has
/// more than 64 itself does not count.
///
/// Requires  a symmetric graph without loops, rows in any order.
/// Ensures   nothing, where this does not halve the vertices, or where many are like the first of two groups, as in
///           graphs of wide stencils: groups would be cut out of them at random. Where the first n / 16 groups already
///           look like that it gives up.
/// Cost      O(n + edges), at most 64 steps an edge.
/// Source    Saad 2003 (blocks by the cosine of rows); Ashcraft 1995 (compressed graphs).
std::optional<VertexGroups> group_similar_vertices(const CscPattern& graph);

}  // namespace lulab
