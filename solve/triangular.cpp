#include "solve/triangular.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lulab {

template <class T>
void solve_lower(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t k = f.diag[j] + 1; k < f.col_ptr[j + 1]; ++k)
      x[f.row_idx[k]] -= values[k] * x[j];  // x(i) -= L(i,j) x(j)
}

template <class T>
void solve_upper(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  for (std::int32_t j = f.n - 1; j >= 0; --j) {
    x[j] /= values[f.diag[j]];
    for (std::int64_t k = f.col_ptr[j]; k < f.diag[j]; ++k) x[f.row_idx[k]] -= values[k] * x[j];  // x(i) -= U(i,j) x(j)
  }
}

template <class T>
void solve_lower_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  for (std::int32_t j = f.n - 1; j >= 0; --j)
    for (std::int64_t k = f.diag[j] + 1; k < f.col_ptr[j + 1]; ++k)
      x[j] -= values[k] * x[f.row_idx[k]];  // x(j) -= L(i,j) x(i)
}

template <class T>
void solve_upper_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  for (std::int32_t j = 0; j < f.n; ++j) {
    for (std::int64_t k = f.col_ptr[j]; k < f.diag[j]; ++k) x[j] -= values[k] * x[f.row_idx[k]];  // x(j) -= U(i,j) x(i)
    x[j] /= values[f.diag[j]];
  }
}

namespace {

template <class T>
Status check_solvable(const Factors<T>& f, std::size_t b_size, std::size_t x_size) {
  const auto n = static_cast<std::size_t>(f.filled.n);
  if (b_size != n || x_size != n)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("solve: A is {0} x {0}, but b has {1} and x has {2} entries", n, b_size, x_size));
  for (std::int32_t j = 0; j < f.filled.n; ++j) {
    const T u = f.values[f.filled.diag[j]];
    if (u == T(0) || !std::isfinite(u)) {
      Where where;
      where.columns = {f.plan.q[j]};
      return Status::error(StatusCode::numerically_singular,
                           fmt::format("solve: pivot {} of U is {}; the factors cannot be solved with", j + 1, u),
                           std::move(where));
    }
  }
  return {};
}

// to_x[to[i]] = s_out[to[i]] · (M (s_in[from[i]] · b[from[i]])), M in T, the vector handed to M of size about 1.
template <class T, class S, class Middle>
void solve_scaled(std::span<const std::int32_t> from, std::span<const double> s_in, std::span<const std::int32_t> to,
                  std::span<const double> s_out, std::span<const S> b, std::span<S> x, Middle&& middle) {
  const std::size_t n = from.size();
  std::vector<double> y(n);
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = s_in[from[i]] * static_cast<double>(b[from[i]]);
    largest = std::max(largest, std::abs(y[i]));
  }
  int exponent = 0;
  if (largest > 0 && std::isfinite(largest)) std::frexp(largest, &exponent);
  std::vector<T> z(n);
  for (std::size_t i = 0; i < n; ++i) z[i] = static_cast<T>(std::ldexp(y[i], -exponent));
  middle(std::span<T>(z));
  for (std::size_t j = 0; j < n; ++j) {
    int of_scale = 0;  // kept apart: s_out · z may be out of range where x is not
    const double fraction = std::frexp(s_out[to[j]], &of_scale);
    x[to[j]] = static_cast<S>(std::ldexp(fraction * static_cast<double>(z[j]), of_scale + exponent));
  }
}

template <class T, class S>
Status solve_with(const Factors<T>& f, std::span<const S> b, std::span<S> x) {
  LULAB_RETURN_IF_ERROR(check_solvable(f, b.size(), x.size()));
  solve_scaled<T, S>(f.plan.p, f.plan.r, f.plan.q, f.plan.c, b, x, [&](std::span<T> y) {
    solve_lower<T>(f.filled, f.values, y);
    solve_upper<T>(f.filled, f.values, y);
  });
  return {};
}

template <class T, class S>
Status solve_transposed_with(const Factors<T>& f, std::span<const S> b, std::span<S> x) {
  LULAB_RETURN_IF_ERROR(check_solvable(f, b.size(), x.size()));
  solve_scaled<T, S>(f.plan.q, f.plan.c, f.plan.p, f.plan.r, b, x, [&](std::span<T> y) {
    solve_upper_transposed<T>(f.filled, f.values, y);
    solve_lower_transposed<T>(f.filled, f.values, y);
  });
  return {};
}

}  // namespace

template <class T>
Status solve(const Factors<T>& f, std::span<const T> b, std::span<T> x) {
  return solve_with<T, T>(f, b, x);
}

template <class T>
Status solve_transposed(const Factors<T>& f, std::span<const T> b, std::span<T> x) {
  return solve_transposed_with<T, T>(f, b, x);
}

template <class T>
Status solve_mixed(const Factors<T>& f, std::span<const double> b, std::span<double> x) {
  return solve_with<T, double>(f, b, x);
}

template <class T>
Status solve_transposed_mixed(const Factors<T>& f, std::span<const double> b, std::span<double> x) {
  return solve_transposed_with<T, double>(f, b, x);
}

#define LULAB_INSTANTIATE(T)                                                                       \
  template void solve_lower<T>(const FilledPattern&, std::span<const T>, std::span<T>);            \
  template void solve_upper<T>(const FilledPattern&, std::span<const T>, std::span<T>);            \
  template void solve_lower_transposed<T>(const FilledPattern&, std::span<const T>, std::span<T>); \
  template void solve_upper_transposed<T>(const FilledPattern&, std::span<const T>, std::span<T>); \
  template Status solve<T>(const Factors<T>&, std::span<const T>, std::span<T>);                   \
  template Status solve_transposed<T>(const Factors<T>&, std::span<const T>, std::span<T>);        \
  template Status solve_mixed<T>(const Factors<T>&, std::span<const double>, std::span<double>);   \
  template Status solve_transposed_mixed<T>(const Factors<T>&, std::span<const double>, std::span<double>);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)

}  // namespace lulab
