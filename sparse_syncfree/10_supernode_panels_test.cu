// What is particular to 10_supernode_panels: panels of several tasks, steps that gather, the same bits every time.

#include <memory>

#include "sparse_syncfree/10_panel_backend.h"
#include "sparse_syncfree/rungs.h"
#include "testing/fixed_pivots.h"
#include "testing/launch.h"

namespace lulab::sparse_syncfree {
namespace {

using testing::analysis_for;
using testing::analysis_with;
using testing::expect_like;
using testing::factor_with;
using testing::from_rows;
using testing::matrix_that_fills_to;
using testing::nearby_values;
using testing::random_plan;
using testing::random_unsymmetric;

std::vector<PanelOptions> all_options() {
  return {{},
          {.small = -1},
          {.always_gather = true},
          {.relaxation = {8, 8, 1e9}, .max_scalars = 1024, .small = -1},
          {.relaxation = {8, 8, 1e9}, .max_scalars = 1024, .small = 100, .always_gather = true},
          {.relaxation = {1, 1, 1}, .small = 1000, .always_gather = true},
          {.relaxation = {3, 2, 1.5}, .max_scalars = 1024, .small = 20, .always_gather = true},
          {.always_search = true},
          {.relaxation = {8, 8, 1e9}, .max_scalars = 1024, .always_search = true}};
}

/// Factors after a refactorization with other values.
template <class T>
Result<Factors<T>> refactored(const Analysis& analysis, const PanelOptions& options, const std::vector<T>& first,
                              const std::vector<T>& second) {
  const auto f = std::make_unique<Factorizer<T>>(std::make_unique<PanelBackend<T>>(options));
  LULAB_RETURN_IF_ERROR(f->analyze(analysis));
  LULAB_RETURN_IF_ERROR(f->upload(first));
  LULAB_RETURN_IF_ERROR(f->factor());
  LULAB_RETURN_IF_ERROR(f->upload(second));
  LULAB_RETURN_IF_ERROR(f->refactor());
  return f->download();
}

TEST(SupernodePanels, EveryPlanFactorsEveryPattern) {
  LULAB_NEED_DEVICE();
  auto patterns = testing::random_patterns(simt::instrumented ? 8 : 40);
  for (auto& p : testing::generated_patterns(simt::instrumented ? 16 : 60)) patterns.push_back(std::move(p));
  std::uint64_t seed = 0;
  for (const auto& [name, filled, before] : patterns)
    for (const PanelOptions& options : all_options()) {
      if (++seed % 2 == 0 && simt::race_detection) continue;  // nine options: every second pattern has the others
      SCOPED_TRACE(name);
      const auto a = matrix_that_fills_to<double>(filled, seed);
      const Analysis analysis = analysis_for(a.pattern());
      const auto other = nearby_values(a, seed);
      const auto expected = factor_with<double>(reference, analysis, other);
      LULAB_ASSERT_OK(expected);
      const auto factors = refactored<double>(analysis, options, a.values, other);
      LULAB_ASSERT_OK(factors);
      expect_like(factors->values, expected->values, std::max(a.n_cols, 1));
      if (simt::race_detection) continue;  // the same kernel
      const auto halves = convert<float>(a.view()).values;
      const auto in_float = refactored<float>(analysis, options, halves, halves);
      const auto expected_in_float = factor_with<float>(reference, analysis, halves);
      LULAB_ASSERT_OK(in_float);
      LULAB_ASSERT_OK(expected_in_float);
      expect_like(in_float->values, expected_in_float->values, std::max(a.n_cols, 1));
      if (::testing::Test::HasFailure()) return;
    }
}

// A dense panel of several tasks, updated by all earlier ones; an arrow whose last column gathers from all.
TEST(SupernodePanels, LongPanelsAreSharedByBlocks) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::instrumented ? 132 : 200;  // more than fit into a task
  std::vector<CscPattern> patterns = {random_unsymmetric<double>(n, 1.0, 2.0 * n, 1).pattern()};
  for (const char* family : {"arrow_first", "arrow_last", "dense_column", "dense_row"}) {
    const auto generated = generate(family, {.n = n});
    ASSERT_TRUE(generated.ok());
    patterns.push_back(generated->pattern());
  }
  if (simt::race_detection) patterns.resize(2);
  for (const CscPattern& pattern : patterns) {
    const auto a = matrix_that_fills_to<double>(analysis_for(pattern).filled, 3);
    const Analysis analysis = analysis_for(a.pattern());
    const auto other = nearby_values(a, 4);
    const auto expected = factor_with<double>(reference, analysis, other);
    LULAB_ASSERT_OK(expected);
    for (const bool gather : {false, true}) {
      const auto factors = refactored<double>(
          analysis, {.max_scalars = 1024, .small = gather ? 200 : -1, .always_gather = gather}, a.values, other);
      LULAB_ASSERT_OK(factors);
      expect_like(factors->values, expected->values, n);
    }
  }
}

TEST(SupernodePanels, RepeatsBitByBit) {
  LULAB_NEED_DEVICE();
  const auto generated = generate("power_grid", {.n = simt::race_detection ? 40 : 120});
  const auto a = matrix_that_fills_to<double>(testing::analyze_ordered(*generated, {.order = Order::metis})->filled, 5);
  const Analysis analysis = analysis_for(a.pattern());
  for (const PanelOptions& options : all_options()) {
    std::vector<double> first;
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      if (simt::race_detection && seed > 3) break;
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 3)});
      const auto factors = refactored<double>(analysis, options, a.values, a.values);
      LULAB_ASSERT_OK(factors);
      if (first.empty()) first = factors->values;
      EXPECT_EQ(factors->values, first);
    }
  }
}

