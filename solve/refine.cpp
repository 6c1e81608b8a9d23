#include "solve/refine.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "core/factors.h"
#include "solve/triangular.h"

namespace lulab {

void residual(const CscView<double>& a, std::span<const double> x, std::span<const double> b, std::span<double> r) {
  std::vector<double> sum(b.begin(), b.end());
  std::vector<double> lost(a.n_rows, 0.0);
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t i = a.row_idx[k];
      const double product = -a.values[k] * x[j];
      const double product_error = std::fma(-a.values[k], x[j], -product);  // two_product
      const double s = sum[i] + product;
      const double z = s - sum[i];
      lost[i] += (sum[i] - (s - z)) + (product - z) + product_error;  // two_sum
      sum[i] = s;
    }
  }
  for (std::int32_t i = 0; i < a.n_rows; ++i) r[i] = std::isfinite(lost[i]) ? sum[i] + lost[i] : sum[i];
}

namespace {

/// The errors of x. r: what refinement corrects of b - A x.
BackwardErrors errors_and_residual(const CscView<double>& a, std::span<const double> x, std::span<const double> b,
                                   std::span<double> r) {
  const std::int32_t n = a.n_rows;
  std::vector<double> ax(n, 0.0), row_max(n, 0.0);
  residual(a, x, b, r);
  double x_max = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    x_max = larger_or_nan(x_max, std::abs(x[j]));
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      ax[a.row_idx[k]] += std::abs(a.values[k]) * std::abs(x[j]);
      double& largest = row_max[a.row_idx[k]];
      largest = larger_or_nan(largest, std::abs(a.values[k]));
    }
  }
  BackwardErrors e;
  for (std::int32_t i = 0; i < n; ++i) {
    const RowError row = row_error(std::abs(r[i]), ax[i], std::abs(b[i]), row_max[i] * x_max, n);
    e.componentwise = larger_or_nan(e.componentwise, row.componentwise);
    double& omega = row.nearly_zero ? e.omega2 : e.omega1;
    omega = larger_or_nan(omega, row.omega);
    r[i] = row.to_correct(r[i]);
  }
  return e;
}

}  // namespace

BackwardErrors backward_errors(const CscView<double>& a, std::span<const double> x, std::span<const double> b) {
  std::vector<double> r(a.n_rows);
  return errors_and_residual(a, x, b, r);
}

double componentwise_backward_error(const CscView<double>& a, std::span<const double> x, std::span<const double> b) {
  return backward_errors(a, x, b).componentwise;
}

bool overlap(std::span<const double> a, std::span<const double> b) {
  const std::less<const double*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

namespace {

/// solve(r): r <- correction.
template <class T, class Solve>
Result<Refinement> refine_with(const CscView<double>& a, const Factors<T>& f, std::span<const double> b,
                               std::span<double> x, int max_iterations, Solve&& solve) {
  const auto n = static_cast<std::size_t>(f.filled.n);
  if (a.n_rows != f.filled.n || a.n_cols != f.filled.n || b.size() != n || x.size() != n)
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("refine: the factors are {0} x {0}, but A is {1} x {2}, b has {3} and x has {4} entries", n,
                    a.n_rows, a.n_cols, b.size(), x.size()));
  if (overlap(b, x)) return Status::error(StatusCode::invalid_argument, "refine: b and x overlap");
  std::vector<double> r(n), better(n);
  BackwardErrors now = errors_and_residual(a, x, b, r);
  RefinementRule rule(now.sum(), max_iterations);
  while (rule.wants_step()) {
    LULAB_RETURN_IF_ERROR(solve(r));
    for (std::size_t i = 0; i < n; ++i) better[i] = x[i] + r[i];
    const BackwardErrors next = errors_and_residual(a, better, b, r);
    if (!rule.accepts(next.sum())) break;
    std::copy(better.begin(), better.end(), x.begin());
    now = next;
  }
  return rule.result(now.componentwise);
}

}  // namespace

template <class T>
Result<Refinement> refine(const CscView<double>& a, const Factors<T>& f, std::span<const double> b, std::span<double> x,
                          int max_iterations) {
  return refine_with<T>(a, f, b, x, max_iterations, [&](std::span<double> r) { return solve_mixed<T>(f, r, r); });
}

template <class T>
Result<Refinement> refine_transposed(const CscView<double>& a_transposed, const Factors<T>& f,
                                     std::span<const double> b, std::span<double> x, int max_iterations) {
  return refine_with<T>(a_transposed, f, b, x, max_iterations,
                        [&](std::span<double> r) { return solve_transposed_mixed<T>(f, r, r); });
}

#define LULAB_INSTANTIATE(T)                                                                                           \
  template Result<Refinement> refine<T>(const CscView<double>&, const Factors<T>&, std::span<const double>,            \
                                        std::span<double>, int);                                                       \
  template Result<Refinement> refine_transposed<T>(const CscView<double>&, const Factors<T>&, std::span<const double>, \
                                                   std::span<double>, int);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
