// Faults known from public GLU code, each a test that the rungs here do not have it.

#include <cstdint>
#include <fstream>

#include "core/matrix/matrix_market.h"
#include "sparse_hybrid/03_adaptive_modes.h"
#include "sparse_hybrid/rungs.h"
#include "testing/fixed_pivots.h"
#include "testing/launch.h"

namespace lulab::sparse_hybrid {
namespace {

using testing::analysis_for;
using testing::analysis_with;
using testing::dense_factors;
using testing::expect_like;
using testing::factor_with;
using testing::from_rows;
using testing::matrix_that_fills_to;
using testing::nearby_values;
using testing::peng_tan_example;
using testing::random_plan;
using testing::random_unsymmetric;

constexpr std::array rungs = {&glu2, &glu3, &glu3_graph, &persistent};

/// Options of this stage, as far as a rung has them.
struct Options {
  int total_warps = 0, stream_columns = 0, dense_columns = 0;

  FactorOptions of(const Rung& rung) const {
    FactorOptions options;
    for (const auto& [name, value] :
         {std::pair{"total_warps", total_warps}, std::pair{"stream_columns", stream_columns},
          std::pair{"dense_columns", dense_columns}})
      if (std::ranges::count(rung.facts.options, name, &RungOption::name) > 0) options.of_rung[name] = value;
    return options;
  }
};

Status factor_and_refactor_like_reference(const Rung& rung, const CscMatrix<double>& a, const Analysis& analysis,
                                          const Options& options = {}) {
  const std::int32_t n = a.n_cols;
  const auto other = nearby_values(a, 8);
  const auto first = factor_with<double>(reference, analysis, a.values);
  const auto second = factor_with<double>(reference, analysis, other);
  LULAB_RETURN_IF_ERROR(first.status());
  LULAB_RETURN_IF_ERROR(second.status());
  const auto f = rung.make<double>(options.of(rung));
  LULAB_RETURN_IF_ERROR(f->analyze(analysis));
  LULAB_RETURN_IF_ERROR(f->upload(a.values));
  LULAB_RETURN_IF_ERROR(f->factor());
  LULAB_ASSIGN_OR_RETURN(const auto factored, f->download());
  expect_like(factored.values, first->values, n);
  LULAB_RETURN_IF_ERROR(f->upload(other));
  LULAB_RETURN_IF_ERROR(f->refactor());
  LULAB_ASSIGN_OR_RETURN(const auto refactored, f->download());
  expect_like(refactored.values, second->values, n);
  return {};
}

// (a) One triangle of a symmetric file taken for the whole matrix: published rows on G3_circuit are of half of it.
TEST(KnownFaults, OneTriangleOfASymmetricFileIsNotTheMatrix) {
  LULAB_NEED_DEVICE();
  const std::string path = ::testing::TempDir() + "lulab_hybrid_one_triangle.mtx";
  std::ofstream(path) << "%%MatrixMarket matrix coordinate real symmetric\n5 5 9\n1 1 9\n2 2 8\n3 3 7\n4 4 9\n5 5 8\n"
                         "4 1 -2\n3 2 1.5\n5 3 -1\n5 4 0.5\n";
  const auto file = read_matrix_market(path);
  LULAB_ASSERT_OK(file);
  std::remove(path.c_str());
  const CscMatrix<double> whole = from_rows<double>(
      {{9, 0, 0, -2, 0}, {0, 8, 1.5, 0, 0}, {0, 1.5, 7, 0, -1}, {-2, 0, 0, 9, 0.5}, {0, 0, -1, 0.5, 8}});
  ASSERT_EQ(file->matrix, whole);
  const Analysis analysis = analysis_for(file->matrix);
  for (const Rung* rung : rungs) {
    SCOPED_TRACE(rung->facts.id);
    const auto f = factor_with<double>(*rung, analysis, file->matrix.values);
    LULAB_ASSERT_OK(f);
    expect_like(f->values, dense_factors(whole, analysis), 5);
    EXPECT_LE(testing::lu_error(whole, *f), 30.0);
  }
}

// (b) Offsets of dense columns in 32 bits: wrong from 2^31 / n columns on.
constexpr std::int64_t million = 1'200'000;

__global__ void dense_column_offset_kernel(std::int64_t* offset) {
  // Never dereferenced; not null, because arithmetic on null is undefined.
  auto* const work = reinterpret_cast<double*>(std::uintptr_t{1} << 20);
  const std::int64_t index = 2000 + std::int64_t(threadIdx.x);
  offset[threadIdx.x] = static_cast<std::int64_t>(
      (reinterpret_cast<std::uintptr_t>(dense_column(work, index, million)) - reinterpret_cast<std::uintptr_t>(work)) /
      sizeof(double));
}

TEST(KnownFaults, DenseColumnsLieBeyond32Bits) {
  LULAB_NEED_DEVICE();
  const auto offsets = simt::output_of<std::int64_t>(dense_column_offset_kernel, {.grid = 1, .block = 1024}, 1024, {});
  LULAB_ASSERT_OK(offsets);
  for (std::int64_t t = 0; t < 1024; ++t) ASSERT_EQ((*offsets)[t], (2000 + t) * million);
  // What the callers pass is of 32 bits: a block's index, n.
  auto* const work = reinterpret_cast<float*>(std::uintptr_t{1} << 20);
  const unsigned index = 4000;
  const std::int32_t n = million;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(dense_column(work, index, n)) - reinterpret_cast<std::uintptr_t>(work),
            std::uintptr_t{4} * 4000 * 1'200'000);
}

TEST(KnownFaults, AMillionRowsTimesThousandsOfDenseColumnsGiveRightFactors) {
  LULAB_NEED_DEVICE();
  if (simt::machine() == simt::Machine::simulator) GTEST_SKIP() << "needs tens of gigabytes and a GPU's speed";
  const std::int32_t n = 1'100'000;
  const std::int64_t columns = (std::int64_t{1} << 31) / n + 10;
  const auto device = simt::device_properties();
  LULAB_ASSERT_OK(device);
  if (static_cast<std::int64_t>(device->memory_bytes / 4) < columns * n * 8)
    GTEST_SKIP() << "a quarter of the memory does not hold " << columns << " dense columns";
  // Pairs of columns: one level of all the first ones, which update one of all the second ones.
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    const std::int32_t i = j % 2 == 0 ? j + 1 : j - 1;
    for (const std::int32_t row : {std::min(i, j), std::max(i, j)}) {
      a.row_idx.push_back(row);
      a.values.push_back(row == j ? 4 + 0.25 * (j % 7) : 1 + 0.5 * (j % 3));
    }
    a.col_ptr.push_back(a.nnz());
  }
  const Analysis analysis = analysis_for(a);
  for (const Rung* rung : {&glu3, &glu3_graph})
    LULAB_ASSERT_OK(factor_and_refactor_like_reference(*rung, a, analysis, {.total_warps = 1, .stream_columns = -1}));
}

