#pragma once
// Fill-reducing orderings. Each returns q with q[k] = the column eliminated at step k; stored zeros count as entries.

#include <optional>

#include "core/matrix/permutation.h"
#include "core/status.h"
#include "preprocess/graph_reduction.h"

namespace lulab {

/// Approximate minimum degree on the pattern of A + Aᵀ.
///
/// Shapes    A: n x n, sorted rows -> (n).
/// Errors    invalid_argument (not square, unsorted), out_of_memory.
/// Cost      O(n nnz(A)) worst case, usually near linear; about 10 (nnz + n) int32 of workspace, int64 where
///           these would be too many for int32 to count.
/// Source    Amestoy, Davis & Duff 1996 (SuiteSparse AMD).
Result<Permutation> amd_order(CscPatternView a);

/// The same, but rows of A + Aᵀ with more than 2 √n entries, not 10 √n, are left for the end unordered: up to three
/// times faster on circuits with some long rows, for a few % more fill.
Result<Permutation> quick_amd_order(CscPatternView a);

/// What LU of a matrix with the pattern of A + Aᵀ takes in some order.
struct FillEstimate {
  double entries = 0;  // of L + U
  double multiply_adds = 0;
};

/// quick_amd_order() of groups of similar vertices (preprocess/similar_vertices.h) instead of vertices, where there are
/// groups: of af23560 in two thirds of the time, for 2 % more fill. They are looked for in graphs of 4,000 vertices or
/// more whose rows have at least 10 entries on average, as several unknowns of a point have.
///
/// estimate: AMD's own without dense rows; of groups as if all were of one size   Errors as amd_order().
Result<Permutation> grouped_amd_order(CscPatternView a, FillEstimate& estimate);

/// The columns by the entries of their rows and columns, those with the fewest first. On sparse graphs of some hundred
/// vertices it takes a fifth of AMD's time, and L+U often has a tenth to a third more entries; large graphs fill in.
///
/// Shapes, Errors    as amd_order().   Cost O(n log n + nnz(A)).
Result<Permutation> degree_order(CscPatternView a);

/// Column approximate minimum degree: keeps U sparse for any choice of pivot rows, without forming AᵀA.
///
/// Shapes    A: m x n, sorted rows -> (n).
/// Errors    invalid_argument (unsorted), out_of_memory.
/// Source    Davis, Gilbert, Larimore & Ng 2004 (SuiteSparse COLAMD).
Result<Permutation> colamd_order(CscPatternView a);

/// Nested dissection of the graph of A + Aᵀ by METIS; gives more parallel elimination trees than minimum degree.
/// Deterministic and postordered: the columns of a subtree of the elimination tree are consecutive.
///
/// Shapes    A: n x n, sorted rows -> (n).
/// Errors    invalid_argument (not square, unsorted, graph beyond the library's index type), out_of_memory.
/// Source    Karypis & Kumar 1998 (METIS NodeND).
Result<Permutation> metis_order(CscPatternView a);

/// Nested dissection by SCOTCH, of small graphs by METIS (preprocess/dissection.h), of what reduce_graph() leaves
/// (preprocess/graph_reduction.h), or of the groups of similar vertices in that (preprocess/similar_vertices.h): as
/// good as metis_order(), and several times as fast on circuits, power flows and meshes. Where the reduction does not
/// help, as of a grid, the whole graph is cut.
/// Ensures, Errors as metis_order().
Result<Permutation> nd_order(CscPatternView a);

/// nd_order() in two steps: the second takes longer.
class NestedDissection {
 public:
  /// Shapes, Errors as nd_order().
  static Result<NestedDissection> prepare(CscPatternView a);
  /// True of meshes, which no reduction helps.
  bool cuts_the_whole() const { return !reduced_; }
  /// Shapes, Ensures, Errors as nd_order().
  Result<Permutation> order() const;

 private:
  CscPattern graph_;  // of A + Aᵀ
  std::optional<GraphReduction> reduced_;
};

}  // namespace lulab
