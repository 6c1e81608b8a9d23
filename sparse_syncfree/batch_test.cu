// Many matrices of one pattern: each gets the factors that it gets alone, and its own status.

#include <memory>

#include "core/factorizer.h"
#include "sparse_syncfree/10_panel_backend.h"
#include "sparse_syncfree/11_fan_in_backend.h"
#include "sparse_syncfree/12_front_backend.h"
#include "sparse_syncfree/rungs.h"
#include "testing/device.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_syncfree {
namespace {

using testing::analysis_with;
using testing::factor_with;
using testing::nearby_values;
using testing::random_plan;
using testing::random_unsymmetric;

struct Batch {
  CscMatrix<double> a;
  Analysis analysis;
  std::int32_t systems;
  std::vector<double> values;  // (nnz(A), systems)

  std::span<const double> of(std::int32_t system) const {
    return std::span(values).subspan(a.values.size() * system, a.values.size());
  }
};

Batch random_batch(std::int32_t n, std::int32_t systems, std::uint64_t seed) {
  Batch b{random_unsymmetric<double>(n, 0.1, 2.0 * n, seed), {}, systems, {}};
  b.analysis = analysis_with(b.a, random_plan(n, true, seed));
  for (std::int32_t s = 0; s < systems; ++s)
    for (const double v : nearby_values(b.a, 1000 * seed + s)) b.values.push_back(v);
  return b;
}

struct Panels {
  using Settings = PanelOptions;
  template <bool inject_delays>
  using Backend = PanelBackend<double, inject_delays>;

  static const RungFacts& facts() { return supernode_panels.facts; }
  /// Of one system as of each of a batch: each gathers always or never.
  static std::vector<Settings> all() {
    return {{.small = -1},
            {.small = -1, .systems_at_once = 2},
            {.always_search = true},
            {.relaxation = {8, 8, 1e9}, .max_scalars = 1024, .small = -1, .systems_at_once = 3},
            {.small = 128, .always_gather = true},
            {.max_scalars = 1024, .small = 20, .always_gather = true, .systems_at_once = 2}};
  }
  static Settings of_one(const Settings& batch) { return batch; }
};

struct FanIn {
  using Settings = FanInSettings;
  template <bool inject_delays>
  using Backend = FanInBackend<double, inject_delays>;

  static const RungFacts& facts() { return fan_in.facts; }
  /// Sparse and dense chunks, split ones, several launches; tasks that a block brings one by one; larger blocks.
  static std::vector<Settings> all() {
    std::vector<Settings> all(5);
    for (Settings& s : all) {
      s.batch_plan = fan_in_batch_options();
      s.batch_plan.max_fronts = 1e9;
    }
    const auto small_chunks = [](FanInOptions& plan, std::int32_t columns) {
      plan.max_front = 32;
      plan.bottom_columns = plan.columns = plan.split_columns = columns;
      plan.max_products = 40;
      plan.packs = 3;
    };
    small_chunks(all[1].batch_plan, 8);
    all[1].systems_at_once = 2;
    small_chunks(all[2].batch_plan, 1);
    all[2].batch_plan.shared_bytes = 16 << 10;
    all[3].batch_plan.max_products = 0;
    all[3].systems_at_once = 3;
    all[4].batch_plan = {.max_front = 32, .columns = 8};
    return all;
  }
  static Settings of_one(Settings batch) {
    batch.plan = batch.batch_plan;
    return batch;
  }
};

struct Multifrontal {
  using Settings = FrontSettings;
  template <bool inject_delays>
  using Backend = FrontBackend<double, inject_delays>;

  static const RungFacts& facts() { return multifrontal.facts; }
  static std::vector<Settings> all() { return {{}}; }
  static Settings of_one(const Settings& batch) { return batch; }
};

template <class Rung>
class BatchOf : public ::testing::Test {
 protected:
  using Settings = typename Rung::Settings;

