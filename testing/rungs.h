#pragma once
// For tests of rungs: those on the GPU and their names in tests, seeded inputs, an Analysis with what pivoting rungs
// need, and the definition of a right answer.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/factorizer.h"
#include "core/matrix/dense.h"
#include "core/rung.h"
#include "testing/to_dense.h"

namespace lulab::testing {

/// The rung's id with the characters that a test's name may have.
inline std::string test_name(const Rung& rung) {
  std::string name(rung.facts.id);
  std::ranges::replace_if(
      name, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

inline std::string name_of_rung(const ::testing::TestParamInfo<const Rung*>& info) { return test_name(*info.param); }

inline std::vector<const Rung*> gpu_rungs(std::span<const Rung* const> of) {
  std::vector<const Rung*> rungs;
  std::ranges::copy_if(of, std::back_inserter(rungs), [](const Rung* r) { return r->facts.device == Device::gpu; });
  return rungs;
}

/// n x n, about density · n^2 entries in (-1, 1) beside a full diagonal in diagonal · (1, 2). Unsymmetric in pattern
/// and values.
template <class T>
CscMatrix<T> random_unsymmetric(std::int32_t n, double density, double diagonal, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  CscMatrix<T> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      if (i != j && unit(random) >= density) continue;
      a.row_idx.push_back(i);
      a.values.push_back(static_cast<T>(i == j ? diagonal * (1 + unit(random)) : 2 * unit(random) - 1));
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// The same pattern with each value multiplied by a factor in (0.9, 1.1).
template <class T>
std::vector<T> nearby_values(const CscMatrix<T>& a, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> factor(0.9, 1.1);
  std::vector<T> values = a.values;
  for (T& v : values) v = static_cast<T>(v * factor(random));
  return values;
}

/// Random p and q, and r and c from {1/4, 1/2, 1, 2, 4}. With same_order p = q, so that A's diagonal stays the
/// diagonal.
inline Plan random_plan(std::int32_t n, bool same_order, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> exponent(-2, 2);
  Plan plan = Plan::identity(n);
  std::shuffle(plan.q.begin(), plan.q.end(), random);
  plan.p = plan.q;
  if (!same_order) std::shuffle(plan.p.begin(), plan.p.end(), random);
  for (double& s : plan.r) s = std::ldexp(1.0, exponent(random));
  for (double& s : plan.c) s = std::ldexp(1.0, exponent(random));
  plan.order = "given";
  return plan;
}

/// What a rung that pivots reads: the pattern and the plan.
inline Analysis analysis_of(const CscPattern& a, Plan plan) {
  Analysis analysis;
  analysis.a = a;
  analysis.plan = std::move(plan);
  return analysis;
}

/// The larger of two numbers; a NaN if either is one.
template <class T>
T larger(T a, T b) {
  return std::isnan(a) || a > b ? a : b;
}

/// Entry (i,j) = rows[i][j]; zeros are not stored.
template <class T>
CscMatrix<T> from_rows(const std::vector<std::vector<double>>& rows) {
  CscMatrix<T> a;
  a.n_rows = a.n_cols = static_cast<std::int32_t>(rows.size());
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int32_t i = 0; i < a.n_rows; ++i) {
      if (rows[i][j] == 0) continue;
      a.row_idx.push_back(i);
      a.values.push_back(static_cast<T>(rows[i][j]));
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// ||B − L·U||_1 / (n · eps · ||B||_1), multiplied out in long double; 0 for B = 0 factored exactly.
/// Right: < 30 (LAPACK dget01). b(i,j), l(i,k) below the diagonal, u(k,j) on and above it: n x n; eps is T's.
template <class T, class B, class L, class U>
double product_error(std::int32_t n, const B& b, const L& l, const U& u) {
  long double error = 0, norm = 0;
  for (std::int32_t j = 0; j < n; ++j) {
    std::vector<long double> column(n);  // L·U(:,j)
    for (std::int32_t k = 0; k <= j; ++k) {
      const long double u_kj = u(k, j);
      column[k] += u_kj;
      for (std::int32_t i = k + 1; i < n; ++i) column[i] += l(i, k) * u_kj;
    }
    long double column_error = 0, column_norm = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      column_error += std::abs(b(i, j) - column[i]);
      column_norm += std::abs(static_cast<long double>(b(i, j)));
    }
    error = larger(error, column_error);
    norm = larger(norm, column_norm);
  }
  if (error == 0) return 0;
  return static_cast<double>(error / (n * static_cast<long double>(std::numeric_limits<T>::epsilon()) * norm));
}

/// product_error() of P·R·A·C·Q and the factors.   Requires L's diagonal is 1.
template <class T>
double lu_error(const CscMatrix<T>& a, const Factors<T>& f) {
  const DenseMatrix<double> b = to_dense(apply(f.plan, a.view()));
  return product_error<T>(a.n_cols, b, to_dense(extract_l(f)), to_dense(extract_u(f)));
}

/// The form of Factors: permutations, sorted rows, U then the diagonal then L, as many values as positions.
template <class T>
void expect_well_formed(const Factors<T>& f, std::int32_t n) {
  EXPECT_EQ(f.filled.n, n);
  EXPECT_EQ(f.plan.n(), n);
  EXPECT_TRUE(is_permutation(f.plan.p));
  EXPECT_TRUE(is_permutation(f.plan.q));
  const Status sorted = check_sorted(f.filled.view());
  EXPECT_TRUE(sorted.ok()) << sorted.to_string();
  ASSERT_EQ(f.filled.diag.size(), static_cast<std::size_t>(n));
  ASSERT_EQ(f.values.size(), f.filled.row_idx.size());
  for (std::int32_t j = 0; j < n; ++j) ASSERT_EQ(f.filled.row_idx[f.filled.diag[j]], j);
}

/// Runs analyze, upload, factor, wait, download; the first error ends it.
template <class T>
Result<Factors<T>> factor_with(const Rung& rung, const Analysis& analysis, std::span<const T> values,
                               const FactorOptions& options = {}) {
  const auto f = rung.make<T>(options);
  LULAB_RETURN_IF_ERROR(f->analyze(analysis));
  LULAB_RETURN_IF_ERROR(f->upload(values));
  LULAB_RETURN_IF_ERROR(f->factor());
  LULAB_RETURN_IF_ERROR(f->wait());
  return f->download();
}
template <class T>
Result<Factors<T>> factor_with(const Rung& rung, const CscMatrix<T>& a, Plan plan, const FactorOptions& options = {}) {
  const Analysis analysis = analysis_of(a, std::move(plan));
  return factor_with<T>(rung, analysis, a.values, options);
}

}  // namespace lulab::testing
