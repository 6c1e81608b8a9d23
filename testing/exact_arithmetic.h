#pragma once
// Small linear systems in exact arithmetic: the right answer, against which the siege holds the program's.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>

namespace lulab::siege {

using Rational = boost::multiprecision::cpp_rational;

/// An n x n matrix, or an n x m one, by rows.
template <class T>
struct Dense {
  int rows = 0, columns = 0;
  std::vector<T> values;

  Dense() = default;
  Dense(int n, int m) : rows(n), columns(m), values(static_cast<std::size_t>(n) * m) {}
  T& operator()(int i, int j) { return values[static_cast<std::size_t>(i) * columns + j]; }
  const T& operator()(int i, int j) const { return values[static_cast<std::size_t>(i) * columns + j]; }
};

inline Dense<Rational> to_exact(const Dense<double>& a) {
  Dense<Rational> exact(a.rows, a.columns);
  for (std::size_t k = 0; k < a.values.size(); ++k) exact.values[k] = Rational(a.values[k]);
  return exact;
}

inline Dense<double> rounded(const Dense<Rational>& a) {
  Dense<double> near(a.rows, a.columns);
  for (std::size_t k = 0; k < a.values.size(); ++k) near.values[k] = a.values[k].convert_to<double>();
  return near;
}

template <class T>
Dense<T> absolute(Dense<T> a) {
  for (T& v : a.values)
    if (v < 0) v = -v;
  return a;
}

template <class T>
Dense<T> product(const Dense<T>& a, const Dense<T>& b) {
  Dense<T> c(a.rows, b.columns);
  for (int i = 0; i < a.rows; ++i)
    for (int k = 0; k < a.columns; ++k)
      for (int j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}

/// A⁻¹, or nothing where A is singular (Gauss and Jordan).
inline std::optional<Dense<Rational>> inverse(Dense<Rational> a) {
  const int n = a.rows;
  Dense<Rational> x(n, n);
  for (int i = 0; i < n; ++i) x(i, i) = 1;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    while (pivot < n && a(pivot, k) == 0) ++pivot;
    if (pivot == n) return {};
    for (int j = 0; j < n; ++j) std::swap(a(k, j), a(pivot, j)), std::swap(x(k, j), x(pivot, j));
    const Rational scale = 1 / a(k, k);
    for (int j = 0; j < n; ++j) a(k, j) *= scale, x(k, j) *= scale;
    for (int i = 0; i < n; ++i) {
      const Rational factor = a(i, k);
      if (i == k || factor == 0) continue;
      for (int j = 0; j < n; ++j) a(i, j) -= factor * a(k, j), x(i, j) -= factor * x(k, j);
    }
  }
  return x;
}

/// max_j sum_i |A(i,j)|
inline double norm1(const Dense<double>& a) {
  double largest = 0;
  for (int j = 0; j < a.columns; ++j) {
    double sum = 0;
    for (int i = 0; i < a.rows; ++i) sum += std::abs(a(i, j));
    largest = std::max(largest, sum);
  }
  return largest;
}

/// A lower bound, within a few percent, of the spectral radius of |A⁻¹||A|: the least condition number that any row and
/// column scaling gives A. That of a block triangular A is the largest of its diagonal blocks'.
///
/// Source    Bauer 1963, Optimally scaled matrices.
inline double least_condition(const Dense<double>& a, const Dense<double>& inverse) {
  Dense<double> power = product(absolute(inverse), absolute(a));
  double log_scale = 0;  // of power, which is (|A⁻¹||A|)^(2^k) / 2^log_scale
  for (int k = 0; k < 6; ++k) {
    const double scale = norm1(power);
    for (double& v : power.values) v /= scale;
    log_scale = 2 * (log_scale + std::log2(scale));
    power = product(power, power);
  }
  double largest = 0;
  for (int i = 0; i < a.rows; ++i) largest = std::max(largest, power(i, i));
  return a.rows == 0 ? 1 : std::exp2((log_scale + std::log2(largest)) / 64);
}

}  // namespace lulab::siege
