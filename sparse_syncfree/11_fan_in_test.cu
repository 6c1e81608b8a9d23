// What is particular to 11_fan_in: chunks of every kind, the same bits every time, no thread that waits for ever.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/factors.h"
#include "core/matrix/generate.h"
#include "sparse_syncfree/11_fan_in_backend.h"
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

/// Of every kind of chunk some; fronts of one to four register tiles, and fronts that are split.
std::vector<FanInSettings> all_settings() {
  std::vector<FanInSettings> all(6);
  all[1].plan = {
      .max_front = 32, .bottom_columns = 8, .columns = 8, .split_columns = 8, .max_products = 40, .packs = 3};
  all[2].plan = {.max_front = 32, .bottom_columns = 1, .columns = 1, .split_columns = 1, .max_products = 0};
  for (const int s : {1, 2}) all[s].plan.stage_words = 1;
  all[3].plan = {.shared_bytes = 30 << 10, .max_front = 32, .max_entries = 100, .max_products = 500, .packs = 2};
  all[4].plan = {.bottom_columns = 20, .columns = 20, .split_columns = 20, .max_products = 0};
  all[5].plan = {.max_front = 64, .bottom_columns = 32, .columns = 32, .split_columns = 32, .max_products = 0};
  return all;
}

/// n_random: of them where nothing is watched   The others: of every kind.
auto patterns(int n_random) {
  auto all = testing::random_patterns(simt::instrumented ? 3 : n_random);
  for (auto& p : testing::generated_patterns(simt::race_detection ? 10 : simt::instrumented ? 12 : 28))
    all.push_back(std::move(p));
  return all;
}

/// Factors after a refactorization with other values.
template <class T, bool inject_delays = false>
Result<Factors<T>> refactored(const Analysis& analysis, const FanInSettings& settings, const std::vector<T>& first,
                              const std::vector<T>& second) {
  auto f = factorizer_of<FanInBackend<T, inject_delays>>(settings);
  LULAB_RETURN_IF_ERROR(f.analyze(analysis));
  LULAB_RETURN_IF_ERROR(f.upload(first));
  LULAB_RETURN_IF_ERROR(f.factor());
  LULAB_RETURN_IF_ERROR(f.upload(second));
  LULAB_RETURN_IF_ERROR(f.refactor());
  return f.download();
}

FanInBackend<double>::Kinds kinds_of(const Analysis& analysis, const FanInSettings& settings) {
  auto f = factorizer_of<FanInBackend<double>>(settings);
  EXPECT_TRUE(f.analyze(analysis).ok());
  return dynamic_cast<FanInBackend<double>&>(f.backend()).kinds();
}