// (c) Fewer dense columns than the streams, or the blocks of a level, write to.
TEST(KnownFaults, FewerDenseColumnsThanStreamsOrBlocksOfALevelGiveRightFactors) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(48, 0.025, 60.0, 7);
  const Analysis analysis = analysis_with(a, random_plan(48, true, 3));
  std::int64_t widest = 0;
  const Schedule s = levels_right_looking(analysis.filled, DependencyRule::relaxed);
  for (std::int32_t l = 0; l < s.n_levels(); ++l) widest = std::max(widest, s.level_ptr[l + 1] - s.level_ptr[l]);
  ASSERT_GT(widest, stream_count);
  for (const int dense_columns : {0, 1, 3, 5}) {
    if (simt::race_detection && dense_columns != 3) continue;  // the same accesses, a minute each
    SCOPED_TRACE(dense_columns);
    LULAB_ASSERT_OK(factor_and_refactor_like_reference(glu2, a, analysis, {.dense_columns = dense_columns}));
    for (const int stream_columns : {-1, 2, 4, 1000})
      for (const Rung* rung : {&glu3, &glu3_graph}) {
        SCOPED_TRACE(std::string(rung->facts.id) + ", stream_columns " + std::to_string(stream_columns));
        LULAB_ASSERT_OK(factor_and_refactor_like_reference(
            *rung, a, analysis, {.stream_columns = stream_columns, .dense_columns = dense_columns}));
      }
  }
}

/// Two blocks that do not touch: even rows and columns, odd ones. Diagonally dominant.
CscMatrix<double> two_blocks(std::int32_t n) {
  const auto random = random_unsymmetric<double>(n, 0.3, 2.0 * n, 5);
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int64_t p = random.col_ptr[j]; p < random.col_ptr[j + 1]; ++p)
      if (random.row_idx[p] % 2 == j % 2) {
        a.row_idx.push_back(random.row_idx[p]);
        a.values.push_back(random.values[p]);
      }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// Values that ruin the block of A's column j, where j is eliminated first of its block: no pivot, or one so small that
/// L and then U overflow.
std::vector<double> ruined(const CscMatrix<double>& a, std::int32_t j, double pivot) {
  std::vector<double> values = a.values;
  for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p) values[p] = a.row_idx[p] == j ? pivot : 1e300;
  return values;
}

