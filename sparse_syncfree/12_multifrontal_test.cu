// What is particular to 12_multifrontal: fronts of one tile and of many, the same bits every time, no tile that waits
// for ever.

#include <memory>

#include "sparse_syncfree/12_front_backend.h"
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

constexpr FrontCosts merges_all = {.tile = 1 << 20, .fixed = 1e15}, merges_none = {.tile = 1 << 20, .fixed = -1e9};

/// However many zeros its fronts have.
FrontSettings settings_with(const FrontCosts& costs) {
  FrontSettings settings;
  settings.costs = costs;
  settings.plan.max_padding = 1e9;
  return settings;
}
std::vector<FrontSettings> all_settings() {
  return {settings_with({}), settings_with(merges_all), settings_with(merges_none)};
}

/// With panels of up to so many columns, each of which is a front with `merges_none`.
Analysis with_panels(Analysis analysis, std::int32_t width) {
  analysis.supernodes = std::make_shared<RelaxedSupernodes>(find_relaxed_supernodes(analysis.filled, {width, 1, 1e9}));
  return analysis;
}

/// Cuts of the fronts that a FrontBackend makes.
std::vector<FrontCuts> cuts_of(const Analysis& analysis, const FrontCosts& costs) {
  return find_fronts(analysis, costs).cuts;
}

/// Factors after a refactorization with other values.
template <class T, bool inject_delays = false>
Result<Factors<T>> refactored(const Analysis& analysis, const FrontSettings& settings, const std::vector<T>& first,
                              const std::vector<T>& second) {
  auto f = factorizer_of<FrontBackend<T, inject_delays>>(settings);
  LULAB_RETURN_IF_ERROR(f.analyze(analysis));
  EXPECT_FALSE((dynamic_cast<FrontBackend<T, inject_delays>&>(f.backend()).has_fallen_back()));
  LULAB_RETURN_IF_ERROR(f.upload(first));
  LULAB_RETURN_IF_ERROR(f.factor());
  LULAB_RETURN_IF_ERROR(f.upload(second));
  LULAB_RETURN_IF_ERROR(f.refactor());
  return f.download();
}

template <class T>
void expect_reference(const Analysis& analysis, const FrontSettings& settings, const std::vector<T>& first,
                      const std::vector<T>& second) {
  const auto expected = factor_with<T>(reference, analysis, second);
  LULAB_ASSERT_OK(expected);
  const auto factors = refactored<T>(analysis, settings, first, second);
  LULAB_ASSERT_OK(factors);
  expect_like(factors->values, expected->values, std::max(analysis.filled.n, 1));
}

TEST(Multifrontal, EveryPlanFactorsEveryPattern) {
  LULAB_NEED_DEVICE();
  auto patterns = testing::random_patterns(simt::instrumented ? 6 : 15);
  for (auto& p : testing::generated_patterns(simt::instrumented ? 12 : 28)) patterns.push_back(std::move(p));
  const auto settings = all_settings();
  std::uint64_t seed = 0;
  for (const auto& [name, filled, before] : patterns) {
    const auto a = matrix_that_fills_to<double>(filled, ++seed);
    const Analysis analysis = analysis_for(a.pattern());
    const auto other = nearby_values(a, seed);
    for (std::size_t s = 0; s < settings.size(); ++s) {
      SCOPED_TRACE(name);
      if (simt::race_detection && s != seed % 3) continue;
      expect_reference<double>(analysis, settings[s], a.values, other);
      if (simt::race_detection || s == seed % 3) continue;  // the same kernel
      const auto halves = convert<float>(a.view()).values;
      expect_reference<float>(analysis, settings[s], halves, halves);
    }
    if (HasFailure()) return;
  }
}

struct SizeOfFronts {
  std::int32_t n, width;            // panels of so many columns; 0: one front
  std::int32_t pivot_tiles, tiles;  // of the first front
};

