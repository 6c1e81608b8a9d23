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
                                          .idea = "column by column, up to eight right-hand sides at a time",
                                          .method = std::nullopt};

namespace {

/// x(j) of several right-hand sides side by side: arithmetic is that of each of them. One of them is a T.
template <class T, int width>
struct SideBySide {
  using Type [[gnu::vector_size(width * sizeof(T)), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};
template <class T>
struct SideBySide<T, 1> {
  using Type = T;
};

template <int width, class T>
using Columns = typename SideBySide<T, width>::Type;
static_assert(alignof(Columns<8, double>) == alignof(double));

// Raw pointers and x(j) in a register: through spans the compiler loads each of them anew for every entry. The width is
// the template argument, not X: as an argument X would lose its alignment, and y is not aligned like a register.

template <int width, class T>
void lower(const FilledPattern& f, const T* v, T* x) {
  using X = Columns<width, T>;
  X* const y = reinterpret_cast<X*>(x);
  const std::int32_t* row = f.row_idx.data();
  for (std::int32_t j = 0; j < f.n; ++j) {
    const X yj = y[j];
    for (std::int64_t k = f.diag[j] + 1, end = f.col_ptr[j + 1]; k < end; ++k) y[row[k]] -= v[k] * yj;  // L(i,j) x(j)
  }
}

template <int width, class T>
void upper(const FilledPattern& f, const T* v, T* x) {
  using X = Columns<width, T>;
  X* const y = reinterpret_cast<X*>(x);
  const std::int32_t* row = f.row_idx.data();
  for (std::int32_t j = f.n - 1; j >= 0; --j) {
    const std::int64_t diag = f.diag[j];
    const X yj = y[j] /= v[diag];
    for (std::int64_t k = f.col_ptr[j]; k < diag; ++k) y[row[k]] -= v[k] * yj;  // U(i,j) x(j)
  }
}

template <int width, class T>
void lower_transposed(const FilledPattern& f, const T* v, T* x) {
  using X = Columns<width, T>;
  X* const y = reinterpret_cast<X*>(x);
  const std::int32_t* row = f.row_idx.data();
  for (std::int32_t j = f.n - 1; j >= 0; --j) {
    X sum = y[j];
    for (std::int64_t k = f.diag[j] + 1, end = f.col_ptr[j + 1]; k < end; ++k) sum -= v[k] * y[row[k]];  // L(i,j) x(i)
    y[j] = sum;
  }
}

template <int width, class T>
void upper_transposed(const FilledPattern& f, const T* v, T* x) {
  using X = Columns<width, T>;
  X* const y = reinterpret_cast<X*>(x);
  const std::int32_t* row = f.row_idx.data();
  for (std::int32_t j = 0; j < f.n; ++j) {
    const std::int64_t diag = f.diag[j];
    X sum = y[j];
    for (std::int64_t k = f.col_ptr[j]; k < diag; ++k) sum -= v[k] * y[row[k]];  // U(i,j) x(i)
    y[j] = sum / v[diag];
  }
}

}  // namespace

template <class T>
void solve_lower(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  lower<1>(f, values.data(), x.data());
}

template <class T>
void solve_upper(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  upper<1>(f, values.data(), x.data());
}

template <class T>
void solve_lower_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  lower_transposed<1>(f, values.data(), x.data());
}

template <class T>
void solve_upper_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x) {
  upper_transposed<1>(f, values.data(), x.data());
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

// x[to[i]] = s_out[to[i]] · (M (s_in[from[i]] · b[from[i]])), M in T, the vectors handed to M of size about 1, `width`
// of them side by side.   Shapes b, x: (n, width).
template <int width, class T, class S, class Middle>
void solve_scaled(std::span<const std::int32_t> from, std::span<const double> s_in, std::span<const std::int32_t> to,
                  std::span<const double> s_out, const S* b, S* x, SolveWork<T>& work, Middle&& middle) {
  const std::size_t n = from.size();
  work.scaled.resize(n * width);
  work.solution.resize(n * width);
  double* const y = work.scaled.data();
  T* const z = work.solution.data();
  double largest[width] = {}, down[width], up[width];
  for (std::size_t i = 0; i < n; ++i)
    for (int c = 0; c < width; ++c) {
      const double scaled = s_in[from[i]] * static_cast<double>(b[n * c + from[i]]);
      y[width * i + c] = scaled;
      largest[c] = larger_or_nan(largest[c], std::abs(scaled));
    }
  int exponent[width] = {};
  bool is_normal = true;
  for (int c = 0; c < width; ++c) {
    if (largest[c] > 0 && std::isfinite(largest[c])) std::frexp(largest[c], &exponent[c]);
    // A product with a power of two is what ldexp() gives, at a tenth of its time.
    down[c] = power_of_two(-exponent[c]);
    up[c] = power_of_two(exponent[c]);
    is_normal = is_normal && !std::isnan(down[c]);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (int c = 0; c < width; ++c) {
      const double yi = y[width * i + c];
      z[width * i + c] = static_cast<T>(is_normal ? yi * down[c] : std::ldexp(yi, -exponent[c]));
    }
  middle(z);
  for (std::size_t j = 0; j < n; ++j)
    for (int c = 0; c < width; ++c) {
      const double solved = static_cast<double>(z[width * j + c]), scale = s_out[to[j]] * up[c];
      S& xj = x[n * c + to[j]];
      if (std::isnormal(scale)) [[likely]] {
        xj = static_cast<S>(scale * solved);
        continue;
      }
      int of_scale = 0;  // kept apart: s_out · z may be out of range where x is not
      const double fraction = std::frexp(s_out[to[j]], &of_scale);
      xj = static_cast<S>(std::ldexp(fraction * solved, of_scale + exponent[c]));
    }
}

template <int width, class T, class S>
void solve_at_once(const FactorsView<T>& f, const S* b, S* x, bool transposed, SolveWork<T>& work) {
  const Plan& plan = f.plan;
  const T* const values = f.values.data();
  if (transposed)
    solve_scaled<width, T, S>(plan.q, plan.c, plan.p, plan.r, b, x, work, [&](T* y) {
      upper_transposed<width>(f.filled, values, y);
      lower_transposed<width>(f.filled, values, y);
    });
  else
    solve_scaled<width, T, S>(plan.p, plan.r, plan.q, plan.c, b, x, work, [&](T* y) {
      lower<width>(f.filled, values, y);
      upper<width>(f.filled, values, y);
    });
}

template <class T, class S>
Status check_and_solve(const Factors<T>& f, std::span<const S> b, std::span<S> x, bool transposed) {
  LULAB_RETURN_IF_ERROR(check_sizes(f, b.size(), x.size()));
  LULAB_RETURN_IF_ERROR(check_solvable<T>(f));
  SolveWork<T> work;
  solve_at_once<1>(FactorsView<T>(f), b.data(), x.data(), transposed, work);
  return {};
}

}  // namespace

template <class T>
Status solve(const Factors<T>& f, std::span<const T> b, std::span<T> x) {
  return check_and_solve<T, T>(f, b, x, false);
}

template <class T>
Status solve_transposed(const Factors<T>& f, std::span<const T> b, std::span<T> x) {
  return check_and_solve<T, T>(f, b, x, true);
}

template <class T>
Status solve_mixed(const Factors<T>& f, std::span<const double> b, std::span<double> x) {
  return check_and_solve<T, double>(f, b, x, false);
}

template <class T>
Status solve_transposed_mixed(const Factors<T>& f, std::span<const double> b, std::span<double> x) {
  return check_and_solve<T, double>(f, b, x, true);
}

template <class T>
void solve_checked(const FactorsView<T>& f, std::span<const double> b, std::span<double> x, std::int32_t columns,
                   bool transposed, SolveWork<T>& work) {
  const std::size_t n = f.filled.n;
  const auto from = [&](std::int32_t c) { return b.data() + n * c; };
  const auto to = [&](std::int32_t c) { return x.data() + n * c; };
  std::int32_t c = 0;
  for (; columns - c >= 8; c += 8) solve_at_once<8>(f, from(c), to(c), transposed, work);
  for (; columns - c >= 4; c += 4) solve_at_once<4>(f, from(c), to(c), transposed, work);
  for (; c < columns; ++c) solve_at_once<1>(f, from(c), to(c), transposed, work);
}

#define LULAB_INSTANTIATE(T)                                                                                      \
  template void solve_lower<T>(const FilledPattern&, std::span<const T>, std::span<T>);                           \
  template void solve_upper<T>(const FilledPattern&, std::span<const T>, std::span<T>);                           \
  template void solve_lower_transposed<T>(const FilledPattern&, std::span<const T>, std::span<T>);                \
  template void solve_upper_transposed<T>(const FilledPattern&, std::span<const T>, std::span<T>);                \
  template Status solve<T>(const Factors<T>&, std::span<const T>, std::span<T>);                                  \
  template Status solve_transposed<T>(const Factors<T>&, std::span<const T>, std::span<T>);                       \
  template Status solve_mixed<T>(const Factors<T>&, std::span<const double>, std::span<double>);                  \
  template Status solve_transposed_mixed<T>(const Factors<T>&, std::span<const double>, std::span<double>);       \
  template Status check_solvable<T>(const FactorsView<T>&);                                                       \
  template void solve_checked<T>(const FactorsView<T>&, std::span<const double>, std::span<double>, std::int32_t, \
                                 bool, SolveWork<T>&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
