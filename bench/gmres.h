#pragma once
// The iterative alternative to a direct solver: GMRES preconditioned by an incomplete LU, both by Eigen.

#include <span>
#include <string>

#include "core/matrix/csc.h"
#include "core/status.h"

namespace lulab::bench {

struct GmresOptions {
  double drop_tolerance = 1e-4;  // ILUT drops entries smaller than this times their row's mean
  int fill_factor = 10;          // and keeps at most this many times the entries that a row of A has
  int restart = 50;
  int max_iterations = 1000;
  double tolerance = 1e-10;  // of the preconditioned residual, relative to the first one
};
/// "GMRES(50) to 1e-10, ILUT(1e-04, 10)"
std::string to_string(const GmresOptions& options);

struct GmresRun {
  double preconditioner_ms = 0;  // the incomplete factorization with its ordering
  double solve_ms = 0;
  int iterations = 0;
  double residual = 0;  // as the tolerance counts it; NaN when it is not finite
  bool converged = false;
};

/// A x = b from x = 0. x holds the last iterate, converged or not.
///
/// Shapes    A: n x n, b, x: (n), not overlapping.
/// Errors    invalid_argument (shapes), out_of_memory (n or nnz beyond 32 bits).
/// Cost      a product with A, a solve with the preconditioner and O(n · restart) an iteration.
/// Source    Saad & Schultz 1986 (GMRES); Saad 1994 (ILUT); Chen et al. 2015, appendix B.2, compares with the same
///           method under another preconditioner.
Result<GmresRun> gmres(const CscView<double>& a, std::span<const double> b, std::span<double> x,
                       const GmresOptions& options = {});

}  // namespace lulab::bench