// Dense matrices as one front and as several: parts of 64 rows and of less, of pivots and of others.
TEST(Multifrontal, FrontsOfEverySizeAreEliminated) {
  LULAB_NEED_DEVICE();
  std::vector<SizeOfFronts> sizes = {{1, 0, 1, 1},   {15, 0, 1, 1}, {16, 0, 1, 1}, {17, 0, 1, 1},   {50, 20, 1, 1},
                                     {64, 40, 1, 1}, {65, 0, 2, 2}, {70, 5, 1, 3}, {130, 65, 2, 4}, {130, 0, 3, 3}};
  if (simt::machine() == simt::Machine::gpu)
    sizes.insert(
        sizes.end(),
        {{70, 0, 2, 2}, {130, 30, 1, 3}, {140, 70, 2, 4}, {200, 0, 4, 4}, {200, 129, 3, 5}, {1000, 300, 5, 16}});
  if (simt::instrumented) sizes = {{17, 0, 1, 1}, {50, 20, 1, 1}, {70, 30, 1, 2}, {130, 65, 2, 4}};
  for (const SizeOfFronts& size : sizes) {
    SCOPED_TRACE(std::to_string(size.n) + " in panels of " + std::to_string(size.width));
    const auto a = random_unsymmetric<double>(size.n, 1.0, 2.0 * size.n, size.n);
    const Analysis analysis = with_panels(analysis_for(a.pattern()), size.width > 0 ? size.width : size.n);
    FrontSettings settings = settings_with(merges_none);
    const auto cuts = cuts_of(analysis, merges_none);
    EXPECT_EQ(cuts.front().pivot_tiles, size.pivot_tiles);
    EXPECT_EQ(cuts.front().tiles, size.tiles);
    expect_reference<double>(analysis, settings, a.values, nearby_values(a, 2));
    if (simt::race_detection || cuts.front().tiles == 3) continue;
    const auto halves = convert<float>(a.view()).values;
    expect_reference<float>(analysis, settings, halves, halves);
  }
}

// Fronts of several tiles that leave something to fronts of several tiles; tiles with up to 199 children.
TEST(Multifrontal, LargeFrontsAddWhatManyChildrenLeave) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 110 : simt::instrumented ? 150 : 200;
  for (const char* family : {"grid2d", "arrow_last"}) {
    SCOPED_TRACE(family);
    const auto generated = generate(family, {.n = n});
    ASSERT_TRUE(generated.ok());
    auto analysis = testing::analyze_ordered(*generated, {.order = Order::natural});
    ASSERT_TRUE(analysis.ok());
    const bool is_grid = std::string(family) == "grid2d";
    const Analysis in_panels = with_panels(std::move(*analysis), is_grid ? 66 : 1);
    FrontSettings settings = settings_with(merges_none);
    const auto cuts = cuts_of(in_panels, merges_none);
    EXPECT_EQ(cuts.front().tiles > 1, is_grid);
    EXPECT_GT(cuts.size(), is_grid ? 1u : 100u);
    expect_reference<double>(in_panels, settings, generated->values, nearby_values(*generated, 3));
  }
}

// Each launch begins with flags that are zero: five in a row find those that are left set.
TEST(Multifrontal, EveryRefactorizationSeesItsOwnValues) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 20 : 70;
  const auto a = random_unsymmetric<double>(n, 0.1, 2.0 * n, 21);
  const Analysis analysis = analysis_for(a);
  for (const FrontSettings& settings : all_settings()) {
    auto f = factorizer_of<FrontBackend<double>>(settings);
    LULAB_ASSERT_OK(f.analyze(analysis));
    for (const std::uint64_t time : {1, 2, 3, 4, 5}) {
      if (simt::instrumented && time > 2) break;
      SCOPED_TRACE(time);
      const simt::SimulatorScope scope({.seed = time, .resident_blocks = int(time % 3)});
      const auto values = nearby_values(a, time);
      const auto expected = factor_with<double>(reference, analysis, values);
      LULAB_ASSERT_OK(expected);
      LULAB_ASSERT_OK(f.upload(values));
      LULAB_ASSERT_OK(time == 1 ? f.factor() : f.refactor());
      const auto factors = f.download();
      LULAB_ASSERT_OK(factors);
      expect_like(factors->values, expected->values, n);
    }
  }
}

