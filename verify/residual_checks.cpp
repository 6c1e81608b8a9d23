// The checks that measure: L·U against P·R·A·C·Q, solves against A, growth.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "verify/checks.h"
#include "verify/extended.h"
#include "verify/rebuild.h"

namespace lulab {

namespace {

using extended::max_or_nan;

// 0/0 = 0: nothing was asked and nothing is wrong.
double quotient(extended::Real numerator, extended::Real denominator) {
  return numerator == 0 && denominator == 0 ? 0 : static_cast<double>(numerator / denominator);
}

double largest(double a, extended::Real b) { return static_cast<double>(max_or_nan(a, b)); }

double product_flops(const FilledPattern& f) {
  double flops = 0;
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t k = f.col_ptr[j]; k <= f.diag[j]; ++k) {
      const std::int32_t i = f.row_idx[k];
      flops += 2.0 * static_cast<double>(f.col_ptr[i + 1] - f.diag[i]);
    }
  return flops;
}

// ||B - L U||_1, one column at a time in a dense work vector of which only the touched rows are visited.
template <class T>
double product_error(const CscMatrix<double>& b, const Factors<T>& f) {
  const FilledPattern& s = f.filled;
  std::vector<double> w(s.n, 0.0);
  std::vector<std::int32_t> seen_in(s.n, -1), touched;
  double norm = 0;
  for (std::int32_t j = 0; j < s.n; ++j) {
    touched.clear();
    const auto add = [&](std::int32_t i, double v) {
      if (seen_in[i] != j) {
        seen_in[i] = j;
        touched.push_back(i);
        w[i] = 0;
      }
      w[i] += v;
    };
    // lab: judge begin
    for (std::int64_t k = s.col_ptr[j]; k <= s.diag[j]; ++k) {
      const std::int32_t i = s.row_idx[k];
      const double u = f.values[k];
      add(i, -u);  // L(i,i) = 1
      for (std::int64_t m = s.diag[i] + 1; m < s.col_ptr[i + 1]; ++m)
        add(s.row_idx[m], -static_cast<double>(f.values[m]) * u);
    }
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) add(b.row_idx[k], b.values[k]);
    double column = 0;
    for (std::int32_t i : touched) column += std::abs(w[i]);
    norm = largest(norm, column);
    // lab: judge end
  }
  return norm;
}

// max over vectors v of random signs of ||B v - L (U v)||_1
template <class T>
double probed_error(const CscMatrix<double>& b, const Factors<T>& f, int vectors, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> v(f.filled.n), size;
  double worst = 0;
  for (int probe = 0; probe < vectors; ++probe) {
    for (double& x : v) x = random() % 2 ? 1 : -1;
    double error = 0;
    for (const double e : rebuild::probe(b, f, v, size)) error += std::abs(e);
    worst = largest(worst, error);
  }
  return worst;
}

}  // namespace

template <class T>
double unit_roundoff() {
  return std::numeric_limits<T>::epsilon() / 2.0;
}

double stable_growth(std::int32_t n) { return std::max(1000.0, 10.0 * n); }

template <class T>
LuResidual lu_residual(const CscView<double>& a, const Factors<T>& f, std::uint64_t seed, double max_flops) {
  constexpr int vectors = 10;
  const CscMatrix<double> b = rebuild::pracq(f.plan, a);
  const bool exact = product_flops(f.filled) <= max_flops;
  return without_overflow(b, f, [&](const CscMatrix<double>& of, const Factors<T>& by) -> LuResidual {
    const double error = exact ? product_error(of, by) : probed_error(of, by, vectors, seed);
    return {quotient(error, std::max(1, a.n_cols) * extended::norm1(of.view()) * unit_roundoff<T>()),
            exact ? "exact product" : std::to_string(vectors) + " probing vectors"};
  });
}

