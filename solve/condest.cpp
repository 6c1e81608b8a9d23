#include "solve/condest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "solve/triangular.h"

namespace lulab {

namespace {

double sum_abs(std::span<const double> v) {
  double s = 0;
  for (double x : v) s += std::abs(x);
  return s;
}

double rcond_of(double norm, const Result<double>& inverse_norm) {
  if (!inverse_norm.ok()) return 0;
  const double rcond = 1 / (norm * *inverse_norm);
  return std::isfinite(rcond) ? std::min(rcond, 1.0) : 0;
}

}  // namespace

double norm1(const CscView<double>& a) {
  double norm = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    const double column = sum_abs(a.values.subspan(a.col_ptr[j], a.col_ptr[j + 1] - a.col_ptr[j]));
    if (!(column <= norm)) norm = column;
    if (std::isnan(norm)) break;
  }
  return norm;
}

Result<double> estimate_norm1(std::int32_t n, const InPlaceOperator& apply, const InPlaceOperator& apply_transposed) {
  if (n == 0) return 0.0;
  std::vector<double> v(n, 1.0 / n), sign(n), old_sign(n, 0.0);
  LULAB_RETURN_IF_ERROR(apply(v));
  double estimate = sum_abs(v);
  if (n == 1) return estimate;
  std::int32_t unit = -1;
  for (int step = 0; step < 5; ++step) {
    for (std::int32_t i = 0; i < n; ++i) sign[i] = std::signbit(v[i]) ? -1.0 : 1.0;
    if (sign == old_sign) break;  // the same vertex again: a local maximum
    old_sign = sign;
    std::vector<double> gradient = sign;  // z = Bᵀ sign(B x); the next unit vector is its largest entry
    LULAB_RETURN_IF_ERROR(apply_transposed(gradient));
    const auto largest = std::max_element(gradient.begin(), gradient.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    const auto j = static_cast<std::int32_t>(largest - gradient.begin());
    if (unit >= 0 && !(std::abs(gradient[j]) > std::abs(gradient[unit]))) break;
    unit = j;
    std::fill(v.begin(), v.end(), 0.0);
    v[j] = 1;
    LULAB_RETURN_IF_ERROR(apply(v));
    const double next = sum_abs(v);
    if (!(next > estimate)) break;
    estimate = next;
  }
  for (std::int32_t i = 0; i < n; ++i)
    v[i] = (i % 2 ? -1 : 1) * (1 + double(i) / (n - 1));  // against cancellation by chance
  LULAB_RETURN_IF_ERROR(apply(v));
  return std::max(estimate, 2 * sum_abs(v) / (3.0 * n));
}

template <class T>
ConditionEstimate estimate_condition(const CscView<double>& a, const Factors<T>& f) {
  const std::int32_t n = f.filled.n;
  if (n == 0) return {1, 1};
  const Plan& plan = f.plan;
  const auto inverse = [&](std::span<double> v) { return solve_mixed<T>(f, v, v); };
  const auto inverse_transposed = [&](std::span<double> v) { return solve_transposed_mixed<T>(f, v, v); };
  // (R A C)⁻¹ = C⁻¹ A⁻¹ R⁻¹
  const auto divide = [n](std::span<double> v, const std::vector<double>& s) {
    for (std::int32_t i = 0; i < n; ++i) v[i] /= s[i];
  };
  const auto scaled_inverse = [&](std::span<double> v) {
    divide(v, plan.r);
    LULAB_RETURN_IF_ERROR(inverse(v));
    divide(v, plan.c);
    return Status{};
  };
  const auto scaled_inverse_transposed = [&](std::span<double> v) {
    divide(v, plan.c);
    LULAB_RETURN_IF_ERROR(inverse_transposed(v));
    divide(v, plan.r);
    return Status{};
  };
  return {
      rcond_of(norm1(a), estimate_norm1(n, inverse, inverse_transposed)),
      rcond_of(norm1(scale(a, plan.r, plan.c).view()), estimate_norm1(n, scaled_inverse, scaled_inverse_transposed))};
}

Status check_condition(const ConditionEstimate& estimate) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  if (estimate.rcond_scaled >= eps) return {};
  return Status::error(
      StatusCode::numerically_singular,
      fmt::format("A is singular to working precision: after scaling its reciprocal condition number is "
                  "about {:.2g}, below {:.2g}",
                  estimate.rcond_scaled, eps));
}

template ConditionEstimate estimate_condition<float>(const CscView<double>&, const Factors<float>&);
template ConditionEstimate estimate_condition<double>(const CscView<double>&, const Factors<double>&);

}  // namespace lulab