TEST(FanIn, EveryPlanFactorsEveryPattern) {
  LULAB_NEED_DEVICE();
  std::uint64_t seed = 0;
  for (const auto& [name, filled, before] : patterns(10)) {
    const auto settings = all_settings();
    for (std::size_t s = simt::race_detection ? seed % 6 : 0; s < settings.size(); s += simt::race_detection ? 6 : 1) {
      SCOPED_TRACE(name);
      const auto a = matrix_that_fills_to<double>(filled, ++seed);
      const Analysis analysis = analysis_for(a.pattern());
      const auto other = nearby_values(a, seed);
      const auto expected = factor_with<double>(reference, analysis, other);
      LULAB_ASSERT_OK(expected);
      const auto factors = refactored<double>(analysis, settings[s], a.values, other);
      LULAB_ASSERT_OK(factors);
      expect_like(factors->values, expected->values, std::max(a.n_cols, 1));
      if (simt::instrumented || s % 2 == 1) continue;  // the same kernel
      const auto halves = convert<float>(a.view()).values;
      const auto in_float = refactored<float>(analysis, settings[s], halves, halves);
      const auto expected_in_float = factor_with<float>(reference, analysis, halves);
      LULAB_ASSERT_OK(in_float);
      LULAB_ASSERT_OK(expected_in_float);
      expect_like(in_float->values, expected_in_float->values, std::max(a.n_cols, 1));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Dense matrices around the sizes of blocks, pieces and fronts, as one chunk and as many; 60 columns are no whole
// number of blocks.
TEST(FanIn, FrontsOfEverySizeAreEliminated) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n :
       simt::race_detection ? std::vector{45} : std::vector{1, 7, 8, 9, 31, 32, 33, 64, 65, 83, 96, 127, 140}) {
    const auto a = random_unsymmetric<double>(n, 1.0, 2.0 * n, n);
    const Analysis analysis = analysis_for(a.pattern());
    const auto expected = factor_with<double>(reference, analysis, a.values);
    LULAB_ASSERT_OK(expected);
    for (const std::int32_t columns : {16, 60}) {
      SCOPED_TRACE(n);
      FanInSettings settings;
      settings.plan = {.bottom_columns = columns,
                       .columns = columns,
                       .split_columns = columns,
                       .max_entries = 50,
                       .max_products = 0};
      const auto kinds = kinds_of(analysis, settings);
      EXPECT_EQ(kinds.split > 0, n > 128);
      EXPECT_EQ(kinds.threads, fan_in_threads);
      const auto factors = refactored<double>(analysis, settings, a.values, a.values);
      LULAB_ASSERT_OK(factors);
      expect_like(factors->values, expected->values, n);
    }
  }
}

/// b in device memory as refactor_with() takes it: P R b and the bits of its largest entry.
struct RightSideOnDevice {
  simt::DeviceBuffer<double> scaled;
  simt::DeviceBuffer<unsigned long long> largest;

  Status put(const Plan& plan, const std::vector<double>& b, simt::Stream& stream) {
    std::vector<double> values(b.size());
    double most = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      values[i] = plan.r[plan.p[i]] * b[plan.p[i]];
      if (!(std::abs(values[i]) <= most)) most = std::abs(values[i]);  // NaN stays
    }
    LULAB_RETURN_IF_ERROR(simt::make(scaled, values, stream));
    LULAB_RETURN_IF_ERROR(simt::make(largest, std::vector{std::bit_cast<unsigned long long>(most)}, stream));
    return stream.wait();
  }
  RightSide view() const { return {scaled.data(), largest.data()}; }
};

