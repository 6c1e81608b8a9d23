#pragma once
// A - s E for many s: one pattern, other values at every s, as in a frequency sweep or an implicit integration step.

#include "core/matrix/csc.h"

namespace lulab {

/// A and E on the union of their patterns; what only the other one has is stored as an explicit zero.
struct Pencil {
  CscPattern pattern;        // sorted
  std::vector<double> a, e;  // (nnz) values of A and of E in the order of `pattern`

  /// A - s E, on `pattern` whatever cancels.   Cost O(nnz).
  CscMatrix<double> at(double s) const;
};

/// Shapes    A, E: n x n.
/// Requires  check_sorted(A) and check_sorted(E).
/// Errors    invalid_argument: other sizes.
/// Cost      O(n + nnz(A) + nnz(E)).
Result<Pencil> make_pencil(const CscView<double>& a, const CscView<double>& e);

}  // namespace lulab
