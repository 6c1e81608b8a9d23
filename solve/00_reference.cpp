// The sequential solves.

#include "solve/triangular.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/factors.h"
#include "solve/rungs.h"

namespace lulab {

const SolveRung solve_rungs::reference = {.id = "solve/00_reference",
                                          .paper = "Davis 2006, sections 3.1 and 3.2",
                                          .idea = "one right-hand side after the other, column by column",
                                          .method = std::nullopt};

// Raw pointers and x(j) in a register: through spans the compiler loads each of them anew for every entry.

template <class T>
void solve_lower(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  const std::int32_t* row = f.row_idx.data();
  const T* v = values.data();
  T* y = x.data();
  for (std::int32_t j = 0; j < f.n; ++j) {
    const T yj = y[j];
    for (std::int64_t k = f.diag[j] + 1, end = f.col_ptr[j + 1]; k < end; ++k) y[row[k]] -= v[k] * yj;  // L(i,j) x(j)
  }
}

template <class T>
void solve_upper(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  const std::int32_t* row = f.row_idx.data();
  const T* v = values.data();
  T* y = x.data();
  for (std::int32_t j = f.n - 1; j >= 0; --j) {
    const std::int64_t diag = f.diag[j];
    const T yj = y[j] /= v[diag];
    for (std::int64_t k = f.col_ptr[j]; k < diag; ++k) y[row[k]] -= v[k] * yj;  // U(i,j) x(j)
  }
}

template <class T>
void solve_lower_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  const std::int32_t* row = f.row_idx.data();
  const T* v = values.data();
  T* y = x.data();
  for (std::int32_t j = f.n - 1; j >= 0; --j) {
    T sum = y[j];
    for (std::int64_t k = f.diag[j] + 1, end = f.col_ptr[j + 1]; k < end; ++k) sum -= v[k] * y[row[k]];  // L(i,j) x(i)
    y[j] = sum;
  }
}

template <class T>
void solve_upper_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  const std::int32_t* row = f.row_idx.data();
  const T* v = values.data();
  T* y = x.data();
  for (std::int32_t j = 0; j < f.n; ++j) {
    const std::int64_t diag = f.diag[j];
    T sum = y[j];
    for (std::int64_t k = f.col_ptr[j]; k < diag; ++k) sum -= v[k] * y[row[k]];  // U(i,j) x(i)
    y[j] = sum / v[diag];
  }
}

template <class T>
Status check_solvable(const FactorsView<T>& f) {
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

namespace {

template <class T>
Status check_sizes(const Factors<T>& f, std::size_t b_size, std::size_t x_size) {
  const auto n = static_cast<std::size_t>(f.filled.n);
  if (b_size == n && x_size == n) return {};
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("solve: A is {0} x {0}, but b has {1} and x has {2} entries", n, b_size, x_size));
}

/// 2^exponent, or NaN where that is no normal number.
double power_of_two(int exponent) {
  return exponent >= -1022 && exponent <= 1023 ? std::ldexp(1.0, exponent) : std::numeric_limits<double>::quiet_NaN();
}

// x[to[i]] = s_out[to[i]] · (M (s_in[from[i]] · b[from[i]])), M in T, the vector handed to M of size about 1.
template <class T, class S, class Middle>
void solve_scaled(std::span<const std::int32_t> from, std::span<const double> s_in, std::span<const std::int32_t> to,
                  std::span<const double> s_out, std::span<const S> b, std::span<S> x, SolveWork<T>& work,
                  Middle&& middle) {
  const std::size_t n = from.size();
  work.scaled.resize(n);
  work.solution.resize(n);
  double* y = work.scaled.data();
  T* z = work.solution.data();
  for (std::size_t i = 0; i < n; ++i) y[i] = s_in[from[i]] * static_cast<double>(b[from[i]]);
  const double largest = max_abs(std::span<const double>(work.scaled));
  int exponent = 0;
  if (largest > 0 && std::isfinite(largest)) std::frexp(largest, &exponent);
  // A product with a power of two is what ldexp() gives, at a tenth of its time.
  const double down = power_of_two(-exponent), up = power_of_two(exponent);
  if (!std::isnan(down))
    for (std::size_t i = 0; i < n; ++i) z[i] = static_cast<T>(y[i] * down);
  else
    for (std::size_t i = 0; i < n; ++i) z[i] = static_cast<T>(std::ldexp(y[i], -exponent));
  middle(work.solution);
  for (std::size_t j = 0; j < n; ++j) {
    const double solved = static_cast<double>(z[j]), scale = s_out[to[j]] * up;
    if (std::isnormal(scale)) [[likely]] {
      x[to[j]] = static_cast<S>(scale * solved);
      continue;
    }
    int of_scale = 0;  // kept apart: s_out · z may be out of range where x is not
    const double fraction = std::frexp(s_out[to[j]], &of_scale);
    x[to[j]] = static_cast<S>(std::ldexp(fraction * solved, of_scale + exponent));
  }
}

template <class T, class S>
void solve_with(const FactorsView<T>& f, std::span<const S> b, std::span<S> x, SolveWork<T>& work) {
  solve_scaled<T, S>(f.plan.p, f.plan.r, f.plan.q, f.plan.c, b, x, work, [&](std::span<T> y) {
    solve_lower<T>(f.filled, f.values, y);
    solve_upper<T>(f.filled, f.values, y);
  });
}

template <class T, class S>
void solve_transposed_with(const FactorsView<T>& f, std::span<const S> b, std::span<S> x, SolveWork<T>& work) {
  solve_scaled<T, S>(f.plan.q, f.plan.c, f.plan.p, f.plan.r, b, x, work, [&](std::span<T> y) {
    solve_upper_transposed<T>(f.filled, f.values, y);
    solve_lower_transposed<T>(f.filled, f.values, y);
  });
}

template <class T, class S>
Status check_and_solve(const Factors<T>& f, std::span<const S> b, std::span<S> x,
                       void (*solve_with_work)(const FactorsView<T>&, std::span<const S>, std::span<S>,
                                               SolveWork<T>&)) {
  LULAB_RETURN_IF_ERROR(check_sizes(f, b.size(), x.size()));
  LULAB_RETURN_IF_ERROR(check_solvable<T>(f));
  SolveWork<T> work;
  solve_with_work(f, b, x, work);
  return {};
}

}  // namespace