template <class T>
SolveResiduals solve_residuals(const CscView<double>& a, const Factors<T>& f, std::uint64_t seed) {
  using namespace extended;
  const std::int32_t n = a.n_cols;
  const double eps = unit_roundoff<T>();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> size(0.5, 1);
  const auto random_vector = [&] {
    Vector v(n);
    for (auto& x : v) x = size(random) * (random() % 2 ? 1 : -1);
    return v;
  };
  SolveResiduals worst;
  for (const bool known_solution : {true, false}) {
    Vector b = random_vector();
    const Vector known = b;
    if (known_solution) {  // b := A·x, rounded
      b = residual(a, b, Vector(n, 0));
      for (auto& v : b) v = -v;
      round_to_double(b);
    }
    Vector x = solve(f, b);
    Vector r = residual(a, x, b);
    Real scaled_r = 0, scaled_x = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      scaled_r += std::abs(f.plan.r[i] * r[i]);
      scaled_x += std::abs(x[i] / f.plan.c[i]);
    }
    worst.scaled_residual = largest(worst.scaled_residual, quotient(scaled_r, factor_norm(f) * scaled_x * eps));
    worst.first_backward_error = largest(worst.first_backward_error, backward_error(a, x, b).componentwise);

    worst.refinement_steps = std::max(worst.refinement_steps, refine(a, f, b, x));
    r = residual(a, x, b);
    worst.solve_residual = largest(worst.solve_residual, quotient(norm1(r), norm1(a) * norm1(x) * eps));
    const Real hpl_scale = eps * (norm_inf(a) * norm_inf(x) + norm_inf(b)) * n;
    worst.hpl_residual = largest(worst.hpl_residual, quotient(norm_inf(r), hpl_scale));
    const BackwardError error = backward_error(a, x, b);
    worst.backward_error = largest(worst.backward_error, error.componentwise);
    worst.omega = largest(worst.omega, error.omega);
    worst.omega1 = largest(worst.omega1, error.omega1);
    worst.omega2 = largest(worst.omega2, error.omega2);
    if (!known_solution) continue;
    Real distance = 0;
    for (std::int32_t i = 0; i < n; ++i) distance += std::abs(x[i] - known[i]);
    worst.forward_error = quotient(distance, norm1(known));
  }
  return worst;
}

template <class T>
extended::Vector factor_column_norms(const Factors<T>& f) {
  const FilledPattern& s = f.filled;
  extended::Vector l_sum(s.n, 1.0), norms(s.n, 0.0);  // column sums of |L|, and of |L||U|
  for (std::int32_t j = 0; j < s.n; ++j) {
    for (std::int64_t k = s.diag[j] + 1; k < s.col_ptr[j + 1]; ++k)
      l_sum[j] += std::abs(static_cast<double>(f.values[k]));
    for (std::int64_t k = s.col_ptr[j]; k <= s.diag[j]; ++k)
      norms[j] += l_sum[s.row_idx[k]] * std::abs(static_cast<double>(f.values[k]));
  }
  return norms;
}

template <class T>
long double factor_norm(const Factors<T>& f) {
  extended::Real norm = 0;
  for (const extended::Real column : factor_column_norms(f)) norm = max_or_nan(norm, column);
  return norm;
}

template <class T>
double pivot_growth(const CscView<double>& a, const Factors<T>& f) {
  double u = 0;
  for (std::int32_t j = 0; j < f.filled.n; ++j)
    for (std::int64_t k = f.filled.col_ptr[j]; k <= f.filled.diag[j]; ++k)
      u = largest(u, std::abs(static_cast<double>(f.values[k])));
  double b = 0;
  for (const double v : rebuild::scaled(a, f.plan.r, f.plan.c).values) b = largest(b, std::abs(v));
  return a.n_cols == 0 ? 1 : u / b;
}

namespace {

double largest_in(const CscMatrix<double>& m, std::int32_t j) {
  double most = 0;
  for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k) most = largest(most, std::abs(m.values[k]));
  return most;
}

// A minimum that never loses a NaN.
double smallest(double a, double b) { return std::isnan(a) || a <= b ? a : b; }

}  // namespace

ReciprocalGrowth reciprocal_growth(const CscMatrix<double>& b, const CscMatrix<double>& u, const CscPattern& outside) {
  ReciprocalGrowth growth;
  double all_b = 0, all_u = 0;
  growth.superlu = std::numeric_limits<double>::infinity();
  for (std::int32_t j = 0; j < b.n_cols; ++j) {
    const double in_b = largest_in(b, j), in_u = largest_in(u, j);
    all_b = largest(all_b, in_b);
    all_u = largest(all_u, in_u);
    growth.superlu = smallest(growth.superlu, in_u == 0 ? 1 : in_b / in_u);
    double in_block = in_b;
    if (outside.n_cols > 0 && outside.col_ptr[j] < outside.col_ptr[j + 1]) {
      const auto first = outside.row_idx.begin() + outside.col_ptr[j],
                 last = outside.row_idx.begin() + outside.col_ptr[j + 1];
      in_block = 0;
      for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k)
        if (!std::binary_search(first, last, b.row_idx[k])) in_block = largest(in_block, std::abs(b.values[k]));
    }
    if (in_u != 0) growth.klu = smallest(growth.klu, in_block / in_u);
  }
  if (b.n_cols == 0) growth.superlu = 1;
  growth.lapack = all_u == 0 ? 1 : all_b / all_u;
  return growth;
}

#define LULAB_INSTANTIATE(T)                                                                         \
  template double unit_roundoff<T>();                                                                \
  template LuResidual lu_residual(const CscView<double>&, const Factors<T>&, std::uint64_t, double); \
  template SolveResiduals solve_residuals(const CscView<double>&, const Factors<T>&, std::uint64_t); \
  template extended::Vector factor_column_norms(const Factors<T>&);                                  \
  template long double factor_norm(const Factors<T>&);                                               \
  template double pivot_growth(const CscView<double>&, const Factors<T>&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
