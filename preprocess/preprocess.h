#pragma once
// Computes a Plan from A: matching and scaling make the diagonal large, an ordering keeps L and U sparse.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.h"

namespace lulab {

enum class Order { automatic, natural, amd, colamd, metis, nd, given };

/// "auto", "natural", "amd", "colamd", "metis", "nd" (preprocess/ordering.h), "given" (PreprocessOptions::given).
std::string_view to_string(Order order);
/// Errors    invalid_argument listing the names but "given", which takes columns, too.
Result<Order> parse_order(std::string_view name);

struct PreprocessOptions {
  Order order = Order::automatic;
  bool matching = true;      // maximum-product row matching; false: p follows q (symmetric permutation)
  bool scaling = true;       // r, c of the matching; false, or no matching: ones
  bool blocks = false;       // order inside each strongly connected block, one block after the other
  bool power_of_two = true;  // match by magnitudes rounded to powers of two; r, c are such: scaling does not round
  Permutation given = {};    // (n) for Order::given: its k-th is the column of A to be eliminated as the k-th
};

/// `options` with this order of the columns. The rows follow the matching, or without one the columns.
PreprocessOptions with_column_order(PreprocessOptions options, Permutation columns);

/// `options` with the order of this name: the name of an Order, or "btf+" and the name of an Order to set `blocks`.
/// Accepts every Plan::order.
/// Errors    invalid_argument listing the valid names.
Result<PreprocessOptions> with_order(PreprocessOptions options, std::string_view name);

/// What comes before any order of the columns: rows matched to columns, and the scalings.
struct MatchedRows {
  Permutation row_of_column;  // (n)
  std::vector<double> r, c;   // (n)
  CscPattern moved;           // graph(), where that is not A itself

  /// Makes `moved`, where the rows come from elsewhere than match_rows().
  void move(CscPatternView a);
  /// Vertex j is column j of A and the row matched to it: A with its rows in that order. `a` is the matrix of
  /// match_rows().
  CscPatternView graph(CscPatternView a) const { return moved.n_cols > 0 ? moved.view() : a; }
  /// The plan that eliminates the vertices in this order.
  Plan plan(Permutation vertices, std::string order) &&;
};

/// The first half of preprocess().   Ensures, Errors as there. With power_of_two it takes the rows `preferred`, a
/// permutation, where they are as good as any.
Result<MatchedRows> match_rows(const CscView<double>& a, const PreprocessOptions& options = {},
                               std::span<const std::int32_t> preferred = {});

/// As Plan::order says it: "btf+amd". Order::automatic is amd.
std::string order_name(const PreprocessOptions& options);

/// p, q, r, c such that P·R·A·C·Q has a large diagonal and sparse factors.
///
/// Shapes    A: n x n, sorted rows.
/// Ensures   p and q permutations; with matching the diagonal of P·R·A·C·Q is structurally full, and with unrounded
///           scalings |diagonal| = 1 and every other |entry| <= 1 (limits: see maximum_product_matching). With powers
///           of two |diagonal| in [½, 2] and every other |entry| <= 2 (see power_of_two_matching).
///           Order::automatic here means amd (driver/analyze.h chooses). Order::colamd orders the columns of A, for
///           rungs that pivot; the rows follow the matching. With `blocks` P·R·A·C·Q is block lower triangular with
///           the strong components as blocks (preprocess/btf.h), and Plan::order is "btf+amd".
/// Errors    invalid_argument (not square, unsorted, values not finite; a given order that is none of n columns, or is
///           to be split into blocks), structurally_singular with where.rows /
///           where.columns = the deficient rows and columns of A (found by the matching only), out_of_memory.
Result<Plan> preprocess(const CscView<double>& a, const PreprocessOptions& options = {});

/// The second half: an order of the vertices of a graph; options.order as in preprocess(). Natural: their own order.
///
/// Shapes    graph: n x n, sorted rows -> (n).
/// Errors    those of the ordering.
Result<Permutation> order_vertices(CscPatternView graph, const PreprocessOptions& options);

}  // namespace lulab