/// L⁻¹ P R b, b brought to size 1 by a power of two, one entry after the other.
template <class T>
std::vector<double> forward_solution(const Factors<T>& f, const std::vector<double>& b) {
  std::vector<double> y(b.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = f.plan.r[f.plan.p[i]] * b[f.plan.p[i]];
  int exponent = 0;
  (void)std::frexp(max_abs(std::span<const double>(y)), &exponent);
  for (double& v : y) v = std::ldexp(v, -exponent);
  for (std::int32_t j = 0; j < f.filled.n; ++j)
    for (std::int64_t k = f.filled.diag[j] + 1; k < f.filled.col_ptr[j + 1]; ++k)
      y[f.filled.row_idx[k]] -= double(f.values[k]) * y[j];
  return y;
}

template <class T>
void expect_carried(const Analysis& analysis, const FanInSettings& settings, const std::vector<T>& first,
                    const std::vector<T>& second, std::uint64_t seed) {
  const std::int32_t n = analysis.filled.n;
  if (n == 0) return;
  auto f = factorizer_of<FanInBackend<T>>(settings);
  LULAB_ASSERT_OK(f.analyze(analysis));
  LULAB_ASSERT_OK(f.upload(first));
  LULAB_ASSERT_OK(f.factor());
  LULAB_ASSERT_OK(f.wait());
  LULAB_ASSERT_OK(f.prepare_right_side());
  LULAB_ASSERT_OK(f.prepare_right_side());  // again
  const auto kept = f.download();
  LULAB_ASSERT_OK(kept);
  expect_like(kept->values, factor_with<T>(reference, analysis, first)->values, n);
  const double eps = std::numeric_limits<T>::epsilon();
  for (const double size : {1.0, 1e-290, 1e290}) {  // in between without b
    LULAB_ASSERT_OK(f.refactor());
    LULAB_ASSERT_OK(f.wait());
    auto b = random_vector(n, ++seed);
    for (double& v : b) v *= size;
    RightSideOnDevice right_side;
    LULAB_ASSERT_OK(right_side.put(analysis.plan, b, *f.stream()));
    LULAB_ASSERT_OK(f.upload(size == 1 ? second : first));
    LULAB_ASSERT_OK(f.refactor_with(right_side.view()));
    const auto factors = f.download();
    LULAB_ASSERT_OK(factors);
    const auto expected = factor_with<T>(reference, analysis, size == 1 ? second : first);
    expect_like(factors->values, expected->values, n);
    std::vector<T> y(n, std::numeric_limits<T>::quiet_NaN());
    ASSERT_NE(f.device_arrays().y, nullptr);
    LULAB_ASSERT_OK(simt::copy_to_host(y.data(), f.device_arrays().y, n * sizeof(T), *f.stream()));
    LULAB_ASSERT_OK(f.stream()->wait());
    const std::vector<double> of_host = forward_solution(*expected, b);
    const double bound = 1e3 * n * eps * std::max(1.0, max_abs(std::span<const double>(of_host)));
    for (std::int32_t i = 0; i < n; ++i) ASSERT_TRUE(std::abs(double(y[i]) - of_host[i]) <= bound) << i << ", " << size;
  }
}

TEST(FanIn, CarriesARightSideAlong) {
  LULAB_NEED_DEVICE();
  std::uint64_t seed = 300;
  for (const auto& [name, filled, before] : patterns(8)) {
    const auto settings = all_settings();
    ++seed;
    for (std::size_t s = seed % 3; s < settings.size(); s += simt::instrumented ? 6 : 3) {
      SCOPED_TRACE(name);
      const auto a = matrix_that_fills_to<double>(filled, ++seed);
      Analysis analysis = analysis_for(a.pattern());
      for (std::size_t i = 0; i < analysis.plan.r.size(); ++i) analysis.plan.r[i] = std::ldexp(1.0, int(i % 5) - 2);
      expect_carried<double>(analysis, settings[s], a.values, nearby_values(a, seed), seed);
      if (simt::instrumented || ::testing::Test::HasFailure()) continue;
      const auto halves = convert<float>(a.view()).values;
      expect_carried<float>(analysis, settings[s], halves, halves, seed);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(FanIn, ARightSideThatIsNotFiniteLeavesTheFactorsAlone) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(30, 0.2, 60.0, 8);
  const Analysis analysis = analysis_for(a);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto f = factorizer_of<FanInBackend<double>>(all_settings()[1]);
    LULAB_ASSERT_OK(f.analyze(analysis));
    LULAB_ASSERT_OK(f.upload(a.values));
    LULAB_ASSERT_OK(f.factor());
    LULAB_ASSERT_OK(f.wait());
    LULAB_ASSERT_OK(f.prepare_right_side());
    RightSideOnDevice right_side;
    LULAB_ASSERT_OK(right_side.put(analysis.plan, std::vector<double>(30, bad), *f.stream()));
    LULAB_ASSERT_OK(f.refactor_with(right_side.view()));
    const auto factors = f.download();
    LULAB_ASSERT_OK(factors);
    expect_like(factors->values, factor_with<double>(reference, analysis, a.values)->values, 30);
    LULAB_ASSERT_OK(f.refactor());  // nothing is left of it
    LULAB_ASSERT_OK(f.wait());
    auto singular = a.values;
    std::fill(singular.begin(), singular.begin() + a.col_ptr[1], 0.0);
    LULAB_ASSERT_OK(f.upload(singular));
    LULAB_ASSERT_OK(f.refactor_with(right_side.view()));
    EXPECT_EQ(f.wait().code, StatusCode::needs_repivot);
  }
}

TEST(FanIn, CarriesNoRightSideWhereItCannot) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(30, 0.2, 60.0, 8);
  const Analysis analysis = analysis_for(a);
  const auto prepared = [&](Factorizer<double>& f, std::int32_t systems) {
    EXPECT_TRUE(f.analyze(analysis, systems).ok());
    return f.prepare_right_side().code;
  };
  FanInSettings by_panels;
  by_panels.plan.max_bytes = 0;
  auto panels = factorizer_of<FanInBackend<double>>(by_panels), fan_in_alone = factorizer_of<FanInBackend<double>>();
  EXPECT_EQ(prepared(panels, 1), StatusCode::not_implemented);
  EXPECT_EQ(prepared(fan_in_alone, 2), StatusCode::not_implemented);
  EXPECT_EQ(prepared(*fan_in.make<double>({.perturb_pivots = 1e-8}), 1), StatusCode::not_implemented);
  EXPECT_EQ(prepared(*reference.make<double>({}), 1), StatusCode::not_implemented);
  EXPECT_EQ(prepared(fan_in_alone, 1), StatusCode::ok);
  Factorizer<double> not_analyzed = factorizer_of<FanInBackend<double>>();
  EXPECT_EQ(not_analyzed.prepare_right_side().code, StatusCode::invalid_argument);
  EXPECT_EQ(not_analyzed.refactor_with({}).code, StatusCode::invalid_argument);
}

// A task and its X fill the memory of a block: the next one lies over them, and not all of its tables are on chip.
TEST(FanIn, TasksThatFillTheMemoryAreBroughtOneByOne) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 44 : 90;
  const auto a = random_unsymmetric<double>(n, 1.0, 2.0 * n, 3);
  const Analysis analysis = analysis_for(a.pattern());
  const auto expected = factor_with<double>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  FanInSettings settings;
  settings.plan = {.shared_bytes = 16 << 10, .max_front = 32, .columns = 8, .split_columns = 8, .max_products = 0};
  settings.blocks = 2;
  for (const std::uint64_t seed : simt::schedule_seeds(3)) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto factors = refactored<double>(analysis, settings, a.values, a.values);
    LULAB_ASSERT_OK(factors);
    expect_like(factors->values, expected->values, n);
  }
}

