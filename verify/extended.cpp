#include "verify/extended.h"

#include <algorithm>
#include <cmath>

#include "verify/rebuild.h"
#include "verify/twice.h"

namespace lulab::extended {

namespace {

constexpr Real eps = 0x1p-53L;  // x is double, whatever the scalar type of the factors

Real ratio(Real size, Real scale) { return size == 0 && scale == 0 ? 0 : size / scale; }

// A lower bound of ||B||_1 from products with B and Bᵀ.
template <class Times, class TimesTransposed>
Real estimate_norm1(std::size_t n, Times&& times, TimesTransposed&& times_transposed) {
  Vector y = times(Vector(n, Real(1) / n));
  Real estimate = norm1(y);
  std::size_t unit = n;
  for (int step = 0; step < 5; ++step) {
    for (Real& v : y) v = std::signbit(v) ? -1 : 1;
    const Vector gradient = times_transposed(y);
    std::size_t steepest = 0;
    for (std::size_t j = 1; j < n; ++j)
      if (std::abs(gradient[j]) > std::abs(gradient[steepest])) steepest = j;
    if (unit < n && !(std::abs(gradient[steepest]) > std::abs(gradient[unit]))) break;
    unit = steepest;
    Vector e(n, 0);
    e[unit] = 1;
    y = times(e);
    if (!(norm1(y) > estimate)) break;
    estimate = norm1(y);
  }
  Vector alternating(n);  // for a matrix whose products with the vectors above cancel
  for (std::size_t i = 0; i < n; ++i) alternating[i] = (i % 2 ? -1 : 1) * (1 + Real(i) / std::max<Real>(1, n - 1));
  return max_or_nan(estimate, 2 * norm1(times(alternating)) / (3 * Real(n)));
}

double rcond_of(Real norm, Real inverse_norm) {
  const Real rcond = 1 / (norm * inverse_norm);
  return std::isfinite(rcond) ? static_cast<double>(std::min<Real>(rcond, 1)) : 0;
}

Vector divide(Vector v, const std::vector<double>& s) {
  for (std::size_t i = 0; i < v.size(); ++i) v[i] /= s[i];
  return v;
}

}  // namespace

void round_to_double(Vector& x) {
  for (Real& v : x) {
    int exponent = 0;
    const auto digits = static_cast<double>(std::frexp(v, &exponent));
    v = std::ldexp(Real(digits), exponent);
  }
}

Real max_or_nan(Real a, Real b) { return std::isnan(a) || a >= b ? a : b; }

Real norm1(const Vector& v) {
  Real sum = 0;
  for (const Real x : v) sum += std::abs(x);
  return sum;
}

Real norm_inf(const Vector& v) {
  Real largest = 0;
  for (const Real x : v) largest = max_or_nan(largest, std::abs(x));
  return largest;
}

Real norm1(const CscView<double>& a) {
  Vector columns(a.n_cols, 0);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) columns[j] += std::abs(a.values[k]);
  return norm_inf(columns);
}

Real norm_inf(const CscView<double>& a) {
  Vector rows(a.n_rows, 0);
  for (std::size_t k = 0; k < a.values.size(); ++k) rows[a.row_idx[k]] += std::abs(a.values[k]);
  return norm_inf(rows);
}

Vector residual(const CscView<double>& a, const Vector& x, const Vector& b) {
  std::vector<Twice<Real>> sum(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) sum[i].hi = b[i];
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      sum[a.row_idx[k]].add_product(-Real(a.values[k]), x[j]);
  Vector r(b.size());
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = sum[i].value();
  return r;
}

template <class T>
Vector solve(const Factors<T>& f, const Vector& b) {
  const FilledPattern& s = f.filled;
  const Plan& plan = f.plan;
  Vector y(s.n), x(s.n);
  for (std::int32_t i = 0; i < s.n; ++i) y[i] = plan.r[plan.p[i]] * b[plan.p[i]];
  for (std::int32_t j = 0; j < s.n; ++j)
    for (std::int64_t k = s.diag[j] + 1; k < s.col_ptr[j + 1]; ++k) y[s.row_idx[k]] -= f.values[k] * y[j];
  for (std::int32_t j = s.n - 1; j >= 0; --j) {
    y[j] /= f.values[s.diag[j]];
    for (std::int64_t k = s.col_ptr[j]; k < s.diag[j]; ++k) y[s.row_idx[k]] -= f.values[k] * y[j];
  }
  for (std::int32_t j = 0; j < s.n; ++j) x[plan.q[j]] = plan.c[plan.q[j]] * y[j];
  return x;
}