template <class T>
Status solve(const Factors<T>& f, std::span<const T> b, std::span<T> x) {
  return check_and_solve<T, T>(f, b, x, solve_with<T, T>);
}

template <class T>
Status solve_transposed(const Factors<T>& f, std::span<const T> b, std::span<T> x) {
  return check_and_solve<T, T>(f, b, x, solve_transposed_with<T, T>);
}

template <class T>
Status solve_mixed(const Factors<T>& f, std::span<const double> b, std::span<double> x) {
  return check_and_solve<T, double>(f, b, x, solve_with<T, double>);
}

template <class T>
Status solve_transposed_mixed(const Factors<T>& f, std::span<const double> b, std::span<double> x) {
  return check_and_solve<T, double>(f, b, x, solve_transposed_with<T, double>);
}

template <class T>
void solve_checked(const FactorsView<T>& f, std::span<const double> b, std::span<double> x, SolveWork<T>& work) {
  solve_with<T, double>(f, b, x, work);
}

template <class T>
void solve_transposed_checked(const FactorsView<T>& f, std::span<const double> b, std::span<double> x,
                              SolveWork<T>& work) {
  solve_transposed_with<T, double>(f, b, x, work);
}

#define LULAB_INSTANTIATE(T)                                                                                        \
  template void solve_lower<T>(const FilledPattern&, std::span<const T>, std::span<T>);                             \
  template void solve_upper<T>(const FilledPattern&, std::span<const T>, std::span<T>);                             \
  template void solve_lower_transposed<T>(const FilledPattern&, std::span<const T>, std::span<T>);                  \
  template void solve_upper_transposed<T>(const FilledPattern&, std::span<const T>, std::span<T>);                  \
  template Status solve<T>(const Factors<T>&, std::span<const T>, std::span<T>);                                    \
  template Status solve_transposed<T>(const Factors<T>&, std::span<const T>, std::span<T>);                         \
  template Status solve_mixed<T>(const Factors<T>&, std::span<const double>, std::span<double>);                    \
  template Status solve_transposed_mixed<T>(const Factors<T>&, std::span<const double>, std::span<double>);         \
  template Status check_solvable<T>(const FactorsView<T>&);                                                         \
  template void solve_checked<T>(const FactorsView<T>&, std::span<const double>, std::span<double>, SolveWork<T>&); \
  template void solve_transposed_checked<T>(const FactorsView<T>&, std::span<const double>, std::span<double>,      \
                                            SolveWork<T>&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
