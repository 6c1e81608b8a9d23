#pragma once
// For tests of getrf routines: the matrices LAPACK tests its own with (dchkge, dlatb4), some on which every rounding is
// exact, and the measures of a right answer.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/matrix/dense.h"
#include "core/matrix/permutation.h"
#include "dense/00_reference.h"
#include "testing/rungs.h"

namespace lulab::testing {

/// How far the pivots of two routines that round differently must agree.
enum class Pivots { exact, until_near_tie, any };

struct MatrixType {
  std::string name;
  Pivots pivots;
  bool diagonal_pivots;  // the diagonal is the largest of its column in every step: no pivoting gives the same factors
  std::function<DenseMatrix<double>(std::int32_t n, double epsilon, double tiny, std::uint64_t seed)> make;
};

inline DenseMatrix<double> uniform_dense(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  DenseMatrix<double> a(n, n);
  for (double& v : a.values) v = unit(random);
  return a;
}

/// |A(j,j)| exceeds the sum of the others of its column: stays so in every Schur complement.
inline DenseMatrix<double> column_dominant(std::int32_t n, std::uint64_t seed) {
  DenseMatrix<double> a = uniform_dense(n, seed);
  for (std::int32_t j = 0; j < n; ++j) a(j, j) += std::copysign(n, a(j, j));
  return a;
}

/// Singular values 1, ..., 1/condition, turned from both sides by reflections.
inline DenseMatrix<double> with_condition(std::int32_t n, double condition, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  DenseMatrix<double> a(n, n);
  for (std::int32_t j = 0; j < n; ++j) a(j, j) = n > 1 ? std::pow(condition, -static_cast<double>(j) / (n - 1)) : 1;
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<double> v(n);
    for (double& x : v) x = normal(random);
    double square = 0;
    for (const double x : v) square += x * x;
    for (std::int32_t j = 0; j < n; ++j) {  // A := (I − 2 v v'/v'v) A, then the same from the right
      double dot = 0;
      for (std::int32_t i = 0; i < n; ++i) dot += v[i] * a(i, j);
      for (std::int32_t i = 0; i < n; ++i) a(i, j) -= 2 * dot / square * v[i];
    }
    for (double& x : v) x = normal(random);
    square = 0;
    for (const double x : v) square += x * x;
    for (std::int32_t i = 0; i < n; ++i) {
      double dot = 0;
      for (std::int32_t j = 0; j < n; ++j) dot += a(i, j) * v[j];
      for (std::int32_t j = 0; j < n; ++j) a(i, j) -= 2 * dot / square * v[j];
    }
  }
  return a;
}

/// Each column has its ones in neighbouring rows (before the rows are shuffled and columns negated). Such a matrix is
/// totally unimodular: whatever is eliminated, all values stay -1, 0 or 1, so that no rounding happens and most pivots
/// are chosen among exact ties. Often singular.
inline DenseMatrix<double> interval_matrix(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int32_t> row(0, n - 1);
  Permutation shuffled = identity_permutation(n);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  DenseMatrix<double> a(n, n);
  for (std::int32_t j = 0; j < n; ++j) {
    const auto [first, last] = std::minmax({row(random), row(random)});
    const double sign = row(random) % 2 == 0 ? 1 : -1;
    for (std::int32_t i = first; i <= last; ++i) a(shuffled[i], j) = sign;
  }
  return a;
}

template <class Keep>
DenseMatrix<double> masked(DenseMatrix<double> a, Keep&& keep) {
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int32_t i = 0; i < a.n_rows; ++i)
      if (!keep(i, j)) a(i, j) = 0;
  return a;
}

inline DenseMatrix<double> scaled(DenseMatrix<double> a, double by) {
  for (double& v : a.values) v *= by;
  return a;
}

