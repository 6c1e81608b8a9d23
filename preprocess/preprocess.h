#pragma once
// From A to a Plan: matching and scaling make the diagonal large, an ordering keeps L and U sparse.

#include <string_view>

#include "core/plan.h"

namespace lulab {

enum class Order { automatic, natural, amd, colamd, metis };

std::string_view to_string(Order order);
/// Errors    invalid_argument listing the names there are.
Result<Order> parse_order(std::string_view name);

struct PreprocessOptions {
  Order order = Order::automatic;
  bool matching = true;        // maximum-product row matching; false: p follows q (symmetric permutation)
  bool scaling = true;         // r, c of the matching; false: ones
  bool power_of_two = true;    // round r, c to powers of two: scaling is then free of rounding
};

/// p, q, r, c such that P·R·A·C·Q has a large diagonal and sparse factors.
///
/// Shapes    A: n x n, sorted rows.
/// Ensures   p and q permutations; with matching the diagonal of P·R·A·C·Q is structurally full, and with unrounded
///           scalings |diagonal| = 1 and every other |entry| <= 1. Order::automatic here means amd (symbolic/analyze chooses).
/// Errors    invalid_argument (not square, unsorted), structurally_singular with where.rows / where.columns = the
///           deficient rows and columns of A, not finite values -> invalid_argument.
Result<Plan> preprocess(const CscView<double>& a, const PreprocessOptions& options = {});

}  // namespace lulab
