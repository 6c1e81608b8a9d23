// Rungs that perturb pivots: L·U = P·R·A·C·Q + E, E on the diagonal alone, an entry for each pivot counted.

#include "core/factorizer.h"
#include "testing/device.h"
#include "testing/fixed_pivots.h"

namespace lulab::testing {
namespace {

/// Every third pivot of the first columns is zero or tiny, until elimination fills it.
template <class T>
CscMatrix<T> with_small_pivots(std::int32_t n, std::uint64_t seed) {
  CscMatrix<T> a = random_unsymmetric<T>(n, 0.08, 4.0, seed);
  for (std::int32_t j = 0; j < n; j += 3)
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p)
      if (a.row_idx[p] == j) a.values[p] = static_cast<T>(j % 2 == 0 ? 0 : -1e-9);
  return a;
}

template <class T>
void expect_perturbed(const Rung& rung, std::uint64_t seed) {
  const std::int32_t n = 40;
  const double ratio = sizeof(T) == 8 ? 1e-4 : 1e-3;
  const CscMatrix<T> a = with_small_pivots<T>(n, seed);
  const Analysis analysis = analysis_with(a, random_plan(n, true, seed));
  const auto f = rung.make<T>(FactorOptions{.perturb_pivots = ratio});
  LULAB_ASSERT_OK(f->analyze(analysis));
  LULAB_ASSERT_OK(f->upload(a.values));
  LULAB_ASSERT_OK(f->factor());
  LULAB_ASSERT_OK(f->wait());
  const auto factors = f->download();
  LULAB_ASSERT_OK(factors);
  EXPECT_EQ(f->statistics().perturbed_pivots, factors->statistics.perturbed_pivots);

  const auto b = to_dense(apply(analysis.plan, a.view()));
  const auto l = to_dense(extract_l(*factors)), u = to_dense(extract_u(*factors));
  double b_max = 0;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < n; ++i) b_max = std::max(b_max, std::abs(b(i, j)));
  const double least = ratio * b_max;
  std::int64_t perturbed = 0;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < n; ++i) {
      double product = 0, size = 0;
      for (std::int32_t k = 0; k <= std::min(i, j); ++k) {
        product += l(i, k) * u(k, j);
        size += std::abs(l(i, k) * u(k, j));
      }
      const double rounding = 4.0 * n * std::numeric_limits<T>::epsilon() * (size + std::abs(b(i, j)));
      const double e = std::abs(product - b(i, j));
      if (i != j || e <= rounding) {
        EXPECT_TRUE(e <= rounding) << "(" << i << ", " << j << ") is off by " << e;
        continue;
      }
      ++perturbed;
      EXPECT_TRUE(std::abs(std::abs(u(j, j)) - least) <= 1e-6 * least) << "pivot " << j << " is " << u(j, j);
      EXPECT_TRUE(e <= 2 * least + rounding) << "pivot " << j << " moved by " << e;
    }
  EXPECT_GE(perturbed, 3);
  // In float, rounding may hide some.
  const std::int64_t counted = factors->statistics.perturbed_pivots;
  EXPECT_TRUE(sizeof(T) == 8 ? counted == perturbed : counted >= perturbed && counted < n) << counted << " counted";

  // Good values on the same pattern: the count starts anew.
  const auto good = random_unsymmetric<T>(n, 0.08, 4.0 * n, seed);
  ASSERT_EQ(good.row_idx, a.row_idx);
  LULAB_ASSERT_OK(f->upload(good.values));
  LULAB_ASSERT_OK(f->refactor());
  const auto again = f->download();
  LULAB_ASSERT_OK(again);
  EXPECT_EQ(again->statistics.perturbed_pivots, 0);
  EXPECT_LE(lu_error(good, *again), 30);
}

TEST(PerturbedPivots, LeaveADiagonalErrorThatIsCounted) {
  LULAB_NEED_DEVICE();
  int rungs = 0;
  for (const Rung* rung : all_rungs()) {
    if (!rung->facts.perturbs_pivots) continue;
    ++rungs;
    SCOPED_TRACE(rung->facts.id);
    for (const std::uint64_t seed : simt::schedule_seeds(simt::race_detection ? 2 : 10)) {
      const simt::SimulatorScope scope({.seed = seed});
      expect_perturbed<double>(*rung, seed);
      expect_perturbed<float>(*rung, seed);
    }
  }
  EXPECT_GE(rungs, 3);
}

TEST(PerturbedPivots, WithoutTheOptionAZeroPivotIsAnError) {
  LULAB_NEED_DEVICE();
  for (const Rung* rung : all_rungs()) {
    if (!rung->facts.perturbs_pivots) continue;
    SCOPED_TRACE(rung->facts.id);
    const auto a = with_small_pivots<double>(40, 1);
    const auto factors = factor_with<double>(*rung, analysis_with(a, Plan::identity(40)), a.values);
    EXPECT_EQ(factors.status().code, StatusCode::needs_repivot);
    EXPECT_EQ(factors.status().where.columns, std::vector<std::int32_t>{0});
  }
}

TEST(PerturbedPivots, TheOptionIsChecked) {
  const auto a = random_unsymmetric<double>(5, 0.5, 10, 1);
  const Analysis analysis = analysis_with(a, Plan::identity(5));
  for (const Rung* rung : all_rungs()) {
    if (!rung->facts.perturbs_pivots) continue;
    for (const double bad : {-1e-8, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
      const auto f = rung->make<double>(FactorOptions{.perturb_pivots = bad});
      EXPECT_EQ(f->analyze(analysis).code, StatusCode::invalid_argument) << rung->facts.id << " " << bad;
    }
  }
}

}  // namespace
}  // namespace lulab::testing