/// epsilon and tiny: of the scalar type, std::numeric_limits' epsilon() and min().
inline std::vector<MatrixType> matrix_types() {
  const auto near_underflow = [](double epsilon, double tiny) { return 0.5 * tiny / epsilon; };  // dlatb4's SMALL
  return {
      {"uniform", Pivots::until_near_tie, false,
       [](std::int32_t n, double, double, std::uint64_t seed) { return uniform_dense(n, seed); }},
      {"diagonal", Pivots::exact, true,
       [](std::int32_t n, double, double, std::uint64_t seed) {
         return masked(uniform_dense(n, seed), [](auto i, auto j) { return i == j; });
       }},
      {"upper_triangular", Pivots::exact, true,
       [](std::int32_t n, double, double, std::uint64_t seed) {
         return masked(uniform_dense(n, seed), [](auto i, auto j) { return i <= j; });
       }},
      {"lower_triangular", Pivots::any, false,  // its condition number grows like 2^n
       [](std::int32_t n, double, double, std::uint64_t seed) {
         return masked(uniform_dense(n, seed), [](auto i, auto j) { return i >= j; });
       }},
      {"dominant", Pivots::exact, true,
       [](std::int32_t n, double, double, std::uint64_t seed) { return column_dominant(n, seed); }},
      {"dominant_lower", Pivots::exact, true,
       [](std::int32_t n, double, double, std::uint64_t seed) {
         return masked(column_dominant(n, seed), [](auto i, auto j) { return i >= j; });
       }},
      {"condition_2", Pivots::until_near_tie, false,
       [](std::int32_t n, double, double, std::uint64_t seed) { return with_condition(n, 2, seed); }},
      {"condition_root_eps", Pivots::any, false,
       [](std::int32_t n, double epsilon, double, std::uint64_t seed) {
         return with_condition(n, std::sqrt(0.1 / epsilon), seed);
       }},
      {"ill_conditioned", Pivots::any, false,
       [](std::int32_t n, double epsilon, double, std::uint64_t seed) {
         return with_condition(n, 0.1 / epsilon, seed);
       }},
      {"near_underflow", Pivots::until_near_tie, false,
       [=](std::int32_t n, double epsilon, double tiny, std::uint64_t seed) {
         return scaled(with_condition(n, 2, seed), near_underflow(epsilon, tiny));
       }},
      {"near_overflow", Pivots::until_near_tie, false,
       [=](std::int32_t n, double epsilon, double tiny, std::uint64_t seed) {
         return scaled(with_condition(n, 2, seed), 1 / near_underflow(epsilon, tiny));
       }},
      {"first_column_zero", Pivots::until_near_tie, false,
       [](std::int32_t n, double, double, std::uint64_t seed) {
         return masked(uniform_dense(n, seed), [](auto, auto j) { return j > 0; });
       }},
      {"last_column_zero", Pivots::until_near_tie, false,
       [](std::int32_t n, double, double, std::uint64_t seed) {
         return masked(uniform_dense(n, seed), [n](auto, auto j) { return j < n - 1; });
       }},
      {"last_half_zero", Pivots::until_near_tie, false,
       [](std::int32_t n, double, double, std::uint64_t seed) {
         return masked(uniform_dense(n, seed), [n](auto, auto j) { return j < n / 2; });
       }},
      {"dominant_with_a_zero_column", Pivots::exact, true,
       [](std::int32_t n, double, double, std::uint64_t seed) {
         return masked(column_dominant(n, seed), [n](auto, auto j) { return j != 2 * n / 3; });
       }},
      {"exact_ties", Pivots::exact, false,
       [](std::int32_t n, double, double, std::uint64_t seed) { return interval_matrix(n, seed); }},
  };
}

template <class T>
DenseMatrix<T> make_matrix(const MatrixType& type, std::int32_t n, std::uint64_t seed) {
  const DenseMatrix<double> from = type.make(n, std::numeric_limits<T>::epsilon(), std::numeric_limits<T>::min(), seed);
  DenseMatrix<T> a(n, n);
  std::ranges::transform(from.values, a.values.begin(), [](double v) { return static_cast<T>(v); });
  return a;
}

/// What a getrf routine left: factors in A's place, swaps, info.
template <class T>
struct GetrfResult {
  DenseMatrix<T> lu;
  std::vector<std::int32_t> ipiv;  // 0-based
  std::int32_t info = -1;
};

template <class T>
GetrfResult<T> reference_getrf(const DenseMatrix<T>& a) {
  GetrfResult<T> r{a, std::vector<std::int32_t>(a.n_cols, -1), -1};
  r.info = dense::getrf_reference(r.lu.view(), std::span(r.ipiv));
  return r;
}