  template <bool inject_delays = false>
  static Factorizer<double> factorizer(const Settings& settings) {
    return Factorizer<double>(std::make_unique<typename Rung::template Backend<inject_delays>>(settings),
                              Rung::facts());
  }
  /// Bits of one system alone.
  static std::vector<double> alone(const Batch& b, std::int32_t system, const Settings& settings) {
    auto f = factorizer(Rung::of_one(settings));
    EXPECT_TRUE(f.analyze(b.analysis).ok());
    EXPECT_TRUE(f.upload(b.of(system)).ok());
    EXPECT_TRUE(f.factor().ok());
    auto factors = f.download();
    EXPECT_TRUE(factors.ok()) << factors.status().to_string();
    return factors.ok() ? factors->values : std::vector<double>{};
  }
};
using Rungs = ::testing::Types<Panels, FanIn, Multifrontal>;
TYPED_TEST_SUITE(BatchOf, Rungs);

TYPED_TEST(BatchOf, EverySystemHasTheBitsItHasAlone) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::schedule_seeds(simt::race_detection ? 1 : simt::instrumented ? 3 : 8)) {
    const Batch b = random_batch(20 + 5 * std::int32_t(seed), 2 + std::int32_t(seed % 4), seed);
    for (const auto& options : TypeParam::all()) {
      SCOPED_TRACE(seed);
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
      auto f = this->factorizer(options);
      LULAB_ASSERT_OK(f.analyze(b.analysis, b.systems));
      for (int again = 0; again < 2; ++again) {
        LULAB_ASSERT_OK(f.upload(b.values));
        LULAB_ASSERT_OK(f.factor());
        LULAB_ASSERT_OK(f.wait());
        ASSERT_EQ(std::ssize(f.statuses()), b.systems);
        for (std::int32_t s = 0; s < b.systems; ++s) {
          LULAB_ASSERT_OK(f.statuses()[s]);
          const auto factors = f.download(s);
          LULAB_ASSERT_OK(factors);
          EXPECT_EQ(factors->values, this->alone(b, s, options)) << "system " << s;
        }
      }
    }
  }
}

TYPED_TEST(BatchOf, OneSystemThatFailsLeavesTheOthersAlone) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 30, systems = 5;
  Batch b = random_batch(n, systems, 7);
  const std::size_t nnz = b.a.values.size();
  for (std::int64_t p = b.a.col_ptr[11]; p < b.a.col_ptr[12]; ++p) b.values[2 * nnz + p] = 0;
  b.values[4 * nnz + b.a.col_ptr[3]] = std::numeric_limits<double>::quiet_NaN();
  const auto options = TypeParam::all().front();
  auto f = this->factorizer(options);
  LULAB_ASSERT_OK(f.analyze(b.analysis, systems));
  LULAB_ASSERT_OK(f.upload(b.values));
  LULAB_ASSERT_OK(f.factor());
  EXPECT_EQ(f.wait().code, StatusCode::needs_repivot);
  ASSERT_EQ(std::ssize(f.statuses()), systems);
  const std::vector<Status> statuses(f.statuses().begin(), f.statuses().end());
  EXPECT_EQ(statuses[2].code, StatusCode::needs_repivot);
  EXPECT_EQ(statuses[2].where.columns, std::vector<std::int32_t>{11});
  EXPECT_EQ(statuses[4].code, StatusCode::needs_repivot);
  EXPECT_EQ(f.download(2).status().to_string(), statuses[2].to_string());
  EXPECT_EQ(f.download(5).status().code, StatusCode::invalid_argument);
  for (const std::int32_t s : {0, 1, 3}) {
    const auto factors = f.download(s);
    LULAB_ASSERT_OK(factors);
    EXPECT_EQ(factors->values, this->alone(b, s, options)) << "system " << s;
  }
}

TYPED_TEST(BatchOf, CountsPerturbedPivotsOfEachSystem) {
  LULAB_NEED_DEVICE();
  const std::int32_t systems = 3;
  Batch b = random_batch(25, systems, 9);
  const std::size_t nnz = b.a.values.size();
  const std::int32_t first = b.analysis.plan.q[0];
  for (std::int64_t p = b.a.col_ptr[first]; p < b.a.col_ptr[first + 1]; ++p)
    if (b.a.row_idx[p] == first) b.values[nnz + p] = 0;
  typename TestFixture::Settings options;
  options.perturb_pivots = 1e-8;
  auto f = this->factorizer(options);
  LULAB_ASSERT_OK(f.analyze(b.analysis, systems));
  LULAB_ASSERT_OK(f.upload(b.values));
  LULAB_ASSERT_OK(f.factor());
  LULAB_ASSERT_OK(f.wait());
  ASSERT_EQ(std::ssize(f.statuses()), systems);
  for (const Status& s : f.statuses()) LULAB_ASSERT_OK(s);
  EXPECT_EQ(f.statistics(0).perturbed_pivots, 0);
  EXPECT_EQ(f.statistics(1).perturbed_pivots, 1);
  EXPECT_EQ(f.statistics(2).perturbed_pivots, 0);
}

