#pragma once
// Matrices that are hard for an LU, and what a rung must make of them: those of LAPACK's test program (getrf.h), of
// Higham's collection, badly scaled ones, ones with a special pattern, and ones that are singular for a known reason.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/matrix/generate.h"
#include "symbolic/analyze_with_plan.h"
#include "testing/dense_elimination.h"
#include "testing/getrf.h"
#include "verify/checks.h"
#include "verify/judge.h"
#include "verify/stable_pivots.h"

namespace lulab::testing {

/// What is right for a matrix. Factors always have to pass judge().
enum class Answer {
  factors,
  factors_or_refusal,     // it is so near to singular that rounding decides
  structurally_singular,  // no plan matches all rows; a rung under another plan refuses
  refusal,                // a pivot is exactly zero, whatever the order
  singular,               // a refusal, or factors whose condition is beyond rounding
};

struct TestMatrix {
  std::string name;
  Answer answer;
  std::int32_t least_n;
  /// epsilon, tiny: std::numeric_limits' epsilon() and min() of the scalar type of the factors.
  std::function<CscMatrix<double>(std::int32_t n, double epsilon, double tiny, std::uint64_t seed)> make;
};

template <class Value>
CscMatrix<double> by_formula(std::int32_t n, Value&& value) {
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) rows[i][j] = value(i, j);
  return from_rows<double>(rows);
}

inline CscMatrix<double> sparse(const DenseMatrix<double>& a) {
  return by_formula(a.n_cols, [&](auto i, auto j) { return a(i, j); });
}

/// values[k] := change(i, j, value), positions kept.
template <class Change>
CscMatrix<double> changed(CscMatrix<double> a, Change&& change) {
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) a.values[k] = change(a.row_idx[k], j, a.values[k]);
  return a;
}

/// Without the entries (i,j) with drop(i, j).
template <class Drop>
CscMatrix<double> without(const CscMatrix<double>& a, Drop&& drop) {
  return by_formula(a.n_cols, [dense = to_dense(a), &drop](auto i, auto j) { return drop(i, j) ? 0 : dense(i, j); });
}

/// Each entry as a sum of three triplets, and triplets that cancel where A has none.
inline CscMatrix<double> from_duplicates(const CscMatrix<double>& a) {
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  const auto add = [&](std::int32_t i, std::int32_t j, double v) {
    rows.push_back(i);
    columns.push_back(j);
    values.push_back(v);
  };
  for (const double part : {0.5, 0.25, 0.25})
    for (std::int32_t j = a.n_cols - 1; j >= 0; --j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) add(a.row_idx[k], j, part * a.values[k]);
  for (const double sign : {1.0, -1.0})
    for (std::int32_t j = 0; j < a.n_cols; ++j) add((3 * j + 1) % a.n_cols, j, sign);
  return from_triplets<double>(a.n_rows, a.n_cols, rows, columns, values);
}

/// Dominant blocks of sizes 1, 2, 3, ... on the diagonal, rows and columns shuffled.
inline CscMatrix<double> disconnected(std::int32_t n, std::uint64_t seed) {
  const CscMatrix<double> a = random_dominant(n, 1, seed);
  const auto block = [](std::int32_t i) { return static_cast<std::int32_t>((std::sqrt(8.0 * i + 1) - 1) / 2); };
  const CscMatrix<double> blocks = without(a, [&](auto i, auto j) { return block(i) != block(j); });
  std::mt19937_64 random(seed);
  Permutation p = identity_permutation(n), q = p;
  std::shuffle(p.begin(), p.end(), random);
  std::shuffle(q.begin(), q.end(), random);
  return permute(blocks.view(), p, q);
}

