#include "driver/host_solve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "driver/pivot_check.h"
#include "testing/dense_elimination.h"
#include "testing/test_matrices.h"

namespace lulab {
namespace {

constexpr std::int32_t solved_n = 12;

/// HostSolve on a system whose factors may be spoilt.
template <class T>
class Solving {
 public:
  explicit Solving(Refine refine) { options.refine = refine; }

  SolverOptions options;
  CscMatrix<double> a = testing::random_dominant(solved_n, 0.4, 1);
  Factors<T> f = testing::eliminate_densely<T>(a, testing::random_plan(solved_n, 2));
  bool small_multipliers = true;
  HostSolve<T> solve{options};
  std::vector<double> x;
  std::vector<Refinement> refined;

  /// Of the column of A that is pivot k: the solve is right where that x is zero.
  void spoil_u(std::int32_t k) {
    for (std::int64_t s = f.filled.col_ptr[k]; s <= f.filled.diag[k]; ++s) f.values[s] *= T(1.01);
  }

  /// Of these x, side by side.
  void run(const std::vector<std::vector<double>>& known, bool transposed = false) {
    std::vector<double> b;
    for (const auto& one : known) {
      std::vector<double> side(solved_n);
      multiply<double>(transposed ? transpose(a.view()) : a, one, side);
      b.insert(b.end(), side.begin(), side.end());
    }
    x.assign(b.size(), std::nan(""));
    refined.assign(known.size(), {});
    solve.solve(a, f, {b, x, refined}, transposed, [this] { return small_multipliers; });
  }
  double error(const std::vector<std::vector<double>>& known) const {
    double most = 0;
    for (std::size_t c = 0; c < known.size(); ++c)
      for (std::int32_t i = 0; i < solved_n; ++i) {
        const double off = std::abs(x[c * solved_n + i] - known[c][i]);
        if (std::isnan(off)) return off;
        most = std::max(most, off);
      }
    return most;
  }
};

std::vector<std::vector<double>> without_zeros(int columns) {
  std::vector<std::vector<double>> known(columns, std::vector<double>(solved_n));
  for (int c = 0; c < columns; ++c)
    for (int i = 0; i < solved_n; ++i) known[c][i] = 1 + (3 * i + 5 * c) % 7 / 3.0;
  return known;
}

template <class T>
class HostSolveOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(HostSolveOf, Scalars);

TYPED_TEST(HostSolveOf, RefinesEachOfManyRightHandSides) {
  for (const bool transposed : {false, true}) {
    Solving<TypeParam> s(Refine::always);
    s.spoil_u(4);
    const auto known = without_zeros(19);
    s.run(known, transposed);
    EXPECT_TRUE(s.error(known) <= 1e-13);
    for (const Refinement& r : s.refined) {
      EXPECT_TRUE(r.converged);
      EXPECT_GE(r.iterations, 1);
      EXPECT_TRUE(r.omega <= 1e-15) << r.omega;
    }
  }
}

TYPED_TEST(HostSolveOf, AnotherPatternComesAfterForget) {
  Solving<TypeParam> s(Refine::always);
  const auto known = without_zeros(2);
  for (const bool transposed : {false, true}) s.run(known, transposed);
  s.a = testing::random_dominant(solved_n, 0.3, 7);
  s.f = testing::eliminate_densely<TypeParam>(s.a, testing::random_plan(solved_n, 8));
  s.solve.forget();
  for (const bool transposed : {true, false}) {
    s.run(known, transposed);
    EXPECT_TRUE(s.error(known) <= 1e-13) << transposed;
  }
}

TYPED_TEST(HostSolveOf, TheProbeIsOfANotOfItsTranspose) {
  Solving<TypeParam> s(Refine::always);
  const auto known = s.solve.known_solution(solved_n);
  HostRefiner<TypeParam> of_a(s.a), of_transpose(s.a, true);
  const auto probe = s.solve.probe(s.a, s.f), expected = probe_on_host<TypeParam>(s.a, s.f, known, of_a),
             other = probe_on_host<TypeParam>(s.a, s.f, known, of_transpose);
  ASSERT_TRUE(probe.ok() && expected.ok() && other.ok());
  EXPECT_EQ(probe->residual, expected->residual);
  EXPECT_NE(probe->residual, other->residual) << "this matrix tells both apart";
  s.spoil_u(4);
  const auto refined = s.solve.refine_probe(s.a, s.f),
             expected_refined = refine_probe_on_host<TypeParam>(s.a, s.f, known, of_a),
             other_refined = refine_probe_on_host<TypeParam>(s.a, s.f, known, of_transpose);
  ASSERT_TRUE(refined.ok() && expected_refined.ok() && other_refined.ok());
  EXPECT_EQ(refined->omega, expected_refined->omega);
  EXPECT_NE(refined->omega, other_refined->omega) << "this matrix tells both apart";
  EXPECT_TRUE(refined->converged && refined->omega <= 1e-15) << refined->omega;
}

TEST(HostSolve, AfterAGoodSolutionOthersAreNotLookedAt) {
  Solving<double> s(Refine::first);
  const auto known = without_zeros(12);
  s.run(known);
  EXPECT_TRUE(s.error(known) <= 1e-12);
  EXPECT_TRUE(s.refined[0].omega <= 1e-14);
  for (std::size_t c = 1; c < known.size(); ++c) {
    EXPECT_TRUE(std::isnan(s.refined[c].omega) && std::isnan(s.refined[c].backward_error)) << c;
    EXPECT_TRUE(s.refined[c].converged) << c;
  }
  s.solve.drop_factors();
  s.run(known);
  EXPECT_TRUE(s.refined[0].omega <= 1e-14) << "of other factors";
}

TEST(HostSolve, LooksAtAllWhereAMultiplierIsLargeOrItIsAsked) {
  for (const Refine refine : {Refine::first, Refine::automatic}) {
    Solving<double> s(refine);
    s.small_multipliers = refine != Refine::first;
    const auto known = without_zeros(12);
    s.run(known);
    for (const Refinement& r : s.refined) EXPECT_TRUE(r.omega <= 1e-14) << r.omega;
  }
}

TEST(HostSolve, FloatFactorsAreNeverTrusted) {
  Solving<float> s(Refine::first);
  std::vector<std::vector<double>> known = without_zeros(4);
  std::ranges::fill(known[0], 1.0);
  s.run(known);
  EXPECT_TRUE(s.error(known) <= 1e-12);
  for (const Refinement& r : s.refined) EXPECT_FALSE(std::isnan(r.omega));
}

// The first x is zero where the factors are wrong.
TEST(HostSolve, AGoodSolutionWithZerosIsBelievedOnceAKnownOneComesOut) {
  for (const bool spoilt : {false, true}) {
    Solving<double> s(Refine::first);
    s.a = testing::without(testing::random_dominant(solved_n, 0.5, 3), [](std::int32_t i, std::int32_t j) {
      return (i < solved_n / 2) != (j < solved_n / 2);  // two systems that know nothing of each other
    });
    s.f = testing::eliminate_densely<double>(s.a, testing::random_plan(solved_n, 2));
    if (spoilt) s.spoil_u(static_cast<std::int32_t>(std::ranges::find(s.f.plan.q, 8) - s.f.plan.q.begin()));
    auto known = without_zeros(10);
    std::fill(known[0].begin() + solved_n / 2, known[0].end(), 0.0);
    s.run(known);
    EXPECT_TRUE(s.refined[0].iterations == 0 && s.refined[0].omega > 0 && s.refined[0].omega <= 1e-14);
    EXPECT_TRUE(s.error(known) <= 1e-10) << spoilt;  // omega <= 1e-12
    for (std::size_t c = 1; c < known.size(); ++c) EXPECT_EQ(std::isnan(s.refined[c].omega), !spoilt) << c;
  }
}

}  // namespace
}  // namespace lulab
