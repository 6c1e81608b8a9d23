#pragma once
// How near to singular: an estimate of ||A⁻¹||_1 from a few solves.

#include <functional>
#include <span>

#include "core/plan.h"
#include "core/status.h"

namespace lulab {

/// In place v <- B v and v <- Bᵀ v of an n x n operator.
using InPlaceOperator = std::function<Status(std::span<double>)>;

/// A lower bound of ||B||_1, nearly always within a factor 3, from at most 5 products with B and 5 with Bᵀ.
///
/// Errors    those of the operators.
/// Source    Hager 1984; Higham 1988, algorithm 4.1 (LAPACK's xLACN2).
Result<double> estimate_norm1(std::int32_t n, const InPlaceOperator& apply, const InPlaceOperator& apply_transposed);

struct ConditionEstimate {
  double rcond = 0;         // 1 / (||A||_1 est ||A⁻¹||_1): of A as it is
  double rcond_scaled = 0;  // the same of R·A·C, which is what the factors see
};

/// Reciprocal condition numbers in the 1-norm; 0 when the factors cannot be solved with (zero pivot) or overflow.
///
/// Shapes    A: n x n, f its factors.   Requires f well formed (sizes, indices).
/// Cost      about 20 solves.
/// Source    Higham 1988.
template <class T>
ConditionEstimate estimate_condition(const CscView<double>& a, const Factors<T>& f);

/// Is A singular to working precision? Then x may have no right digit, however small its backward error. x is double
/// whatever the factors are, and rcond alone may be small through bad scaling, which costs no digits.
///
/// Errors    numerically_singular: rcond_scaled is below 2^-52. (Below LAPACK's 2^-53 one in some thousand singular
///           matrices of integers passes: roundoff of L and U makes it look regular.)
Status check_condition(const ConditionEstimate& estimate);

/// max_j sum_i |A(i,j)|; NaN when an entry is.   Cost O(nnz).
double norm1(const CscView<double>& a);

}  // namespace lulab
