// SFLU ends whatever blocks are alive and repeats the reference bit by bit; each thing that its protocol asks for is
// missed when it is not there.

#include "sparse_syncfree/01_sflu_kernel.h"

#include "sparse_syncfree/rungs.h"
#include "symbolic/levels.h"
#include "testing/fixed_pivots.h"
#include "testing/launch.h"

namespace lulab::sparse_syncfree {
namespace {

using testing::analysis_for;
using testing::analysis_with;
using testing::expect_like;
using testing::factor_with;
using testing::from_rows;
using testing::nearby_values;
using testing::random_plan;
using testing::random_unsymmetric;
using testing::unlike;

/// Entries where kept(i, j, random), of random size; diagonally dominant.
template <class Kept>
CscMatrix<double> matrix_with(std::int32_t n, std::uint64_t seed, Kept kept) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> size(0.5, 1.5);
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      if (i != j && !kept(i, j, random)) continue;
      const double sign = random() % 2 ? 1 : -1;
      a.row_idx.push_back(i);
      a.values.push_back(sign * size(random) * (i == j ? 2.0 + n : 1.0));
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// Column j needs column j - 1 and nothing else.
CscMatrix<double> chain(std::int32_t n) {
  return matrix_with(n, 1, [](int i, int j, auto&) { return std::abs(i - j) == 1; });
}

/// The kinds of small matrices of the stress test, none with a symmetric pattern but the arrows.
constexpr const char* kinds[] = {"sparse", "half full",   "full",         "chain and some",
                                 "no U",   "arrow first", "long columns", "two blocks"};
CscMatrix<double> matrix_of_kind(std::size_t kind, std::int32_t n, std::uint64_t seed) {
  return matrix_with(n, seed, [&](int i, int j, auto& random) {
    const auto one_in = [&](std::uint64_t m) { return random() % m == 0; };
    switch (kind) {
      case 0: return one_in(6);
      case 1: return one_in(2);
      case 2: return true;
      case 3: return i == j + 1 || (i + 1 == j && !one_in(4)) || one_in(12);
      case 4: return i > j && one_in(3);
      case 5: return i == 0 || j == 0 || one_in(16);
      case 6: return j % 5 == 4 || (i % 7 == 0 && one_in(2));
      default: return i % 2 == j % 2 && one_in(3);
    }
  });
}

/// Bit by bit in the simulator; a GPU multiplies and adds in one rounding.
void expect_equal_factors(const std::vector<double>& values, const std::vector<double>& expected, std::int32_t n) {
  expect_like(values, expected, n);
  if (simt::machine() == simt::Machine::simulator) {
    EXPECT_EQ(values, expected);
  }
}

template <class Keeps = Protocol>
Result<Factors<double>> factor_by(const Analysis& analysis, std::span<const double> values) {
  auto f = factorizer_of<SfluBackend<double, Keeps>>();
  LULAB_RETURN_IF_ERROR(f.analyze(analysis));
  LULAB_RETURN_IF_ERROR(f.upload(values));
  LULAB_RETURN_IF_ERROR(f.factor());
  return f.download();
}

TEST(SyncFreeSflu, EqualsTheReferenceWithAnyResidency) {
  LULAB_NEED_DEVICE();
  const CscMatrix<double> matrices[] = {chain(24), random_unsymmetric<double>(70, 0.02, 140.0, 7),
                                        random_unsymmetric<double>(40, 0.2, 80.0, 9)};
  for (const auto& a : matrices) {
    const Analysis analysis = analysis_with(a, random_plan(a.n_cols, true, 3));
    const auto other = nearby_values(a, 8);
    const auto expected = factor_with<double>(reference, analysis, other);
    LULAB_ASSERT_OK(expected);
    for (const std::uint64_t seed : simt::schedule_seeds())
      for (const int resident : simt::resident_limits({0, 1 + int(seed % 2)})) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", resident " + std::to_string(resident));
        const simt::SimulatorScope scope({.seed = seed, .resident_blocks = resident});
        const auto f = sflu.make<double>();
        LULAB_ASSERT_OK(f->analyze(analysis));
        LULAB_ASSERT_OK(f->upload(a.values));
        LULAB_ASSERT_OK(f->factor());
        LULAB_ASSERT_OK(f->wait());
        LULAB_ASSERT_OK(f->upload(other));
        LULAB_ASSERT_OK(f->refactor());
        const auto again = f->download();
        LULAB_ASSERT_OK(again);
        expect_equal_factors(again->values, expected->values, a.n_cols);
      }
  }
}