// Blocks start in another order, one to many of them are alive, threads are switched more or less often. No block
// starts after one that waits for it has taken the last place: tickets see to that.
TEST(SupernodePanels, EqualsTheReferenceUnderAThousandSchedules) {
  LULAB_NEED_SIMULATOR();
  const auto plans = all_options();
  for (const std::uint64_t seed : simt::schedule_seeds(simt::instrumented ? 60 : 1000)) {
    const auto n = static_cast<std::int32_t>(1 + seed * 7 % 29);
    const auto a = random_unsymmetric<double>(n, 0.03 * double(1 + seed % 9), 2.0 * n, seed);
    const Analysis analysis = analysis_with(a, random_plan(n, true, seed));
    const auto expected = factor_with<double>(reference, analysis, a.values);
    LULAB_ASSERT_OK(expected);
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 5)});
    const auto f =
        std::make_unique<Factorizer<double>>(std::make_unique<PanelBackend<double>>(plans[seed % plans.size()]));
    LULAB_ASSERT_OK(f->analyze(analysis));
    LULAB_ASSERT_OK(f->upload(a.values));
    LULAB_ASSERT_OK(f->factor());
    const auto factors = f->download();
    LULAB_ASSERT_OK(factors);
    expect_like(factors->values, expected->values, n);
    if (HasFailure()) return;
  }
}

// Inverses of such pivots are not normal: zero by a GPU's quick reciprocal, or infinite, which would make NaNs of zeros
// that are there for the panel's sake.
TEST(SupernodePanels, PivotsOfAnySizeDivideAsOthersDo) {
  LULAB_NEED_DEVICE();
  for (const auto& a : {from_rows<double>({{1.5e308, 1, 0}, {1.2e307, 3, 1}, {-7.5e307, 1, 4}}),
                        from_rows<double>({{1e-310, 1, 0}, {0, 1, 2}, {0, 1, 5}}),
                        from_rows<double>({{1e-310, 1, 0}, {3e-310, 1, 2}, {0, 1, 5}})}) {
    const Analysis analysis = analysis_for(a);
    const auto expected = factor_with<double>(reference, analysis, a.values);
    LULAB_ASSERT_OK(expected);
    const auto factors = refactored<double>(analysis, {.relaxation = {8, 8, 1e9}}, a.values, a.values);
    LULAB_ASSERT_OK(factors);
    ASSERT_EQ(factors->values.size(), expected->values.size());
    for (std::size_t p = 0; p < expected->values.size(); ++p)
      EXPECT_LE(std::abs(factors->values[p] - expected->values[p]), 1e-13 * std::abs(expected->values[p]));
  }
}

// Whatever is under way: values that were refused have no factors, not even earlier ones.
TEST(SupernodePanels, RefusedValuesLeaveNoFactors) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(20, 0.2, 40, 3);
  const Analysis analysis = analysis_for(a);
  auto f = factorizer_of<PanelBackend<double>>();
  LULAB_ASSERT_OK(f.analyze(analysis));
  LULAB_ASSERT_OK(f.upload(a.values));
  LULAB_ASSERT_OK(f.factor());
  EXPECT_EQ(f.upload(std::span(a.values).first(3)).code, StatusCode::invalid_argument);
  EXPECT_EQ(f.refactor().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.wait().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.download().status().code, StatusCode::invalid_argument);
  LULAB_ASSERT_OK(f.upload(a.values));
  LULAB_ASSERT_OK(f.refactor());
  LULAB_ASSERT_OK(f.download());
}

