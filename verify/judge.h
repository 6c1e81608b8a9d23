#pragma once
// All checks on one set of factors.

#include <cstdint>

#include "core/matrix/csc.h"
#include "core/plan.h"
#include "verify/report.h"

namespace lulab {

/// Must L + U have a place for every entry of A, or may a program leave out zeros, as SuperLU does?
enum class Zeros { stored, left_out };

/// All checks that factors L, U, p, q, r, c of A can be put to: the same for a rung and for another program, which may
/// leave out zeros.
///
/// Shapes    A: n x n; f.plan and f.filled of size n.
/// Ensures   result.failures says what is wrong; a malformed f (sizes, indices) is a failure too, never undefined
///           behaviour.
template <class T>
Checks judge(const CscView<double>& a, const Factors<T>& f, std::uint64_t seed = 1, Zeros zeros = Zeros::stored);

}  // namespace lulab