// The bits do not depend on how many blocks there are, nor in which order they run.
TEST(Multifrontal, RepeatsBitByBit) {
  LULAB_NEED_DEVICE();
  const bool gpu = simt::machine() == simt::Machine::gpu;
  const auto generated = generate("grid2d", {.n = gpu ? 40000 : simt::race_detection ? 64 : 144});
  ASSERT_TRUE(generated.ok());
  auto analysis = testing::analyze_ordered(*generated, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  for (const bool in_tiles : {false, true}) {
    FrontSettings settings = settings_with(in_tiles && !gpu ? merges_all : FrontCosts{});
    if (simt::race_detection && in_tiles) break;
    if (in_tiles && !gpu) {
      EXPECT_GT(cuts_of(*analysis, merges_all).front().tiles, 1);
    }
    std::vector<double> first;
    std::vector<float> first_in_float;
    for (const std::uint64_t seed : simt::schedule_seeds(gpu ? 40 : simt::instrumented ? 3 : 4)) {
      SCOPED_TRACE(seed);
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 3)});
      const std::int64_t grids[] = {0, 1, 2, gpu ? 3000 : 30};
      settings.blocks = grids[seed % std::size(grids)];
      const auto factors = refactored<double>(*analysis, settings, generated->values, generated->values);
      LULAB_ASSERT_OK(factors);
      if (first.empty()) first = factors->values;
      ASSERT_EQ(factors->values, first);
      const auto halves = convert<float>(generated->view()).values;
      const auto in_float = refactored<float>(*analysis, settings, halves, halves);
      LULAB_ASSERT_OK(in_float);
      if (first_in_float.empty()) first_in_float = in_float->values;
      ASSERT_EQ(in_float->values, first_in_float);
    }
  }
}

// Blocks start in another order, one to many of them are alive, threads are switched more or less often. No block
// waits for one that has not started: tickets see to that.
TEST(Multifrontal, EqualsTheReferenceUnderManySchedules) {
  LULAB_NEED_SIMULATOR();
  const auto settings = all_settings();
  for (const std::uint64_t seed : simt::schedule_seeds(simt::race_detection ? 8 : simt::instrumented ? 20 : 90)) {
    const auto n = static_cast<std::int32_t>(1 + seed * 7 % 29);
    const auto a = random_unsymmetric<double>(n, 0.03 * double(1 + seed % 9), 2.0 * n, seed);
    const Analysis analysis = analysis_with(a, random_plan(n, true, seed));
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 5)});
    expect_reference<double>(analysis, settings[seed % settings.size()], a.values, a.values);
    if (HasFailure()) return;
  }
}

// Blocks that pause between tiles, fewer blocks than are resident and many more. The bits are those of the first time;
// a launch that never ends is ended by the test's time limit.
TEST(Multifrontal, InjectedDelaysChangeNothing) {
  LULAB_NEED_DEVICE();
  const bool gpu = simt::machine() == simt::Machine::gpu;
  const auto generated = generate("grid2d", {.n = gpu ? 10000 : 80});
  ASSERT_TRUE(generated.ok());
  const auto ordered = testing::analyze_ordered(*generated, {.order = Order::metis});
  ASSERT_TRUE(ordered.ok());
  for (const FrontCosts& costs : {FrontCosts{}, gpu ? FrontCosts{.fixed = 100} : merges_all}) {
    std::vector<double> first;
    for (const std::uint64_t seed : simt::schedule_seeds(gpu ? 200 : simt::instrumented ? 2 : 10)) {
      SCOPED_TRACE(seed);
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
      const std::int64_t grids[] = {0, 1, 7, gpu ? 2000 : 20};
      FrontSettings settings = settings_with(costs);
      settings.blocks = grids[seed % std::size(grids)];
      settings.seed = seed;
      const auto factors = refactored<double, true>(*ordered, settings, generated->values, generated->values);
      LULAB_ASSERT_OK(factors);
      if (first.empty()) first = factors->values;
      ASSERT_EQ(factors->values, first);
    }
    const auto expected = factor_with<double>(reference, *ordered, generated->values);
    LULAB_ASSERT_OK(expected);
    expect_like(first, expected->values, generated->n_cols);
  }
}

