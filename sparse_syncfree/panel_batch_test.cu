// Many matrices of one pattern: each gets the factors that it gets alone, and its own status.

#include <memory>

#include "core/factorizer.h"
#include "sparse_syncfree/10_panel_backend.h"
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

/// Bits of one system alone, of a batch that gathers (always) or never does.
std::vector<double> alone(const Batch& b, std::int32_t system, const PanelOptions& options) {
  Factorizer<double> f(std::make_unique<PanelBackend<double>>(options));
  EXPECT_TRUE(f.analyze(b.analysis).ok());
  EXPECT_TRUE(f.upload(b.of(system)).ok());
  EXPECT_TRUE(f.factor().ok());
  auto factors = f.download();
  EXPECT_TRUE(factors.ok()) << factors.status().to_string();
  return factors.ok() ? factors->values : std::vector<double>{};
}

TEST(PanelBatch, EverySystemHasTheBitsItHasAlone) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::schedule_seeds(simt::race_detection ? 1 : simt::instrumented ? 3 : 8)) {
    const Batch b = random_batch(20 + 5 * std::int32_t(seed), 1 + std::int32_t(seed % 5), seed);
    for (const PanelOptions& options :
         {PanelOptions{.small = -1}, PanelOptions{.small = -1, .systems_at_once = 2},
          PanelOptions{.always_search = true},
          PanelOptions{.relaxation = {8, 8, 1e9}, .max_scalars = 1024, .small = -1, .systems_at_once = 3},
          PanelOptions{.always_gather = true},
          PanelOptions{.max_scalars = 1024, .small = 20, .always_gather = true, .systems_at_once = 2}}) {
      SCOPED_TRACE(seed);
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
      Factorizer<double> f(std::make_unique<PanelBackend<double>>(options), supernode_panels.facts);
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
          EXPECT_EQ(factors->values, alone(b, s, options)) << "system " << s;
        }
      }
    }
  }
}

TEST(PanelBatch, OneSystemThatFailsLeavesTheOthersAlone) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 30, systems = 5;
  Batch b = random_batch(n, systems, 7);
  const std::size_t nnz = b.a.values.size();
  for (std::int64_t p = b.a.col_ptr[11]; p < b.a.col_ptr[12]; ++p) b.values[2 * nnz + p] = 0;
  b.values[4 * nnz + b.a.col_ptr[3]] = std::numeric_limits<double>::quiet_NaN();
  const PanelOptions options = {.small = -1};
  Factorizer<double> f(std::make_unique<PanelBackend<double>>(options), supernode_panels.facts);
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
    EXPECT_EQ(factors->values, alone(b, s, options)) << "system " << s;
  }
}

TEST(PanelBatch, CountsPerturbedPivotsOfEachSystem) {
  LULAB_NEED_DEVICE();
  const std::int32_t systems = 3;
  Batch b = random_batch(25, systems, 9);
  const std::size_t nnz = b.a.values.size();
  const std::int32_t first = b.analysis.plan.q[0];
  for (std::int64_t p = b.a.col_ptr[first]; p < b.a.col_ptr[first + 1]; ++p)
    if (b.a.row_idx[p] == first) b.values[nnz + p] = 0;
  Factorizer<double> f(std::make_unique<PanelBackend<double>>(PanelOptions{.perturb_pivots = 1e-8}),
                       supernode_panels.facts);
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

TEST(PanelBatch, CallsOutOfOrderAndWrongSizesAreErrors) {
  LULAB_NEED_DEVICE();
  const Batch b = random_batch(10, 2, 3);
  Factorizer<double> f(std::make_unique<PanelBackend<double>>(), supernode_panels.facts);
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

// As for one matrix: other orders of tasks, pauses, few blocks and many.
TEST(PanelBatch, InjectedDelaysChangeNothing) {
  LULAB_NEED_DEVICE();
  const bool gpu = simt::machine() == simt::Machine::gpu;
  const Batch b = random_batch(gpu ? 300 : 24, 4, 5);
  const int seeds = simt::race_detection ? 3 : simt::instrumented ? 10 : 40;
  for (const std::uint64_t seed : simt::schedule_seeds(gpu ? 200 : seeds)) {
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
    const std::int64_t grids[] = {0, 1, 7, gpu ? 20000 : 50};
    const bool gather = seed % 2 == 0;
    const PanelOptions options = {.small = gather ? 128 : -1, .always_gather = gather};
    PanelOptions with_delays = options;
    with_delays.blocks = grids[seed / 2 % std::size(grids)];
    with_delays.systems_at_once = std::int32_t(seed % 3);
    with_delays.seed = seed;
    Factorizer<double> f(std::make_unique<PanelBackend<double, true>>(with_delays), supernode_panels.facts);
    LULAB_ASSERT_OK(f.analyze(b.analysis, b.systems));
    LULAB_ASSERT_OK(f.upload(b.values));
    LULAB_ASSERT_OK(f.factor());
    for (std::int32_t s = 0; s < b.systems; ++s) {
      const auto factors = f.download(s);
      LULAB_ASSERT_OK(factors);
      ASSERT_EQ(factors->values, alone(b, s, options)) << "system " << s;
    }
  }
}

}  // namespace
}  // namespace lulab::sparse_syncfree