TYPED_TEST(BatchOf, CallsOutOfOrderAndWrongSizesAreErrors) {
  LULAB_NEED_DEVICE();
  const Batch b = random_batch(10, 2, 3);
  auto f = this->factorizer({});
  EXPECT_EQ(f.upload(b.values).code, StatusCode::invalid_argument);
  EXPECT_EQ(f.factor().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.wait().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.analyze(b.analysis, 0).code, StatusCode::invalid_argument);
  LULAB_ASSERT_OK(f.analyze(b.analysis, 2));
  EXPECT_EQ(f.factor().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.upload(b.of(0)).code, StatusCode::invalid_argument);
  LULAB_ASSERT_OK(f.upload(b.values));
  EXPECT_EQ(f.download(0).status().code, StatusCode::invalid_argument);
  LULAB_ASSERT_OK(f.factor());
  LULAB_ASSERT_OK(f.download(1));
  // Values that are not factored yet, or were refused: no factors of earlier ones.
  LULAB_ASSERT_OK(f.upload(b.values));
  EXPECT_EQ(f.wait().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.download(1).status().code, StatusCode::invalid_argument);
  LULAB_ASSERT_OK(f.factor());
  EXPECT_EQ(f.upload(b.of(0)).code, StatusCode::invalid_argument);
  EXPECT_EQ(f.wait().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.download(1).status().code, StatusCode::invalid_argument);
}

/// The factors of each system are those of the reference.
void expect_factored(Factorizer<double>& f, const Batch& b) {
  LULAB_ASSERT_OK(f.upload(b.values));
  LULAB_ASSERT_OK(f.factor());
  for (std::int32_t s = 0; s < b.systems; ++s) {
    const auto factors = f.download(s);
    const auto expected =
        factor_with<double>(reference, b.analysis, std::vector<double>(b.of(s).begin(), b.of(s).end()));
    LULAB_ASSERT_OK(factors);
    LULAB_ASSERT_OK(expected);
    testing::expect_like(factors->values, expected->values, b.a.n_cols);
  }
}

// Blocks of one system where small ones would split chunks into too many fronts, and panels where no plan has room.
TEST(BatchOfFanIn, FactorsByAnotherPlanWhereOneIsRefused) {
  LULAB_NEED_DEVICE();
  const Batch b = random_batch(40, 3, 8);
  for (const bool has_room : {true, false}) {
    FanInSettings settings;
    settings.batch_plan.max_fronts = 0;
    if (!has_room) settings.plan.max_bytes = 1000;
    Factorizer<double> f(std::make_unique<FanInBackend<double>>(settings), fan_in.facts);
    LULAB_ASSERT_OK(f.analyze(b.analysis, b.systems));
    const auto kinds = dynamic_cast<FanInBackend<double>&>(f.backend()).kinds();
    EXPECT_EQ(kinds.sparse + kinds.dense + kinds.split > 0, has_room);
    expect_factored(f, b);
  }
}

TEST(BatchOfMultifrontal, FactorsAsPanelsDoWhereAPlanTakesTooMuchMemory) {
  LULAB_NEED_DEVICE();
  const Batch b = random_batch(40, 3, 8);
  FrontSettings settings;
  settings.plan.max_bytes = 1000;
  Factorizer<double> f(std::make_unique<FrontBackend<double>>(settings), multifrontal.facts);
  LULAB_ASSERT_OK(f.analyze(b.analysis, b.systems));
  EXPECT_TRUE(dynamic_cast<FrontBackend<double>&>(f.backend()).has_fallen_back());
  expect_factored(f, b);
}

// As for one matrix: other orders of tasks, pauses, few blocks and many.
TYPED_TEST(BatchOf, InjectedDelaysChangeNothing) {
  LULAB_NEED_DEVICE();
  const bool gpu = simt::machine() == simt::Machine::gpu;
  const Batch b = random_batch(gpu ? 100 : 24, 4, 5);
  const int seeds = simt::race_detection ? 3 : simt::instrumented ? 10 : 40;
  for (const std::uint64_t seed : simt::schedule_seeds(gpu ? 200 : seeds)) {
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
    const std::int64_t grids[] = {0, 1, 7, gpu ? 20000 : 50};
    const auto all = TypeParam::all();
    const auto& options = all[seed % all.size()];
    auto with_delays = options;
    with_delays.blocks = grids[seed / 2 % std::size(grids)];
    if constexpr (requires { with_delays.systems_at_once; }) with_delays.systems_at_once = std::int32_t(seed % 3);
    with_delays.seed = seed;
    auto f = this->template factorizer<true>(with_delays);
    LULAB_ASSERT_OK(f.analyze(b.analysis, b.systems));
    LULAB_ASSERT_OK(f.upload(b.values));
    LULAB_ASSERT_OK(f.factor());
    for (std::int32_t s = 0; s < b.systems; ++s) {
      const auto factors = f.download(s);
      LULAB_ASSERT_OK(factors);
      ASSERT_EQ(factors->values, this->alone(b, s, options)) << "system " << s;
    }
  }
}

}  // namespace
}  // namespace lulab::sparse_syncfree