// Each launch empties the words of the one before: five in a row find those that are left full.
TEST(FanIn, EveryRefactorizationSeesItsOwnValues) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 20 : 40;
  const auto a = random_unsymmetric<double>(n, 0.2, 2.0 * n, 21);
  const Analysis analysis = analysis_for(a);
  const auto settings = all_settings();
  for (std::size_t s = 0; s < settings.size(); s += simt::race_detection ? 3 : 1) {
    auto f = factorizer_of<FanInBackend<double>>(settings[s]);
    LULAB_ASSERT_OK(f.analyze(analysis));
    for (const std::uint64_t time : {1, 2, 3, 4, 5}) {
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

TEST(FanIn, RepeatsBitByBit) {
  LULAB_NEED_DEVICE();
  const auto generated = generate("power_grid", {.n = simt::race_detection ? 24 : 100});
  const auto a = matrix_that_fills_to<double>(testing::analyze_ordered(*generated, {.order = Order::metis})->filled, 5);
  const Analysis analysis = analysis_for(a.pattern());
  for (const FanInSettings& settings : all_settings()) {
    if (simt::race_detection && settings.plan.max_front != 32) continue;
    std::vector<double> first;
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      if (simt::instrumented && seed > 2) break;
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 3)});
      const auto factors = refactored<double>(analysis, settings, a.values, a.values);
      LULAB_ASSERT_OK(factors);
      if (first.empty()) first = factors->values;
      EXPECT_EQ(factors->values, first);
    }
  }
}

// Blocks start in another order, one to many of them are alive, threads are switched more or less often. No block
// waits for one that has not started: tickets see to that.
TEST(FanIn, EqualsTheReferenceUnderManySchedules) {
  LULAB_NEED_SIMULATOR();
  const auto settings = all_settings();
  for (const std::uint64_t seed : simt::schedule_seeds(simt::race_detection ? 8 : simt::instrumented ? 24 : 200)) {
    const auto n = static_cast<std::int32_t>(1 + seed * 7 % 29);
    const auto a = random_unsymmetric<double>(n, 0.03 * double(1 + seed % 9), 2.0 * n, seed);
    const Analysis analysis = analysis_with(a, random_plan(n, true, seed));
    const auto expected = factor_with<double>(reference, analysis, a.values);
    LULAB_ASSERT_OK(expected);
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 5)});
    const auto factors = refactored<double>(analysis, settings[seed % settings.size()], a.values, a.values);
    LULAB_ASSERT_OK(factors);
    expect_like(factors->values, expected->values, n);
    if (HasFailure()) return;
  }
}