// Inverses of such pivots are not normal: zero by a GPU's quick reciprocal, or infinite.
TEST(Multifrontal, PivotsOfAnySizeDivideAsOthersDo) {
  LULAB_NEED_DEVICE();
  for (const auto& a : {from_rows<double>({{1.5e308, 1, 0}, {1.2e307, 3, 1}, {-7.5e307, 1, 4}}),
                        from_rows<double>({{1e-310, 1, 0}, {0, 1, 2}, {0, 1, 5}}),
                        from_rows<double>({{1e300, 1, 2}, {1e299, 1e-310, 0}, {3e300, 0, 5}}),
                        from_rows<double>({{1e-310, 1, 0}, {3e-310, 1, 2}, {0, 1, 5}})})
    for (const FrontSettings& settings : all_settings()) {
      const Analysis analysis = analysis_for(a);
      const auto expected = factor_with<double>(reference, analysis, a.values);
      LULAB_ASSERT_OK(expected);
      const auto factors = refactored<double>(analysis, settings, a.values, a.values);
      LULAB_ASSERT_OK(factors);
      ASSERT_EQ(factors->values.size(), expected->values.size());
      for (std::size_t p = 0; p < expected->values.size(); ++p)
        EXPECT_LE(std::abs(factors->values[p] - expected->values[p]), 1e-13 * std::abs(expected->values[p]));
    }
}

/// A diagonal of such sizes in a dense front of two tiles of pivots and one of others, so that tiles beside and below
/// the pivots divide by them.   The rest of column j is as large as the pivot, or zero where that is denormal.
template <class T>
CscMatrix<T> matrix_with_pivots(std::int32_t n, const std::vector<std::pair<std::int32_t, T>>& pivots) {
  auto a = random_unsymmetric<T>(n, 1.0, 2.0 * n, 17);
  for (const auto& [column, pivot] : pivots)
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p) {
        const std::int32_t i = a.row_idx[p];
        const T by = pivot / T(4 * n);
        if (i == column && j == column)
          a.values[p] = pivot;
        else if (j == column)
          a.values[p] = a.values[p] * by;
        else if (i == column && std::abs(pivot) > T(1))
          a.values[p] = a.values[p] / T(4 * n);
        else if (i == column)
          a.values[p] = T(0);
      }
  return a;
}

template <class T>
void expect_pivots_divide(T tiny, T huge) {
  const std::int32_t n = 75;
  const auto a = matrix_with_pivots<T>(n, {{3, tiny}, {17, huge}, {34, tiny}, {66, huge}});
  const Analysis analysis = with_panels(analysis_for(a.pattern()), 68);
  const auto cuts = cuts_of(analysis, merges_none);
  ASSERT_EQ(cuts.front().pivot_tiles, 2);
  ASSERT_EQ(cuts.front().tiles, 3);
  const auto expected = factor_with<T>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  FrontSettings settings = settings_with(merges_none);
  const auto factors = refactored<T>(analysis, settings, a.values, a.values);
  LULAB_ASSERT_OK(factors);
  // Of L: entries of any size, each as exact as it is large beside its pivot. Sums of at most n products, each rounded.
  const double eps = std::numeric_limits<T>::epsilon();
  const FilledPattern& f = analysis.filled;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t p = f.diag[j] + 1; p < f.col_ptr[j + 1]; ++p)
      ASSERT_LE(std::abs(double(factors->values[p]) - double(expected->values[p])), 100 * n * eps)
          << f.row_idx[p] << " " << j;
  for (const std::int32_t column : {3, 17, 34, 66}) {
    const std::int64_t p = f.diag[column];
    EXPECT_NE(factors->values[p], T(0));
    EXPECT_LE(std::abs(double(factors->values[p]) - double(expected->values[p])),
              1e-3 * std::abs(double(expected->values[p])));
  }
}

TEST(Multifrontal, PivotsOfAnySizeDivideInEveryTile) {
  LULAB_NEED_DEVICE();
  expect_pivots_divide<double>(1e-310, 1e300);
  if (simt::race_detection) return;
  expect_pivots_divide<float>(1e-39f, 1e37f);
}