inline std::vector<TestMatrix> test_matrices() {
  using I = std::int32_t;
  using Seed = std::uint64_t;
  std::vector<TestMatrix> all;
  for (const MatrixType& type : matrix_types()) {
    if (type.name == "exact_ties") continue;  // often singular, not always
    const bool zero_column = type.name.find("zero") != std::string::npos;
    all.push_back({"lapack_" + type.name,
                   zero_column                      ? Answer::structurally_singular
                   : type.name == "ill_conditioned" ? Answer::factors_or_refusal
                                                    : Answer::factors,
                   zero_column ? 2 : 1, [make = type.make](I n, double epsilon, double tiny, Seed seed) {
                     return sparse(make(n, epsilon, tiny, seed));
                   }});
  }
  const auto add = [&](std::string name, Answer answer, I least_n, auto make) {
    all.push_back({std::move(name), answer, least_n,
                   [make](I n, double, double, Seed seed) -> CscMatrix<double> { return make(n, seed); }});
  };
  const auto dominant = [](I n, Seed seed) { return random_dominant(n, std::min(1.0, 4.0 / n), seed); };

  add("wilkinson", Answer::factors, 1, [](I n, Seed) {  // grows to 2^(n-1) where pivots are chosen by column
    return by_formula(n, [n](I i, I j) { return i == j || j == n - 1 ? 1 : i > j ? -1 : 0; });
  });
  add("hilbert", Answer::factors_or_refusal, 1,
      [](I n, Seed) { return by_formula(n, [](I i, I j) { return 1.0 / (i + j + 1); }); });
  add("kahan", Answer::factors, 1, [](I n, Seed) {
    const double s = std::sin(1.2), c = std::cos(1.2);
    return by_formula(n, [=](I i, I j) { return i > j ? 0 : std::pow(s, i) * (i == j ? 1 : -c); });
  });
  add("graded", Answer::factors, 1, [](I n, Seed seed) {  // over 20 decades, rows and columns
    return changed(random_dominant(n, 0.5, seed),
                   [n](I i, I j, double v) { return v * std::pow(10.0, -10.0 * (i + j) / n); });
  });
  for (const char* family : {"arrow_first", "arrow_last", "dense_row", "dense_column"})
    add(family, Answer::factors, 1, [family](I n, Seed seed) { return *generate(family, {.n = n, .seed = seed}); });
  add("duplicates", Answer::factors, 1, [=](I n, Seed seed) { return from_duplicates(dominant(n, seed)); });
  add("explicit_zeros", Answer::factors, 1, [](I n, Seed seed) {
    return changed(random_dominant(n, 0.5, seed),
                   [](I i, I j, double v) { return (i * 7 + j) % 3 == 0 && i != j ? 0 : v; });
  });
  add("zeros_on_the_diagonal", Answer::factors, 2, [=](I n, Seed seed) {  // stored; the dominant entries beside them
    Permutation q = identity_permutation(n);
    std::rotate(q.begin(), q.begin() + 1, q.end());
    const CscMatrix<double> a = dominant(n, seed);
    return changed(permute(a.view(), identity_permutation(n), q), [](I i, I j, double v) { return i == j ? 0 : v; });
  });
  add("disconnected_blocks", Answer::factors, 1, disconnected);
  const auto denormal = [&](std::string name, auto is_denormal) {
    all.push_back({std::move(name), Answer::factors, 1, [=](I n, double epsilon, double tiny, Seed seed) {
                     // Whole numbers times a power of two: no bit is lost below the smallest number.
                     return changed(dominant(n, seed), [=](I i, I j, double v) {
                       return std::round(v * 64) * (is_denormal(i, j) ? tiny * epsilon : 1);
                     });
                   }});
  };
  denormal("denormals", [](I, I) { return true; });
  denormal("denormal_row", [](I i, I) { return i == 0; });
  denormal("denormal_column", [](I, I j) { return j == 0; });

  add("no_entry", Answer::structurally_singular, 1, [](I n, Seed) { return by_formula(n, [](I, I) { return 0; }); });
  add("all_stored_zeros", Answer::structurally_singular, 1,
      [=](I n, Seed seed) { return changed(dominant(n, seed), [](I, I, double) { return 0; }); });
  add("empty_row", Answer::structurally_singular, 1,
      [=](I n, Seed seed) { return without(dominant(n, seed), [n](I i, I) { return i == n / 2; }); });
  add("empty_column", Answer::structurally_singular, 1,
      [=](I n, Seed seed) { return without(dominant(n, seed), [n](I, I j) { return j == n / 2; }); });
  add("row_of_stored_zeros", Answer::structurally_singular, 1,
      [=](I n, Seed seed) { return changed(dominant(n, seed), [n](I i, I, double v) { return i == n / 2 ? 0 : v; }); });
  add("hall_violation", Answer::structurally_singular, 3, [](I n, Seed seed) {  // three columns share two rows
    return without(random_dominant(n, 0.5, seed), [](I i, I j) { return i > 1 && j < 3; });
  });
  add("equal_rows", Answer::singular, 2, [](I n, Seed seed) {
    return by_formula(n, [n, a = to_dense(random_dominant(n, std::min(1.0, 0.5 + 1.0 / n), seed))](I i, I j) {
      return a(i == n - 1 ? 0 : i, j);
    });
  });
  add("equal_columns", Answer::singular, 2, [](I n, Seed seed) {
    return by_formula(n, [n, a = to_dense(random_dominant(n, std::min(1.0, 0.5 + 1.0 / n), seed))](I i, I j) {
      return a(i, j == n - 1 ? 0 : j);
    });
  });
  // Powers of two: the first step leaves exact zeros, also where a rung multiplies by the reciprocal of a pivot.
  add("pivot_that_cancels", Answer::refusal, 2, [](I n, Seed seed) {
    return changed(*generate("numerically_singular", {.n = n, .seed = seed}),
                   [](I, I, double v) { return std::copysign(std::ldexp(1.0, std::ilogb(v)), v); });
  });
  add("rank_one", Answer::refusal, 2,
      [](I n, Seed) { return by_formula(n, [](I i, I j) { return std::ldexp(1.0, i % 5 - j % 7); }); });
  all.push_back({"near_singular", Answer::factors_or_refusal, 2, [](I n, double epsilon, double, Seed seed) {
                   return by_formula(
                       n, [=, a = to_dense(random_dominant(n, std::min(1.0, 0.5 + 1.0 / n), seed))](I i, I j) {
                         return a(i == n - 1 ? 0 : i, j) * (i == n - 1 && j == 0 ? 1 + 4 * epsilon : 1);
                       });
                 }});
  return all;
}