// Blocks that pause between tasks, fewer blocks than are resident and many more. The bits are those of the first time;
// a launch that never ends is ended by the test's time limit.
TEST(FanIn, InjectedDelaysChangeNothing) {
  LULAB_NEED_DEVICE();
  const bool gpu = simt::machine() == simt::Machine::gpu;
  const auto generated = generate("power_grid", {.n = gpu ? 2000 : 60});
  ASSERT_TRUE(generated.ok());
  const auto analysis = testing::analyze_ordered(*generated, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  std::vector<double> first;
  for (const std::uint64_t seed : simt::schedule_seeds(gpu                    ? 200
                                                       : simt::race_detection ? 3
                                                       : simt::instrumented   ? 6
                                                                              : 60)) {
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
    const std::int64_t grids[] = {0, 1, 7, gpu ? 2000 : 30};
    FanInSettings settings;
    settings.plan.max_front = gpu ? 64 : 32;
    settings.plan.columns = settings.plan.bottom_columns = 8;
    settings.plan.packs = gpu ? 60 : 6;
    settings.blocks = grids[seed % std::size(grids)];
    settings.seed = seed;
    const auto factors = refactored<double, true>(*analysis, settings, generated->values, generated->values);
    LULAB_ASSERT_OK(factors);
    if (first.empty()) first = factors->values;
    ASSERT_EQ(factors->values, first);
  }
  const auto expected = factor_with<double>(reference, *analysis, generated->values);
  LULAB_ASSERT_OK(expected);
  expect_like(first, expected->values, generated->n_cols);
}

// Inverses of such pivots are not normal: zero by a GPU's quick reciprocal, or infinite.
TEST(FanIn, PivotsOfAnySizeDivideAsOthersDo) {
  LULAB_NEED_DEVICE();
  for (const auto& a : {from_rows<double>({{1.5e308, 1, 0}, {1.2e307, 3, 1}, {-7.5e307, 1, 4}}),
                        from_rows<double>({{1e-310, 1, 0}, {0, 1, 2}, {0, 1, 5}}),
                        from_rows<double>({{1e-310, 1, 0}, {3e-310, 1, 2}, {0, 1, 5}})})
    for (const std::int32_t products : {0, 12000}) {
      const Analysis analysis = analysis_for(a);
      const auto expected = factor_with<double>(reference, analysis, a.values);
      LULAB_ASSERT_OK(expected);
      FanInSettings settings;
      settings.plan.max_products = products;
      const auto factors = refactored<double>(analysis, settings, a.values, a.values);
      LULAB_ASSERT_OK(factors);
      ASSERT_EQ(factors->values.size(), expected->values.size());
      for (std::size_t p = 0; p < expected->values.size(); ++p)
        EXPECT_LE(std::abs(factors->values[p] - expected->values[p]), 1e-13 * std::abs(expected->values[p]));
    }
}

// Small pivots are replaced and counted once each, though every part of a split front has them.
TEST(FanIn, PerturbedPivotsAreCountedOnce) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 50;
  auto a = random_unsymmetric<double>(n, 1.0, 2.0 * n, 9);
  for (std::int32_t j = 0; j < n; ++j)  // U(0,0), and L(:,0) · U(0,:) with it, stay tiny
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p)
      if (j == 0 || a.row_idx[p] == 0) a.values[p] = 1e-30;
  const Analysis analysis = analysis_for(a.pattern());
  for (FanInSettings settings : all_settings()) {
    if (simt::race_detection && settings.plan.max_front != 64) continue;
    settings.perturb_pivots = 1e-8;
    auto f = factorizer_of<FanInBackend<double>>(settings);
    LULAB_ASSERT_OK(f.analyze(analysis));
    LULAB_ASSERT_OK(f.upload(a.values));
    LULAB_ASSERT_OK(f.factor());
    const auto factors = f.download();
    LULAB_ASSERT_OK(factors);
    EXPECT_EQ(factors->statistics.perturbed_pivots, 1);
    double largest = 0;
    for (const double v : a.values) largest = std::max(largest, std::abs(v));
    EXPECT_EQ(factors->values[0], 1e-8 * largest);
  }
}