// Small pivots are replaced and counted once each, though many tiles have the front's other rows; as 10 counts them.
TEST(Multifrontal, PerturbedPivotsAreCountedAsPanelsCountThem) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 40 : 75;
  auto a = random_unsymmetric<double>(n, 1.0, 2.0 * n, 9);
  for (std::int32_t j = 0; j < n; ++j)  // U(k,k), and L(:,k) · U(k,:) with it, stay tiny
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p)
      for (const std::int32_t k : {0, 18, n - 4})
        if (j == k || a.row_idx[p] == k) a.values[p] = k == 18 ? -1e-30 : 1e-30;
  double largest = 0;
  for (const double v : a.values) largest = std::max(largest, std::abs(v));
  const auto panels = supernode_panels.make<double>({.perturb_pivots = 1e-8});
  const Analysis of_panels = analysis_for(a.pattern());
  LULAB_ASSERT_OK(panels->analyze(of_panels));
  LULAB_ASSERT_OK(panels->upload(a.values));
  LULAB_ASSERT_OK(panels->factor());
  const auto expected = panels->download();
  LULAB_ASSERT_OK(expected);
  for (const bool whole : {false, true}) {
    const Analysis analysis = with_panels(analysis_for(a.pattern()), whole ? n : 30);
    FrontSettings settings = settings_with(merges_none);
    settings.perturb_pivots = 1e-8;
    auto f = factorizer_of<FrontBackend<double>>(settings);
    LULAB_ASSERT_OK(f.analyze(analysis));
    LULAB_ASSERT_OK(f.upload(a.values));
    LULAB_ASSERT_OK(f.factor());
    const auto factors = f.download();
    LULAB_ASSERT_OK(factors);
    EXPECT_EQ(factors->statistics.perturbed_pivots, 3);
    EXPECT_EQ(factors->statistics.perturbed_pivots, expected->statistics.perturbed_pivots);
    EXPECT_EQ(factors->values[0], 1e-8 * largest);
    expect_like(factors->values, expected->values, n);
    if (simt::race_detection) break;
  }
}

// Whatever fails first, no tile waits for one that never comes, and the error names the smallest failed column.
TEST(Multifrontal, LostPivotsAndOverflowKeepNobodyWaiting) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 40;
  const auto a = random_unsymmetric<double>(n, 0.1, 2.0 * n, 11);
  const Analysis analysis = analysis_for(a);
  const auto good = nearby_values(a, 12);
  const auto expected = factor_with<double>(reference, analysis, good);
  LULAB_ASSERT_OK(expected);
  for (const std::int32_t column : simt::race_detection ? std::vector{23} : std::vector{0, 7, 23, n - 1})
    for (const double bad : {0.0, 1e308, 1e-310})  // a column of zeros; entries that overflow, or nearly nothing
      for (const FrontSettings& settings : all_settings()) {
        SCOPED_TRACE(column);
        auto values = a.values;
        for (std::int64_t p = a.col_ptr[column]; p < a.col_ptr[column + 1]; ++p)
          values[p] = bad == 0 ? 0 : a.row_idx[p] == column ? std::min(bad, 1e-3) : std::max(bad, 1.0);
        const auto alone = factor_with<double>(reference, analysis, values);
        auto f = factorizer_of<FrontBackend<double>>(settings);
        LULAB_ASSERT_OK(f.analyze(analysis));
        LULAB_ASSERT_OK(f.upload(values));
        LULAB_ASSERT_OK(f.factor());
        EXPECT_EQ(f.wait().code, alone.status().code) << f.wait().to_string();
        EXPECT_EQ(f.wait().where.columns, alone.status().where.columns);
        LULAB_ASSERT_OK(f.upload(good));
        LULAB_ASSERT_OK(f.refactor());
        const auto again = f.download();
        LULAB_ASSERT_OK(again);
        expect_like(again->values, expected->values, n);
        if (simt::race_detection) break;
      }
}