TEST(SyncFreeSflu, SeveralWarpsShareTheEntriesOfLongColumns) {
  LULAB_NEED_DEVICE();
  std::vector sizes = {60, 130, 300};
  if (simt::instrumented) sizes.resize(simt::race_detection ? 1 : 2);
  for (const std::int32_t n : sizes) {
    const auto a = random_unsymmetric<double>(n, 1.0, 2.0 * n, n);
    const Analysis analysis = analysis_for(a);
    ASSERT_GT(mean_update(analysis.filled), 32) << "one warp would do";
    const auto expected = factor_with<double>(reference, analysis, a.values);
    const auto f = factor_by(analysis, a.values);
    LULAB_ASSERT_OK(expected);
    LULAB_ASSERT_OK(f);
    expect_equal_factors(f->values, expected->values, n);
  }
}

// Two thousand matrices, each under two schedules of its own: blocks start in another order, fewer or more of them are
// alive, threads are switched more or less often.
TEST(SyncFreeSflu, EqualsTheReferenceUnderAThousandSchedules) {
  LULAB_NEED_SIMULATOR();
  for (const std::uint64_t seed : simt::schedule_seeds(simt::instrumented ? 100 : 2000)) {
    const std::size_t kind = seed % std::size(kinds);
    const auto n = static_cast<std::int32_t>(1 + seed * 7 % 23);
    const auto a = matrix_of_kind(kind, n, seed);
    const Analysis analysis = analysis_with(a, random_plan(n, true, seed));
    const auto expected = factor_with<double>(reference, analysis, a.values);
    LULAB_ASSERT_OK(expected);
    for (const int resident : simt::resident_limits({1 + int(seed % 3), int(seed % 2) * 5})) {
      SCOPED_TRACE(std::string(kinds[kind]) + ", seed " + std::to_string(seed) + ", resident " +
                   std::to_string(resident));
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = resident});
      const auto f = factor_by(analysis, a.values);
      LULAB_ASSERT_OK(f);
      ASSERT_EQ(f->values, expected->values);
    }
  }
}

// Columns 1 and 2 are equal, column 4 overflows: others that wait for them must not wait forever.
TEST(SyncFreeSflu, LostPivotsAndOverflowKeepNobodyWaiting) {
  LULAB_NEED_DEVICE();
  auto a = from_rows<double>({{4, 0, 0, 0, 0, 1},
                              {0, 2, 2, 1, 0, 0},
                              {0, 2, 2, 0, 0, 1},
                              {1, 1, 1, 5, 0, 0},
                              {0, 0, 0, 0, 1, 1},
                              {1, 0, 1, 0, 3, 6}});
  const auto good = [&] {
    auto values = a.values;
    for (std::int32_t j = 0; j < 6; ++j)
      for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p)
        if (a.row_idx[p] == j) values[p] += 4;
    return values;
  }();
  for (double& v : a.values)
    if (v == 3) v = 1e308;
  a.values[a.col_ptr[4]] = 0.25;
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 3)});
    for (const auto& [order, failed] :
         {std::pair{Permutation{0, 1, 2, 3, 4, 5}, 2}, std::pair{Permutation{4, 2, 1, 0, 3, 5}, 4},
          std::pair{Permutation{0, 2, 1, 4, 3, 5}, 1}}) {
      Plan plan = Plan::identity(6);
      plan.p = plan.q = order;
      const Analysis analysis = analysis_with(a, plan);
      const auto f = sflu.make<double>();
      LULAB_ASSERT_OK(f->analyze(analysis));
      LULAB_ASSERT_OK(f->upload(a.values));
      LULAB_ASSERT_OK(f->factor());
      EXPECT_EQ(f->wait().code, StatusCode::needs_repivot);
      EXPECT_EQ(f->wait().where.columns, std::vector<std::int32_t>{failed}) << f->wait().to_string();
      EXPECT_EQ(f->download().status().code, StatusCode::needs_repivot);
      LULAB_ASSERT_OK(f->upload(good));
      LULAB_ASSERT_OK(f->refactor());
      const auto again = f->download();
      const auto expected = factor_with<double>(reference, analysis, good);
      LULAB_ASSERT_OK(expected);
      LULAB_ASSERT_OK(again);
      expect_equal_factors(again->values, expected->values, 6);
    }
  }
}

// The mutants.

