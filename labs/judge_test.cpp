// Checks of a lab whose lines judge factors: how far L·U is from P·R·A·C·Q, against a dense product.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "labs/verdict_test.h"
#include "symbolic/fill.h"
#include "testing/patterns.h"
#include "testing/to_dense.h"
#include "verify/checks.h"

namespace lulab::labs {
namespace {

struct Case {
  std::string name;
  CscMatrix<double> a;
  Factors<double> f;
};

using Rows = std::vector<std::vector<double>>;

/// L and U as stored, with the ones of L.
std::pair<Rows, Rows> triangles(const Factors<double>& f) {
  const std::int32_t n = f.filled.n;
  Rows l(n, std::vector<double>(n, 0)), u = l;
  for (std::int32_t j = 0; j < n; ++j) {
    l[j][j] = 1;
    for (std::int64_t p = f.filled.col_ptr[j]; p < f.filled.col_ptr[j + 1]; ++p)
      (p <= f.filled.diag[j] ? u : l)[f.filled.row_idx[p]][j] = f.values[p];
  }
  return {l, u};
}

/// Of a dense product in long double: the largest column sum of |P R A C Q - L U|, over n ||RAC||_1 eps.
double expected_residual(const Case& c) {
  const auto [l, u] = triangles(c.f);
  const CscMatrix<double> pracq = apply(c.f.plan, c.a.view());
  const auto b = testing::to_dense(pracq);
  const std::int32_t n = c.f.filled.n;
  long double error = 0, norm = 0;
  for (std::int32_t j = 0; j < n; ++j) {
    long double column = 0, size = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      long double e = b(i, j);
      for (std::int32_t k = 0; k <= std::min(i, j); ++k) e -= static_cast<long double>(l[i][k]) * u[k][j];
      column += std::abs(e);
      size += std::abs(static_cast<long double>(b(i, j)));
    }
    error = std::max(error, column);
    norm = std::max(norm, size);
  }
  return static_cast<double>(error / (n * norm * std::numeric_limits<double>::epsilon() / 2));
}

bool expect_residual(const Case& c, double expected, const std::string& why) {
  static Case given;  // a copy in the same memory each time: an address says nothing about what is there now
  given = c;
  const LuResidual found = lu_residual(given.a.view(), given.f, check_options().seed);
  if (std::isnan(expected) ? std::isnan(found.value) : std::abs(found.value - expected) <= 1e-9 * expected) return true;
  fail_with({{"matrix", c.name},
             {"expected", fmt::format("{:.6g}: {}", expected, why)},
             {"actual", fmt::format("{:.6g}", found.value)}});
  return false;
}

/// Small integers: L · U is exact, and A is that product.
Case exact_case(std::int32_t n, double density, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto a = testing::random_matrix(seed, {.n = n, .density = density, .zero_diagonal = 0});
  Case c = {fmt::format("integers, n = {}, seed {}", n, seed), {}, {}};
  c.f.plan = Plan::identity(n);
  c.f.filled = *fill_reference(a);
  for (std::int64_t p = 0; p < c.f.filled.nnz(); ++p) c.f.values.push_back(double(1 + random() % 5));
  const auto [l, u] = triangles(c.f);
  c.a.n_rows = c.a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      double value = 0;
      for (std::int32_t k = 0; k <= std::min(i, j); ++k) value += l[i][k] * u[k][j];
      if (value == 0) continue;
      c.a.row_idx.push_back(i);
      c.a.values.push_back(value);
    }
    c.a.col_ptr.push_back(c.a.nnz());
  }
  return c;
}

/// Values that have nothing to do with A; rows and columns permuted and scaled.
Case unrelated_case(std::int32_t n, double density, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  Case c = {fmt::format("values that are not those of A, n = {}, seed {}", n, seed), {}, {}};
  c.a = testing::random_matrix(seed, {.n = n, .density = density, .zero_diagonal = 0});
  c.f.plan = Plan::identity(n);
  std::shuffle(c.f.plan.p.begin(), c.f.plan.p.end(), random);
  std::shuffle(c.f.plan.q.begin(), c.f.plan.q.end(), random);
  for (std::int32_t i = 0; i < n; ++i) {
    c.f.plan.r[i] = std::ldexp(1, static_cast<int>(random() % 7) - 3);
    c.f.plan.c[i] = std::ldexp(1, static_cast<int>(random() % 7) - 3);
  }
  c.f.filled = *fill_reference(testing::random_matrix(seed + 1, {.n = n, .density = density, .zero_diagonal = 0}));
  for (std::int64_t p = 0; p < c.f.filled.nnz(); ++p) c.f.values.push_back(unit(random));
  return c;
}

TEST(JudgeLab, SmallExact) {
  for (const std::int32_t n : {1, 2, 5, 9}) {
    Case c = exact_case(n, 0.4, static_cast<std::uint64_t>(n));
    if (!expect_residual(c, 0, "L · U is A, exactly")) return;
    for (std::int64_t p = 0; p < c.f.filled.nnz(); ++p) {
      const double right = std::exchange(c.f.values[p], c.f.values[p] + 2);
      Case broken = c;
      broken.name += fmt::format(", value {} too large by 2", p);
      if (!expect_residual(broken, expected_residual(broken), "as the dense product has it")) return;
      c.f.values[p] = right;
    }
  }
}

TEST(JudgeLab, Properties) {
  const std::uint64_t first = check_options().seed;
  for (std::uint64_t seed = first; seed < first + 30; ++seed) {
    const Case c = unrelated_case(static_cast<std::int32_t>(2 + seed % 29), 0.15, seed);
    if (!expect_residual(c, expected_residual(c), "as the dense product has it")) return;
  }
  for (std::uint64_t seed = first; seed < first + 10; ++seed) {
    Case c = unrelated_case(12, 0.3, seed);
    c.f.values[seed % c.f.values.size()] = std::numeric_limits<double>::quiet_NaN();
    c.name += ", one of them NaN";
    if (!expect_residual(c, std::numeric_limits<double>::quiet_NaN(), "a NaN must not look like a good result")) return;
  }
}

}  // namespace
}  // namespace lulab::labs
