#pragma once
// Iterative refinement with the componentwise stopping rule.

#include <span>

#include "core/plan.h"

namespace lulab {

struct Refinement {
  int iterations = 0;
  double backward_error = 0;  // componentwise: max_i |r|_i / (|A||x| + |b|)_i after the last step
  bool converged = false;     // backward_error <= a few eps
};

/// Improves x until the componentwise backward error reaches eps, stops halving, or max_iterations.
/// The residual is formed in double also for float factors.
///
/// Shapes    A: n x n, b, x: (n). x holds a first solution.
/// Errors    as solve().
/// Source    Arioli, Demmel & Duff 1989; Skeel 1980.
template <class T>
Result<Refinement> refine(const CscView<double>& a, const Factors<T>& f, std::span<const double> b, std::span<double> x,
                          int max_iterations = 10);

/// max_i |b - A x|_i / (|A||x| + |b|)_i, with 0/0 = 0 and nonzero/0 = infinity.   Source: Oettli & Prager 1964.
double componentwise_backward_error(const CscView<double>& a, std::span<const double> x, std::span<const double> b);

}  // namespace lulab