// Tables that save time give way to a limit on memory, in two steps; the factors stay the same.
TEST(SupernodePanels, KeepWithinTheMemoryAllowed) {
  LULAB_NEED_DEVICE();
  if (simt::race_detection) GTEST_SKIP() << "plans for large matrices, and no kernel that others do not run";
  const std::int32_t n = simt::machine() == simt::Machine::gpu ? 200000 : 60000;  // above 8 MiB
  const auto a = generate("power_grid", {.n = n});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  const double of_lu = 12.0 * double(analysis->filled.nnz());
  const auto bytes_with = [&](double ratio, bool& gathers, bool& searches) {
    auto f = factorizer_of<PanelBackend<double>>(PanelOptions{.always_gather = true, .memory_ratio = ratio});
    EXPECT_TRUE(f.analyze(*analysis).ok());
    const PanelKernel kernel = dynamic_cast<PanelBackend<double>&>(f.backend()).kernel();
    gathers = kernel.gathering;
    searches = kernel.searching;
    return double(f.statistics().peak_bytes) / of_lu;
  };
  bool gathers = false, searches = false;
  const double most = bytes_with(100, gathers, searches);
  ASSERT_LT(most, memory_ratio_option.default_value);  // above, a share of the device's memory is allowed
  EXPECT_TRUE(gathers && !searches);
  const double mapped = bytes_with(most - 1e-6, gathers, searches);
  EXPECT_TRUE(!gathers && !searches);
  EXPECT_TRUE(mapped < most);
  const double least = bytes_with(mapped - 1e-6, gathers, searches);
  EXPECT_TRUE(!gathers && searches);
  EXPECT_TRUE(least < mapped);
  EXPECT_TRUE(bytes_with(0, gathers, searches) == least);
  auto negative = factorizer_of<PanelBackend<double>>(PanelOptions{.memory_ratio = -1});
  EXPECT_EQ(negative.analyze(*analysis).code, StatusCode::invalid_argument);
}

// A thousand times on a GPU: tasks in other orders, blocks that pause between them, fewer blocks than are resident and
// many more. The bits are those of the first time; a launch that never ends is ended by the test's time limit.
TEST(SupernodePanels, InjectedDelaysChangeNothing) {
  LULAB_NEED_DEVICE();
  const bool gpu = simt::machine() == simt::Machine::gpu;
  const auto generated = generate("power_grid", {.n = gpu ? 2000 : 40});
  ASSERT_TRUE(generated.ok());
  const auto analysis = testing::analyze_ordered(*generated, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  const std::uint64_t times = gpu ? 1000 : simt::instrumented ? 10 : 100;
  for (const bool gather : {false, true}) {
    std::vector<double> first;
    for (const std::uint64_t seed : simt::schedule_seeds(times)) {
      SCOPED_TRACE(seed);
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
      const std::int64_t grids[] = {0, 1, 7, 100, gpu ? 20000 : 300};
      auto f = factorizer_of<PanelBackend<double, true>>(PanelOptions{
          .small = gather ? 128 : -1, .always_gather = gather, .blocks = grids[seed % std::size(grids)], .seed = seed});
      LULAB_ASSERT_OK(f.analyze(*analysis));
      for (int again = 0; again < (gpu ? 2 : 1); ++again) {
        LULAB_ASSERT_OK(f.upload(generated->values));
        LULAB_ASSERT_OK(f.factor());
        const auto factors = f.download();
        LULAB_ASSERT_OK(factors);
        if (first.empty()) first = factors->values;
        ASSERT_EQ(factors->values, first);
      }
    }
    const auto expected = factor_with<double>(reference, *analysis, generated->values);
    LULAB_ASSERT_OK(expected);
    expect_like(first, expected->values, generated->n_cols);
  }
}

// Whatever fails first, no thread waits for a value that never comes, and the error names the smallest failed column.
TEST(SupernodePanels, LostPivotsAndOverflowKeepNobodyWaiting) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 40;
  const auto a = random_unsymmetric<double>(n, 0.1, 2.0 * n, 11);
  const Analysis analysis = analysis_for(a);
  const auto good = nearby_values(a, 12);
  const auto expected = factor_with<double>(reference, analysis, good);
  LULAB_ASSERT_OK(expected);
  for (const std::int32_t column : simt::instrumented ? std::vector{23} : std::vector{0, 7, 23, n - 1})
    for (const double bad :
         {0.0, 1e308, 1e-310})  // a column of zeros; entries of L or U that overflow, or nearly nothing
      for (const PanelOptions& options : all_options()) {
        SCOPED_TRACE(column);
        auto values = a.values;
        for (std::int64_t p = a.col_ptr[column]; p < a.col_ptr[column + 1]; ++p)
          values[p] = bad == 0 ? 0 : a.row_idx[p] == column ? std::min(bad, 1e-3) : std::max(bad, 1.0);
        const auto alone = factor_with<double>(reference, analysis, values);
        const auto f = std::make_unique<Factorizer<double>>(std::make_unique<PanelBackend<double>>(options));
        LULAB_ASSERT_OK(f->analyze(analysis));
        LULAB_ASSERT_OK(f->upload(values));
        LULAB_ASSERT_OK(f->factor());
        EXPECT_EQ(f->wait().code, alone.status().code) << f->wait().to_string();
        EXPECT_EQ(f->wait().where.columns, alone.status().where.columns);
        LULAB_ASSERT_OK(f->upload(good));
        LULAB_ASSERT_OK(f->refactor());
        const auto again = f->download();
        LULAB_ASSERT_OK(again);
        expect_like(again->values, expected->values, n);
      }
}

}  // namespace
}  // namespace lulab::sparse_syncfree
