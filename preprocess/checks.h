#pragma once
// What the functions of this room ask of their input, and how they say that it is structurally singular.

#include "core/matrix/csc.h"

namespace lulab::checks {

/// Errors    invalid_argument when A is not square or its rows are not sorted; `task` names who asks.
Status square(CscPatternView a, std::string_view task);

/// Errors    invalid_argument with the row and column of the first infinite or NaN value, or when values are missing.
Status finite(const CscView<double>& a);

/// structurally_singular for an n x n matrix whose largest matching leaves deficient.rows and deficient.columns out.
Status structurally_singular(std::int32_t n, Where deficient);

}  // namespace lulab::checks