struct NumberedBlocks : Protocol {
  static constexpr bool draws_tickets = false;
};
struct MissingDecrement : Protocol {
  static constexpr bool counts_every_entry = false;
};
struct NoWait : Protocol {
  static constexpr bool waits = false;
};
struct ObservesRelaxed : Protocol {
  static constexpr auto observe = cuda::memory_order_relaxed;  // RACE: the mutant
};
struct PublishesRelaxed : Protocol {
  static constexpr auto publish = cuda::memory_order_relaxed;  // RACE: the mutant
};
struct OrdersNothing : ObservesRelaxed {                       // as the paper has it
  static constexpr auto publish = cuda::memory_order_relaxed;  // RACE: the mutant
};

TEST(SyncFreeMutants, BlocksThatOwnTheirNumbersColumnDeadlock) {
  LULAB_NEED_SIMULATOR();
  const auto a = chain(24);
  const Analysis analysis = analysis_for(a);
  ASSERT_EQ(levels_left_looking(analysis.filled).n_levels(), 24);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = 2});
    const auto f = factor_by<NumberedBlocks>(analysis, a.values);
    EXPECT_EQ(f.status().code, StatusCode::deadlock) << "seed " << seed << ": " << f.status().to_string();
    EXPECT_TRUE(simt::contains(f.status().message, "only 2 can be resident")) << f.status().message;
    LULAB_ASSERT_OK(factor_by<Protocol>(analysis, a.values));
  }
}

TEST(SyncFreeMutants, NumberedBlocksEndWhereAllAreResident) {
  LULAB_NEED_SIMULATOR();
  const auto a = chain(24);
  const Analysis analysis = analysis_for(a);
  const auto expected = factor_with<double>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = factor_by<NumberedBlocks>(analysis, a.values);
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(f->values, expected->values);
  }
}

TEST(SyncFreeMutants, ADegreeThatIsNotCountedDownDeadlocks) {
  LULAB_NEED_SIMULATOR();
  const auto a = chain(24);
  const Analysis analysis = analysis_for(a);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = factor_by<MissingDecrement>(analysis, a.values);
    EXPECT_EQ(f.status().code, StatusCode::deadlock) << "seed " << seed << ": " << f.status().to_string();
    EXPECT_TRUE(simt::contains(f.status().message, "01_sflu_kernel.h")) << f.status().message;
  }
}

TEST(SyncFreeMutants, ColumnsThatDoNotWaitGiveWrongFactors) {
  LULAB_NEED_SIMULATOR();
  if (simt::race_detection) GTEST_SKIP() << "ThreadSanitizer would report the race, as it should";
  const auto a = random_unsymmetric<double>(40, 0.2, 80.0, 9);
  const Analysis analysis = analysis_for(a);
  const auto expected = factor_with<double>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  int wrong = 0;
  for (const std::uint64_t seed : simt::all_schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = factor_by<NoWait>(analysis, a.values);
    LULAB_ASSERT_OK(f);
    wrong += !unlike<double>(f->values, expected->values, 40).empty();
  }
  EXPECT_GE(wrong, 4);
}

/// Ends the process; ThreadSanitizer answers 66 instead of 0 when it has reported.
template <class Keeps>
void factor_and_exit() {
  const auto a = chain(24);
  const Analysis analysis = analysis_for(a);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    if (!factor_by<Keeps>(analysis, a.values).ok()) std::exit(1);
  }
  std::exit(0);
}

TEST(SyncFreeMutantsDeathTest, ThreadSanitizerReportsAMissingReleaseOrAcquire) {
  if (!simt::race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(factor_and_exit<Protocol>(), ::testing::ExitedWithCode(0), "");
  const auto reported = ::testing::ExitedWithCode(66);
  const char* const where =
      "data race[^$]*01_sflu_kernel.h[^$]*race in kernel [^\n]*: As\\[[0-9]+\\] of column [0-9]+\n"
      "  block [0-9]+, warp 0, lane [0-9]+, column [0-9]+: ";
  EXPECT_EXIT(factor_and_exit<ObservesRelaxed>(), reported, where);
  EXPECT_EXIT(factor_and_exit<PublishesRelaxed>(), reported, where);
  EXPECT_EXIT(factor_and_exit<OrdersNothing>(), reported, where);
  EXPECT_EXIT(factor_and_exit<NoWait>(), reported, where);
}

}  // namespace
}  // namespace lulab::sparse_syncfree