// The same in a front of several tiles: of the pivots of two, below and beside them.
TEST(Multifrontal, LostPivotsOfATileAreNamed) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 75;
  const auto a = random_unsymmetric<double>(n, 1.0, 2.0 * n, 5);
  const Analysis analysis = with_panels(analysis_for(a.pattern()), 68);
  FrontSettings settings = settings_with(merges_none);
  for (const std::int32_t column : simt::instrumented ? std::vector{40} : std::vector{20, 40, 70})
    for (const double bad : {0.0, std::numeric_limits<double>::infinity()}) {
      SCOPED_TRACE(column);
      auto values = a.values;
      for (std::int64_t p = a.col_ptr[column]; p < a.col_ptr[column + 1]; ++p)
        if (bad == 0 || a.row_idx[p] == n - 2) values[p] = bad;
      auto f = factorizer_of<FrontBackend<double>>(settings);
      LULAB_ASSERT_OK(f.analyze(analysis));
      LULAB_ASSERT_OK(f.upload(values));
      LULAB_ASSERT_OK(f.factor());
      EXPECT_EQ(f.wait().code, StatusCode::needs_repivot) << f.wait().to_string();
      EXPECT_EQ(f.wait().where.columns, std::vector<std::int32_t>{column});
      EXPECT_EQ(f.download().status().code, StatusCode::needs_repivot);
      LULAB_ASSERT_OK(f.upload(a.values));
      LULAB_ASSERT_OK(f.refactor());
      const auto again = f.download();
      LULAB_ASSERT_OK(again);
      const auto expected = factor_with<double>(reference, analysis, a.values);
      LULAB_ASSERT_OK(expected);
      expect_like(again->values, expected->values, n);
    }
}

TEST(Multifrontal, APlanMayTakeAShareOfTheDeviceUnlessLessIsAskedFor) {
  constexpr std::int64_t least = 1000;
  EXPECT_EQ(always_allowed_bytes(4, least, 640'000), 10'000);
  EXPECT_EQ(always_allowed_bytes(100, least, 640'000), 10'000);
  EXPECT_EQ(always_allowed_bytes(3.9, least, 640'000), least);
  EXPECT_EQ(always_allowed_bytes(4, least, 6400), least);
  EXPECT_EQ(plan_bytes_allowed(4, 100, 8, 300, least), 4500);  // of L and U, less what is held
  EXPECT_EQ(plan_bytes_allowed(4, 10, 8, 300, least), 700);    // of what is always allowed
  EXPECT_EQ(plan_bytes_allowed(4, 10, 8, 2000, least), 0);
}

TEST(Multifrontal, FactorsAsPanelsDoWhereAPlanTakesTooMuchMemoryOrTooManyZeros) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(60, 0.1, 120, 4);
  const Analysis analysis = analysis_for(a);
  const auto expected = factor_with<double>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  std::vector<FrontSettings> all(3, settings_with({}));
  all[1].plan.max_bytes = 1000;
  all[2].plan.max_padding = 1;
  for (FrontSettings& settings : all) {
    settings.memory_ratio = 0;  // 128 MiB are allowed always
    auto f = factorizer_of<FrontBackend<double>>(settings);
    const auto& backend = dynamic_cast<FrontBackend<double>&>(f.backend());
    for (int time = 0; time < 2; ++time) {  // a second analysis starts anew
      LULAB_ASSERT_OK(f.analyze(analysis));
      EXPECT_EQ(backend.has_fallen_back(), &settings != &all[0]);
      LULAB_ASSERT_OK(f.upload(a.values));
      LULAB_ASSERT_OK(f.factor());
      LULAB_ASSERT_OK(f.refactor());
      const auto factors = f.download();
      LULAB_ASSERT_OK(factors);
      expect_like(factors->values, expected->values, 60);
      EXPECT_GT(f.statistics().peak_bytes, 0);
    }
  }
  auto negative = factorizer_of<FrontBackend<double>>(FrontSettings{.plan = {}, .memory_ratio = -1});
  EXPECT_EQ(negative.analyze(analysis).code, StatusCode::invalid_argument);
  const auto by_option = multifrontal.make<double>({.of_rung = {{"memory_ratio", -1}}});
  EXPECT_EQ(by_option->analyze(analysis).code, StatusCode::invalid_argument);
}

}  // namespace
}  // namespace lulab::sparse_syncfree