// Whatever fails first, no thread waits for a value that never comes, and the error names the smallest failed column.
TEST(FanIn, LostPivotsAndOverflowKeepNobodyWaiting) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 40;
  const auto a = random_unsymmetric<double>(n, 0.1, 2.0 * n, 11);
  const Analysis analysis = analysis_for(a);
  const auto good = nearby_values(a, 12);
  const auto expected = factor_with<double>(reference, analysis, good);
  LULAB_ASSERT_OK(expected);
  for (const std::int32_t column : simt::instrumented ? std::vector{23} : std::vector{0, 7, 23, n - 1})
    for (const double bad : {0.0, 1e308, 1e-310})  // a column of zeros; entries that overflow, or nearly nothing
      for (const FanInSettings& settings : all_settings()) {
        SCOPED_TRACE(column);
        auto values = a.values;
        for (std::int64_t p = a.col_ptr[column]; p < a.col_ptr[column + 1]; ++p)
          values[p] = bad == 0 ? 0 : a.row_idx[p] == column ? std::min(bad, 1e-3) : std::max(bad, 1.0);
        const auto alone = factor_with<double>(reference, analysis, values);
        auto f = factorizer_of<FanInBackend<double>>(settings);
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

// A pivot at each place in a block is lost, perturbed or very small; the last block of the front has five of eight.
TEST(FanIn, PivotsOfAnySizeAreFoundWhereverTheyStandInABlock) {
  LULAB_NEED_DEVICE();
  constexpr std::int32_t n = 29, pivots = 21;
  const auto good = random_unsymmetric<double>(n, 1.0, 2.0 * n, 12);
  const Analysis analysis = analysis_for(good.pattern());
  for (const std::int32_t k : {0, 3, 7, 8, 13, 16, 20}) {
    if (simt::race_detection && k % 8 != 7 && k != 20) continue;
    SCOPED_TRACE(k);
    auto a = good;  // column k has no other rows than k: its pivot is its entry
    std::int64_t diagonal = 0;
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p) {
        if (j == k && a.row_idx[p] != k) a.values[p] = 0;
        if (j == k && a.row_idx[p] == k) diagonal = p;
      }
    FanInSettings settings;
    settings.plan = {.bottom_columns = pivots, .columns = pivots, .split_columns = pivots, .max_products = 0};
    settings.perturb_pivots = 1e-8;
    for (const double pivot : {0.0, 1e-310, 1e-12}) {
      a.values[diagonal] = pivot;
      auto f = factorizer_of<FanInBackend<double>>(settings);
      LULAB_ASSERT_OK(f.analyze(analysis));
      LULAB_ASSERT_OK(f.upload(a.values));
      LULAB_ASSERT_OK(f.factor());
      LULAB_ASSERT_OK(f.wait());
      EXPECT_EQ(f.statistics().perturbed_pivots, 1) << pivot;
    }
    settings.perturb_pivots = 0;
    a.values[diagonal] = 1e-310;
    const auto small = refactored<double>(analysis, settings, good.values, a.values);
    const auto expected = factor_with<double>(reference, analysis, a.values);
    LULAB_ASSERT_OK(small);
    LULAB_ASSERT_OK(expected);
    expect_like(small->values, expected->values, n);
  }
}

TEST(FanIn, BlocksAreSmallWhereFewChunksAreDense) {
  LULAB_NEED_DEVICE();
  const auto threads_for = [](const CscMatrix<double>& a, const auto& settings) {
    auto f = factorizer_of<FanInBackend<double>>(settings);
    EXPECT_TRUE(f.analyze(analysis_for(a)).ok());
    return dynamic_cast<FanInBackend<double>&>(f.backend()).kinds().threads;
  };
  const auto dense = random_unsymmetric<double>(90, 1.0, 180.0, 3);
  const auto sparse = random_unsymmetric<double>(300, 0.002, 600.0, 5);
  EXPECT_EQ(threads_for(dense, FactorOptions{}), fan_in_threads);
  EXPECT_EQ(threads_for(sparse, FactorOptions{}), fan_in_batch_threads);
  EXPECT_EQ(threads_for(sparse, FanInSettings{}), fan_in_threads);
}

TEST(FanIn, FactorsAsPanelsDoWhereAPlanTakesTooMuchMemory) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(60, 0.1, 120, 4);
  const Analysis analysis = analysis_for(a);
  FanInSettings settings;
  settings.plan.max_bytes = 1000;
  const auto chunks = [&](const FanInSettings& with) {
    const auto kinds = kinds_of(analysis, with);
    return kinds.sparse + kinds.dense + kinds.split;
  };
  EXPECT_EQ(chunks(settings), 0);
  EXPECT_GT(chunks({}), 0);
  const auto factors = refactored<double>(analysis, settings, a.values, a.values);
  const auto expected = factor_with<double>(reference, analysis, a.values);
  LULAB_ASSERT_OK(factors);
  LULAB_ASSERT_OK(expected);
  expect_like(factors->values, expected->values, 60);
  auto negative = factorizer_of<FanInBackend<double>>(FanInSettings{.plan = {}, .memory_ratio = -1});
  EXPECT_EQ(negative.analyze(analysis).code, StatusCode::invalid_argument);
}

}  // namespace
}  // namespace lulab::sparse_syncfree
