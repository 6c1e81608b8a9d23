// Checks of a lab whose lines refine a solution: by solvers that give a chosen correction, so that every x is known.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "labs/verdict_test.h"
#include "solve/refine.h"
#include "testing/dense_elimination.h"

namespace lulab::labs {
namespace {

constexpr double eps = RefinementRule::eps;

/// A system whose solution is all ones: powers of two on the diagonal, in another order. Residuals are exact.
struct Scenario {
  std::string name;
  std::vector<double> start;              // x on entry
  std::vector<std::vector<double>> goes;  // x after each solve, were its correction added to x
  std::size_t kept;                       // of them; one more may be undone
  int max_iterations;
};

CscMatrix<double> shuffled_diagonal(std::int32_t n) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    a.row_idx.push_back((j + 1) % n);
    a.values.push_back(std::ldexp(j % 2 ? -1 : 1, j % 5));
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

std::vector<double> product(const CscMatrix<double>& a, std::span<const double> x) {
  std::vector<double> y(a.n_rows, 0);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p) y[a.row_idx[p]] += a.values[p] * x[j];
  return y;
}

/// False, and the first wrong thing told, unless refinement asks for the right solves and keeps the right x.
bool expect_refined(const Scenario& s) {
  const auto n = static_cast<std::int32_t>(s.start.size());
  const CscMatrix<double> a = shuffled_diagonal(n);
  const std::vector<double> b = product(a, std::vector<double>(n, 1.0));
  std::vector<double> x = s.start;
  std::vector<std::vector<double>> xs = {s.start};  // before each solve
  xs.insert(xs.end(), s.goes.begin(), s.goes.end());
  std::size_t solves = 0;
  bool told = false;
  const auto fail = [&](const std::string& step, const std::string& expected, const std::string& actual) {
    if (!std::exchange(told, true))
      fail_with({{"matrix", s.name}, {"step", step}, {"expected", expected}, {"actual", actual}});
    return false;
  };
  const auto solve = [&](std::span<const double> from, std::span<double> to) {
    const std::string step = fmt::format("solve {}", solves + 1);
    if (solves == s.goes.size()) {
      fail(step, "no more solves: the rule wants no step", "one more");
      std::ranges::fill(to, 0);
      return;
    }
    const std::vector<double> ax = product(a, xs[solves]);
    for (std::int32_t i = 0; i < n && !told; ++i)
      if (from[i] != b[i] - ax[i])
        fail(step, fmt::format("the right-hand side is b - A x: {:.17g} in row {}", b[i] - ax[i], i),
             fmt::format("{:.17g}", from[i]));
    for (std::int32_t i = 0; i < n; ++i) to[i] = xs[solves + 1][i] - xs[solves][i];
    ++solves;
  };
  const Refinement result = HostRefiner<double>(a.view()).refine_by(solve, a.values, b, x, {eps, s.max_iterations});
  if (told) return false;
  const std::vector<double>& expected = xs[s.kept];
  for (std::int32_t i = 0; i < n; ++i)
    if (x[i] != expected[i])
      return fail("the x returned",
                  fmt::format("x({}) = {:.17g}{}", i, expected[i],
                              s.kept < s.goes.size() ? ": the last step makes it worse, and is undone" : ""),
                  fmt::format("x({}) = {:.17g}", i, x[i]));
  if (solves != s.goes.size())
    return fail("the solves", fmt::format("{}", s.goes.size()), fmt::format("{} solves", solves));
  if (result.iterations != static_cast<int>(s.kept))
    return fail("iterations", fmt::format("{}", s.kept), fmt::format("{}", result.iterations));
  double error = 0;
  for (const double v : expected) error = std::max(error, std::abs(1 - v) / (std::abs(v) + 1));
  if (!(std::abs(result.backward_error - error) <= 4 * eps * error))
    return fail("the backward error reported", fmt::format("that of the x returned, {:.17g}", error),
                fmt::format("{:.17g}", result.backward_error));
  return true;
}

/// All entries off by error, but for a sign.
std::vector<double> off_by(std::int32_t n, double error) {
  std::vector<double> x(n);
  for (std::int32_t i = 0; i < n; ++i) x[i] = 1 + (i % 3 == 1 ? -error : error);
  return x;
}

TEST(RefinementLab, SmallExact) {
  const double ulp = 2 * eps;
  for (const std::int32_t n : {1, 3, 7}) {
    const std::string of = fmt::format(", n = {}", n);
    const auto x = [n](double error) { return off_by(n, error); };
    const Scenario scenarios[] = {
        {"x is right" + of, x(0), {}, 0, 10},
        {"no step is allowed" + of, x(0.5), {}, 0, 0},
        {"one solve makes it right" + of, x(0.5), {x(0)}, 1, 10},
        {"each solve halves the error, three are allowed" + of, x(0.5), {x(0.25), x(0.125), x(0.0625)}, 3, 3},
        {"a good x becomes worse" + of, x(16 * ulp), {x(0.5)}, 0, 10},
        {"a good x becomes better, then worse" + of, x(16 * ulp), {x(8 * ulp), x(64 * ulp)}, 1, 10},
        {"a good x gains less than a tenth" + of, x(16 * ulp), {x(15 * ulp)}, 1, 10},
        {"a bad x becomes worse, and then right" + of, x(0.25), {x(0.5), x(0)}, 2, 10},
    };
    for (const Scenario& s : scenarios)
      if (!expect_refined(s)) return;
  }
}

/// Factors that are a little wrong: x converges all the same, and what is reported is the x that is returned.
TEST(RefinementLab, Properties) {
  const std::uint64_t first = check_options().seed;
  for (std::uint64_t seed = first; seed < first + 20; ++seed) {
    const auto n = static_cast<std::int32_t>(3 + seed % 38);
    const auto a = testing::random_dominant(n, 0.15, seed);
    const auto f = testing::eliminate_densely<float>(a.view(), testing::random_plan(n, seed));
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    std::vector<double> b(n), x(n, std::numeric_limits<double>::quiet_NaN());
    for (double& v : b) v = unit(random);
    HostRefiner<float> refiner(a.view());
    refiner.solve_unrefined(f, b, x);
    const std::vector<double> given = b;  // what is expected does not depend on what is done to it
    const Refinement result = refiner.refine(a.values, f, given, x, eps);
    const std::string name = fmt::format("random dominant, n = {}, seed {}, factors in float", n, seed);
    const double actual = componentwise_backward_error(a.view(), x, b);
    if (!(actual <= RefinementRule::limit)) {
      fail_with({{"matrix", name},
                 {"step", "the x returned"},
                 {"expected", fmt::format("a backward error of at most {:.3g}", RefinementRule::limit)},
                 {"actual", fmt::format("{:.3g}", actual)}});
      return;
    }
    if (result.backward_error != actual || !result.converged || result.iterations < 1) {
      fail_with({{"matrix", name},
                 {"step", "the result reported"},
                 {"expected", fmt::format("at least one step, converged, a backward error of {:.17g}", actual)},
                 {"actual", fmt::format("{} step(s), {}, {:.17g}", result.iterations,
                                        result.converged ? "converged" : "not converged", result.backward_error)}});
      return;
    }
  }
}

}  // namespace
}  // namespace lulab::labs
