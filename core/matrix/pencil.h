#pragma once
// A - s E for many s: one pattern, new values for every s, as in a frequency sweep or implicit time integration.

#include "core/matrix/csc.h"

namespace lulab {

/// A and E on the union of their patterns; missing entries are stored as explicit zeros.
struct Pencil {
  CscPattern pattern;        // sorted
  std::vector<double> a, e;  // (nnz) values of A and of E in the order of `pattern`

  /// A - s E on `pattern`, also where values cancel.   Cost O(nnz).
  CscMatrix<double> at(double s) const;
};

/// Shapes    A, E: n x n.
/// Requires  check_sorted(A) and check_sorted(E).
/// Errors    invalid_argument: the sizes differ.
/// Cost      O(n + nnz(A) + nnz(E)).
Result<Pencil> make_pencil(const CscView<double>& a, const CscView<double>& e);

}  // namespace lulab