/// A refusal by a rung: the right code, and one column of A.
inline void expect_refusal(const Rung& rung, const Status& status, std::int32_t n, bool repivoted) {
  const bool fixed = rung.facts.pivoting == Pivoting::fixed;
  const bool right = status.code == StatusCode::numerically_singular
                         ? !fixed || repivoted
                         : status.code == StatusCode::needs_repivot && fixed;
  EXPECT_TRUE(right) << status.to_string();
  ASSERT_EQ(status.where.columns.size(), 1u) << status.to_string();
  EXPECT_TRUE(0 <= status.where.columns[0] && status.where.columns[0] < n) << status.where.columns[0];
}

/// Factors that pass the checks or, where pivots grew, say so. Those of a singular matrix show that it is one.
template <class T>
void expect_right_factors(const CscMatrix<double>& a, Factors<T> f, Answer answer) {
  // Of R·A·C: the solution of A x = b may be too large for a double where A is denormal.
  const CscMatrix<double> scaled = scale(a.view(), f.plan.r, f.plan.c);
  f.plan.r.assign(a.n_rows, 1.0);
  f.plan.c.assign(a.n_cols, 1.0);
  const Checks checks = judge<T>(scaled, f);
  // The residual grows with the pivots: where those grow by n, it comes near 30 n eps, the limit of judge().
  if (!(pivot_growth(scaled.view(), f) > a.n_cols))
    for (const std::string& failure : checks.failures) ADD_FAILURE() << failure;
  EXPECT_TRUE(checks.finite && *checks.finite && checks.structure && *checks.structure);
  EXPECT_NE(answer, Answer::refusal);
  EXPECT_NE(answer, Answer::structurally_singular);
  if (answer == Answer::singular) {
    const double limit = 100.0 * a.n_cols * unit_roundoff<T>();
    EXPECT_TRUE(checks.rcond_scaled && *checks.rcond_scaled <= limit) << "a singular matrix passes for a regular one";
  }
}

/// The rung, on a matrix, answers as it must: under the plan of preprocess(), and where there is none under the
/// identity.
template <class T>
void expect_answer(const Rung& rung, const TestMatrix& matrix, std::int32_t n, std::uint64_t seed) {
  const std::string name = matrix.name + ", n = " + std::to_string(n) + ", seed " + std::to_string(seed);
  std::printf("matrix: %s\n", name.c_str());
  std::fflush(stdout);
  SCOPED_TRACE(name);
  const CscMatrix<double> a = convert<double>(
      convert<T>(matrix.make(n, std::numeric_limits<T>::epsilon(), std::numeric_limits<T>::min(), seed).view()).view());
  auto analyses = SharedAnalyses::create(a);
  if (matrix.answer == Answer::structurally_singular) {
    ASSERT_EQ(analyses.status().code, StatusCode::structurally_singular) << analyses.status().to_string();
    EXPECT_FALSE(analyses.status().where.rows.empty());
    EXPECT_FALSE(analyses.status().where.columns.empty());
    const auto analysis = analyze_with_plan(a, Plan::identity(n));
    ASSERT_TRUE(analysis.ok()) << analysis.status().to_string();
    const auto f = factor_with<T>(rung, *analysis, convert<T>(a.view()).values);
    if (!f.ok()) return expect_refusal(rung, f.status(), n, false);
    return expect_right_factors<T>(a, *f, matrix.name == "hall_violation" ? Answer::singular : matrix.answer);
  }
  ASSERT_TRUE(analyses.ok()) << analyses.status().to_string();
  const StableFactors<T> stable = factor_with_stable_pivots<T>(rung, *analyses);
  if (stable.status.ok()) return expect_right_factors<T>(a, stable.factors, matrix.answer);
  EXPECT_NE(matrix.answer, Answer::factors) << stable.status.to_string();
  expect_refusal(rung, stable.status, n, !stable.repivot_cause.ok());
}

}  // namespace lulab::testing