std::int32_t first_of_block(const Plan& plan, int block) {
  return *std::ranges::find_if(plan.q, [&](std::int32_t j) { return j % 2 == block; });
}

// (d) NaN that stays in dense columns, where the next column or the next refactorization reads it.
TEST(KnownFaults, WhatIsNotFiniteLeavesNothingBehind) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 32;
  const auto a = two_blocks(n);
  const Analysis analysis = analysis_with(a, random_plan(n, true, 9));
  const auto good = nearby_values(a, 8);
  const auto expected = factor_with<double>(reference, analysis, good);
  LULAB_ASSERT_OK(expected);
  const Options options[] = {{},
                             {.total_warps = -1, .stream_columns = -1},
                             {.stream_columns = 1000, .dense_columns = 2},
                             {.stream_columns = 2, .dense_columns = 3}};
  for (const Rung* rung : rungs)
    for (const Options& o : options) {
      if (rung == &persistent && &o != options) continue;                                 // it has no such options
      if (simt::race_detection && o.dense_columns != 3 && rung != &persistent) continue;  // as above
      SCOPED_TRACE(std::string(rung->facts.id) + ", stream_columns " + std::to_string(o.stream_columns));
      const auto f = rung->make<double>(o.of(*rung));
      LULAB_ASSERT_OK(f->analyze(analysis));
      LULAB_ASSERT_OK(f->upload(a.values));
      LULAB_ASSERT_OK(f->factor());
      LULAB_ASSERT_OK(f->wait());
      for (const int block : {0, 1})
        for (const double pivot : {0.0, 1e-300}) {
          const std::int32_t j = first_of_block(analysis.plan, block);
          LULAB_ASSERT_OK(f->upload(ruined(a, j, pivot)));
          LULAB_ASSERT_OK(f->refactor());
          const Status s = f->wait();
          EXPECT_EQ(s.code, StatusCode::needs_repivot) << s.to_string();
          EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{j}) << s.to_string();
          EXPECT_EQ(f->download().status().code, StatusCode::needs_repivot);
          LULAB_ASSERT_OK(f->upload(good));
          LULAB_ASSERT_OK(f->refactor());
          const auto again = f->download();
          LULAB_ASSERT_OK(again);
          expect_like(again->values, expected->values, n);
        }
    }
}

/// 03, and what it leaves in As when the Status bars download().
class ModesWithView final : public AdaptiveModesBackend<double> {
 public:
  using AdaptiveModesBackend<double>::AdaptiveModesBackend;

  Result<std::vector<double>> values() {
    std::vector<double> v(this->analysis().filled.nnz(), 0.0);
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(v.data(), this->view().values, 8 * v.size(), *this->stream()));
    LULAB_RETURN_IF_ERROR(this->stream()->wait());
    return v;
  }

 protected:
  Status prepare_rung() override { return this->prepare_modes(); }
  Status launch(const DeviceFactorsView<double>& f, simt::Stream& stream) override {
    return this->enqueue_levels(f, stream);
  }
};

TEST(KnownFaults, WhatIsNotFiniteInOneBlockDoesNotReachTheOther) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 32;
  const auto a = two_blocks(n);
  const Analysis analysis = analysis_with(a, random_plan(n, true, 9));
  const auto expected = factor_with<double>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  const FilledPattern& filled = analysis.filled;
  // one dense column: both blocks share it
  for (const Options& o : {Options{.stream_columns = -1, .dense_columns = 1},
                           Options{.total_warps = -1, .stream_columns = -1, .dense_columns = 1},
                           Options{.stream_columns = 1000, .dense_columns = 1}})
    for (const int block : {0, 1})
      for (const double pivot : {0.0, 1e-300}) {
        auto f = factorizer_of<ModesWithView>(o.of(glu3));
        LULAB_ASSERT_OK(f.analyze(analysis));
        LULAB_ASSERT_OK(f.upload(ruined(a, first_of_block(analysis.plan, block), pivot)));
        LULAB_ASSERT_OK(f.factor());
        EXPECT_EQ(f.wait().code, StatusCode::needs_repivot);
        const auto values = dynamic_cast<ModesWithView&>(f.backend()).values();
        LULAB_ASSERT_OK(values);
        std::vector<double> sound, sound_expected;
        int not_finite = 0;
        for (std::int32_t j = 0; j < n; ++j)
          for (std::int64_t p = filled.col_ptr[j]; p < filled.col_ptr[j + 1]; ++p)
            if (analysis.plan.q[j] % 2 != block) {
              sound.push_back((*values)[p]);
              sound_expected.push_back(expected->values[p]);
            } else {
              not_finite += !std::isfinite((*values)[p]);
            }
        expect_like(sound, sound_expected, n);
        EXPECT_GT(not_finite, 0);
      }
}