/// product_error() of P·A and the factors.
template <class T>
double getrf_error(const DenseMatrix<T>& a, const GetrfResult<T>& r) {
  const Permutation p = dense::row_permutation_from_ipiv(r.ipiv, a.n_cols);
  return product_error<T>(
      a.n_cols, [&](std::int32_t i, std::int32_t j) { return a(p[i], j); }, r.lu, r.lu);
}

/// ||P·A·x − L·(U·x)||_inf / (n · eps · ||A·x||_inf) for one x of ones and minus ones: O(n^2), for large n.   Right:
/// < 30.
template <class T>
double probed_error(const DenseMatrix<T>& a, const GetrfResult<T>& r) {
  const std::int32_t n = a.n_cols;
  const Permutation p = dense::row_permutation_from_ipiv(r.ipiv, n);
  std::vector<double> ax(n), ux(n), lux(n);
  for (std::int32_t j = 0; j < n; ++j) {
    const double x = j * 7 % 11 < 5 ? 1 : -1;
    for (std::int32_t i = 0; i < n; ++i) ax[i] += static_cast<double>(a(i, j)) * x;
    for (std::int32_t i = 0; i <= j; ++i) ux[i] += static_cast<double>(r.lu(i, j)) * x;
  }
  lux = ux;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = j + 1; i < n; ++i) lux[i] += static_cast<double>(r.lu(i, j)) * ux[j];
  double error = 0, norm = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    error = larger(error, std::abs(ax[p[i]] - lux[i]));
    norm = larger(norm, std::abs(ax[i]));
  }
  return error / (n * static_cast<double>(std::numeric_limits<T>::epsilon()) * norm);
}

/// max|U| / max|A|; 0 for A = 0.
template <class T>
double pivot_growth(const DenseMatrix<T>& a, const GetrfResult<T>& r) {
  double u = 0, max = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int32_t i = 0; i < a.n_rows; ++i) {
      max = std::max(max, std::abs(static_cast<double>(a(i, j))));
      if (i <= j) u = larger(u, std::abs(static_cast<double>(r.lu(i, j))));
    }
  return u == 0 ? 0 : u / max;
}

template <class T>
double largest_multiplier(const GetrfResult<T>& r, std::int32_t k) {
  double largest = 0;
  for (std::int32_t i = k + 1; i < r.lu.n_rows; ++i)
    largest = larger(largest, std::abs(static_cast<double>(r.lu(i, k))));
  return largest;
}

/// The steps before the first in which rounding may choose between the two best candidates: |L(i,k)| is the ratio of
/// candidate i to the pivot.
template <class T>
std::int32_t steps_before_near_tie(const GetrfResult<T>& reference) {
  const double close = 1 - 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const std::int32_t n = reference.lu.n_cols;
  for (std::int32_t k = 0; k < n; ++k)
    if (reference.lu(k, k) != T(0) && largest_multiplier(reference, k) >= close) return k;
  return n;
}

/// How many swaps of a result must be the reference's.
template <class T>
std::int32_t compared_steps(const GetrfResult<T>& reference, Pivots pivots) {
  const std::int32_t n = reference.lu.n_cols;
  return pivots == Pivots::any ? 0 : pivots == Pivots::exact ? n : steps_before_near_tie(reference);
}

/// Against the reference: swaps and info, as far as rounding leaves no choice; L and U by what they are for.
template <class T>
void expect_right(const DenseMatrix<T>& a, const GetrfResult<T>& r, Pivots pivots) {
  const std::int32_t n = a.n_cols;
  const GetrfResult<T> reference = reference_getrf(a);
  const std::int32_t steps = compared_steps(reference, pivots);
  for (std::int32_t k = 0; k < n; ++k) {
    if (k < steps)
      ASSERT_EQ(r.ipiv[k], reference.ipiv[k]) << "step " << k;
    else
      ASSERT_TRUE(k <= r.ipiv[k] && r.ipiv[k] < n) << "ipiv[" << k << "] = " << r.ipiv[k];
    EXPECT_LE(largest_multiplier(r, k), 1 + 2 * std::numeric_limits<T>::epsilon()) << "column " << k;
  }
  EXPECT_LT(getrf_error(a, r), 30.0);
  if (steps == n) {
    EXPECT_EQ(r.info, reference.info);
  }
}

}  // namespace lulab::testing
