#include "solve/refine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "solve/triangular.h"

namespace lulab {

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon() / 2;  // unit roundoff
constexpr double infinity = std::numeric_limits<double>::infinity();

double max_or_nan(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

/// size / (p + q) with 0/0 = 0; NaN where p or q is infinite.   p, q: >= 0 or NaN
double error_of(double size, double p, double q) {
  if (p + q < infinity) return size == 0 && p + q == 0 ? 0 : size / (p + q);
  const double half = 0.5 * p + 0.5 * q;  // of a sum that overflows
  return half < infinity ? 0.5 * size / half : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

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

BackwardErrors backward_errors(const CscView<double>& a, std::span<const double> x, std::span<const double> b) {
  const std::int32_t n = a.n_rows;
  std::vector<double> r(n), ax(n, 0.0), row_max(n, 0.0);
  residual(a, x, b, r);
  double x_max = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    x_max = max_or_nan(x_max, std::abs(x[j]));
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      ax[a.row_idx[k]] += std::abs(a.values[k]) * std::abs(x[j]);
      row_max[a.row_idx[k]] = max_or_nan(row_max[a.row_idx[k]], std::abs(a.values[k]));
    }
  }
  BackwardErrors e;
  for (std::int32_t i = 0; i < n; ++i) {
    const double bi = std::abs(b[i]), ri = std::abs(r[i]);
    const double componentwise = error_of(ri, ax[i], bi);
    e.componentwise = max_or_nan(e.componentwise, componentwise);
    const double tau = 1000.0 * n * eps * (row_max[i] * x_max + bi);
    if (ax[i] + bi > tau || tau == infinity)  // where sizes overflow nothing tells that the row is small beside them
      e.omega1 = max_or_nan(e.omega1, componentwise);
    else
      e.omega2 = max_or_nan(e.omega2, error_of(ri, ax[i], row_max[i] * x_max));
  }
  return e;
}

double componentwise_backward_error(const CscView<double>& a, std::span<const double> x, std::span<const double> b) {
  return backward_errors(a, x, b).componentwise;
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
  std::vector<double> r(n), better(n);
  BackwardErrors now = backward_errors(a, x, b);
  Refinement result;
  while (result.iterations < max_iterations && !(now.sum() <= eps)) {
    residual(a, x, b, r);
    LULAB_RETURN_IF_ERROR(solve(r));
    for (std::size_t i = 0; i < n; ++i) better[i] = x[i] + r[i];
    const BackwardErrors next = backward_errors(a, better, b);
    if (!(next.sum() < now.sum())) break;
    const bool stalled = next.sum() > 0.9 * now.sum();
    std::copy(better.begin(), better.end(), x.begin());
    now = next;
    ++result.iterations;
    if (stalled) break;
  }
  result.backward_error = now.componentwise;
  result.omega = now.sum();
  result.converged = now.sum() <= 2 * eps;
  return result;
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