// U(1,3) = -L(1,0) · U(0,3) overflows, L(:,1) has row 2 alone: rows 3 and 4 of column 3 are none of its business,
// though the loop over column 3 reads them.
TEST(KnownFaults, AnInfinityInUReachesOnlyTheRowsOfL) {
  LULAB_NEED_DEVICE();
  auto a = from_rows<double>({{1, 0, 0, 2, 0}, {2, 4, 0, 0, 0}, {0, 1, 4, 0, 0}, {0, 0, 0, 4, 0}, {0, 0, 0, 1, 4}});
  for (double& v : a.values)
    if (v == 2) v = 1e300;
  const Analysis analysis = analysis_for(a);
  for (const Options& o : {Options{.stream_columns = -1}, Options{.total_warps = -1, .stream_columns = -1},
                           Options{.stream_columns = 1000}}) {
    auto f = factorizer_of<ModesWithView>(o.of(glu3));
    LULAB_ASSERT_OK(f.analyze(analysis));
    LULAB_ASSERT_OK(f.upload(a.values));
    LULAB_ASSERT_OK(f.factor());
    const Status s = f.wait();
    EXPECT_EQ(s.code, StatusCode::needs_repivot);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{3});
    const auto values = dynamic_cast<ModesWithView&>(f.backend()).values();
    LULAB_ASSERT_OK(values);
    const std::int64_t diag = analysis.filled.diag[3];
    EXPECT_FALSE(std::isfinite((*values)[diag - 1]));  // (2,3)
    EXPECT_EQ((*values)[diag], 4);
    EXPECT_EQ((*values)[diag + 1], 0.25);
  }
}

// (e) Division by a pivot without a check.
TEST(KnownFaults, AZeroPivotIsNamedInTheNumberingOfA) {
  LULAB_NEED_DEVICE();
  // Columns 0 and 1 are equal, so whichever is eliminated second loses its pivot, by elimination; 2 and 3 are sound.
  const auto twins = from_rows<double>({{2, 2, 0, 1}, {2, 2, 1, 0}, {1, 1, 5, 0}, {0, 0, 1, 4}});
  // Column 1 has neither L nor U.
  auto alone = from_rows<double>({{4, 0, 1}, {0, 1, 0}, {1, 0, 4}});
  alone.values[2] = 0;
  const struct {
    CscMatrix<double> a;
    Permutation order;
    std::int32_t failed;
  } cases[] = {{twins, {0, 1, 2, 3}, 1}, {twins, {1, 3, 0, 2}, 0}, {twins, {3, 2, 1, 0}, 0},
               {alone, {0, 1, 2}, 1},    {alone, {2, 0, 1}, 1},    {alone, {1, 2, 0}, 1}};
  for (const auto& [a, order, failed] : cases) {
    Plan plan = Plan::identity(a.n_cols);
    plan.p = plan.q = order;
    const Analysis analysis = analysis_with(a, plan);
    for (const Rung* rung : rungs) {
      const auto f = factor_with<double>(*rung, analysis, a.values);
      EXPECT_EQ(f.status().code, StatusCode::needs_repivot) << rung->facts.id;
      EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{failed}) << rung->facts.id;
    }
  }
}

// (f) Success reported where no kernel ever ran.
TEST(KnownFaults, WithoutAGpuThereIsNoSuccess) {
  if (simt::machine() == simt::Machine::simulator) GTEST_SKIP() << "a property of the GPU build";
  if (simt::device_properties().ok()) GTEST_SKIP() << "there is a GPU";
  const auto a = random_unsymmetric<double>(8, 0.3, 16.0, 1);
  const Analysis analysis = analysis_for(a);
  for (const Rung* rung : rungs) {
    const auto f = rung->make<double>();
    EXPECT_EQ(f->analyze(analysis).code, StatusCode::device_error) << rung->facts.id;
    EXPECT_FALSE(f->upload(a.values).ok()) << rung->facts.id;
    EXPECT_FALSE(f->factor().ok()) << rung->facts.id;
    EXPECT_FALSE(f->download().ok()) << rung->facts.id;
  }
}

