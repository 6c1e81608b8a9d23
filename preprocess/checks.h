#pragma once
// Checks of the input of this room, and its error for structurally singular matrices.

#include "core/matrix/csc.h"

namespace lulab::checks {

/// Errors    invalid_argument when A is not square or its rows are not sorted; `task` names the caller in the message.
Status square(CscPatternView a, std::string_view task);

/// Errors    invalid_argument with the row and column of the first infinite or NaN value, or when values are missing.
Status finite(const CscView<double>& a);

/// The error structurally_singular for an n x n matrix whose maximum matching leaves deficient.rows and
/// deficient.columns unmatched.
Status structurally_singular(std::int32_t n, Where deficient);

}  // namespace lulab::checks