template <class T>
Vector solve_transposed(const Factors<T>& f, const Vector& b) {
  const FilledPattern& s = f.filled;
  const Plan& plan = f.plan;
  Vector y(s.n), x(s.n);
  for (std::int32_t j = 0; j < s.n; ++j) y[j] = plan.c[plan.q[j]] * b[plan.q[j]];
  for (std::int32_t j = 0; j < s.n; ++j) {
    for (std::int64_t k = s.col_ptr[j]; k < s.diag[j]; ++k) y[j] -= f.values[k] * y[s.row_idx[k]];
    y[j] /= f.values[s.diag[j]];
  }
  for (std::int32_t j = s.n - 1; j >= 0; --j)
    for (std::int64_t k = s.diag[j] + 1; k < s.col_ptr[j + 1]; ++k) y[j] -= f.values[k] * y[s.row_idx[k]];
  for (std::int32_t i = 0; i < s.n; ++i) x[plan.p[i]] = plan.r[plan.p[i]] * y[i];
  return x;
}

BackwardError backward_error(const CscView<double>& a, const Vector& x, const Vector& b) {
  const Vector r = residual(a, x, b);
  Vector ax(a.n_rows, 0), row_max(a.n_rows, 0);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t i = a.row_idx[k];
      ax[i] += std::abs(a.values[k] * x[j]);
      row_max[i] = max_or_nan(row_max[i], std::abs(a.values[k]));
    }
  const Real x_max = norm_inf(x);
  BackwardError e;
  for (std::int32_t i = 0; i < a.n_rows; ++i) {
    const Real size = std::abs(r[i]), scale = ax[i] + std::abs(b[i]);
    const Real safe = row_max[i] * x_max;
    e.componentwise = max_or_nan(e.componentwise, ratio(size, scale));
    if (scale > 1000 * a.n_rows * eps * (safe + std::abs(b[i])))
      e.omega1 = max_or_nan(e.omega1, ratio(size, scale));
    else
      e.omega2 = max_or_nan(e.omega2, ratio(size, ax[i] + safe));
  }
  e.omega = e.omega1 + e.omega2;
  return e;
}

template <class T>
int refine(const CscView<double>& a, const Factors<T>& f, const Vector& b, Vector& x) {
  round_to_double(x);
  Real now = backward_error(a, x, b).omega;
  int kept = 0;
  while (kept < 10 && !(now <= eps)) {
    Vector better = solve(f, residual(a, x, b));
    for (std::size_t i = 0; i < x.size(); ++i) better[i] += x[i];
    round_to_double(better);
    const Real next = backward_error(a, better, b).omega;
    if (!(next < now)) break;
    const bool stalled = next > 0.9L * now;
    x = std::move(better);
    now = next;
    ++kept;
    if (stalled) break;
  }
  return kept;
}

template <class T>
Condition estimate_condition(const CscView<double>& a, const Factors<T>& f) {
  if (a.n_cols == 0) return {1, 1};
  const auto n = static_cast<std::size_t>(a.n_cols);
  const std::vector<double>&r = f.plan.r, &c = f.plan.c;
  const auto inverse = [&](const Vector& v) { return solve(f, v); };
  const auto inverse_transposed = [&](const Vector& v) { return solve_transposed(f, v); };
  // (R A C)⁻¹ = C⁻¹ A⁻¹ R⁻¹
  const auto scaled_inverse = [&](const Vector& v) { return divide(solve(f, divide(v, r)), c); };
  const auto scaled_inverse_transposed = [&](const Vector& v) { return divide(solve_transposed(f, divide(v, c)), r); };
  return {
      rcond_of(norm1(a), estimate_norm1(n, inverse, inverse_transposed)),
      rcond_of(norm1(rebuild::scaled(a, r, c).view()), estimate_norm1(n, scaled_inverse, scaled_inverse_transposed))};
}

#define LULAB_INSTANTIATE(T)                                                              \
  template Vector solve(const Factors<T>&, const Vector&);                                \
  template Vector solve_transposed(const Factors<T>&, const Vector&);                     \
  template int refine(const CscView<double>&, const Factors<T>&, const Vector&, Vector&); \
  template Condition estimate_condition(const CscView<double>&, const Factors<T>&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab::extended