/// Shapes that leave threads, warps and blocks without work.
std::vector<std::pair<std::string, CscMatrix<double>>> thin_shapes() {
  const auto keep = [](const CscMatrix<double>& a, auto kept) {
    CscMatrix<double> b;
    b.n_rows = b.n_cols = a.n_cols;
    for (std::int32_t j = 0; j < a.n_cols; ++j) {
      for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p)
        if (a.row_idx[p] == j || kept(a.row_idx[p], j)) {
          b.row_idx.push_back(a.row_idx[p]);
          b.values.push_back(a.values[p]);
        }
      b.col_ptr.push_back(b.nnz());
    }
    return b;
  };
  const std::int32_t n = 33;
  const auto some = random_unsymmetric<double>(n, 0.15, 2.0 * n, 3);
  return {{"nothing", CscMatrix<double>{}},
          {"one entry", from_rows<double>({{-3}})},
          {"a diagonal", keep(some, [](int, int) { return false; })},
          {"no L", keep(some, [](int i, int j) { return i < j; })},
          {"no U", keep(some, [](int i, int j) { return i > j; })},
          {"a last row and column",
           keep(random_unsymmetric<double>(n, 1.0, 2.0 * n, 4), [](int i, int j) { return i == n - 1 || j == n - 1; })},
          {"the paper's example", matrix_that_fills_to<double>(peng_tan_example(), 2)},
          {"33 sparse columns", random_unsymmetric<double>(n, 0.04, 2.0 * n, 5)},
          {"17 full columns", random_unsymmetric<double>(17, 1.0, 40.0, 6)}};
}

// (g) A barrier that some warps of a block do not reach, a warp that reads before its lanes have written.
TEST(KnownFaults, WarpsWithoutWorkReachEveryBarrierUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  for (const auto& [name, a] : thin_shapes()) {
    const Analysis analysis = analysis_for(a);
    for (const std::uint64_t seed : simt::schedule_seeds())
      for (const int resident : simt::resident_limits({0, 1})) {
        if (simt::race_detection && resident != static_cast<int>(seed % 2)) continue;
        const simt::SimulatorScope scope({.seed = seed, .resident_blocks = resident});
        for (const Rung* rung : rungs) {
          SCOPED_TRACE(name + ", seed " + std::to_string(seed) + ", resident " + std::to_string(resident) + ", " +
                       std::string(rung->facts.id));
          LULAB_ASSERT_OK(factor_and_refactor_like_reference(*rung, a, analysis));
        }
      }
  }
}

TEST(KnownFaults, EveryRungFactorsInSinglePrecision) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<float>(33, 0.06, 66.0, 3);
  const Analysis analysis = analysis_with(a, random_plan(33, true, 2));
  const auto expected = factor_with<float>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  for (const Rung* rung : rungs) {
    const auto f = factor_with<float>(*rung, analysis, a.values);
    LULAB_ASSERT_OK(f);
    SCOPED_TRACE(rung->facts.id);
    expect_like(f->values, expected->values, 33);
  }
}

TEST(HybridOptions, EveryModeGivesRightFactors) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 36 : 60;
  const auto a = random_unsymmetric<double>(n, 0.02, 2.0 * n, 17);
  const Analysis analysis = analysis_with(a, random_plan(n, true, 6));
  const Options options[] = {{},
                             {.stream_columns = -1},
                             {.total_warps = -1},
                             {.total_warps = -1, .stream_columns = -1},
                             {.total_warps = 1, .stream_columns = -1},
                             {.total_warps = 64, .stream_columns = 1},
                             {.total_warps = 1536, .stream_columns = 16},  // the paper's
                             {.stream_columns = 1000}};
  for (const Options& o : options)
    for (const Rung* rung : {&glu3, &glu3_graph}) {
      SCOPED_TRACE(std::string(rung->facts.id) + ", total_warps " + std::to_string(o.total_warps) +
                   ", stream_columns " + std::to_string(o.stream_columns));
      LULAB_ASSERT_OK(factor_and_refactor_like_reference(*rung, a, analysis, o));
    }
}

TEST(HybridOptions, LessThanNoDenseColumnsAreRefused) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(8, 0.3, 16.0, 1);
  const Analysis analysis = analysis_for(a);
  for (const Rung* rung : {&glu1_racy, &glu2, &glu3, &glu3_graph}) {
    const auto f = rung->make<double>({.of_rung = {{"dense_columns", -1}}});
    const Status s = f->analyze(analysis);
    EXPECT_EQ(s.code, StatusCode::invalid_argument) << rung->facts.id;
    EXPECT_TRUE(simt::contains(s.message, "dense_columns")) << s.message;
    EXPECT_FALSE(f->upload(a.values).ok()) << rung->facts.id;
  }
}

}  // namespace
}  // namespace lulab::sparse_hybrid
