// GLU1.0's race shows in wrong results and in ThreadSanitizer's report. GLU2.0's levels remove it.

#include "sparse_hybrid/01_fixed_allocation.h"
#include "sparse_hybrid/rungs.h"
#include "testing/device.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_hybrid {
namespace {

using testing::analysis_for;
using testing::dense_factors;
using testing::expect_like;
using testing::factor_with;
using testing::matrix_that_fills_to;
using testing::peng_tan_example;
using testing::unlike;

/// The paper's example: column 4, counted from 1, writes As(6,7), with which column 6 updates As(8,7).
struct Example {
  CscMatrix<double> a = matrix_that_fills_to<double>(peng_tan_example(), 1);
  Analysis analysis = analysis_for(a);

  std::size_t position(std::int32_t i, std::int32_t j) const {  // counted from 1
    const FilledPattern& f = analysis.filled;
    for (std::int64_t p = f.col_ptr[j - 1]; p < f.col_ptr[j]; ++p)
      if (f.row_idx[p] == i - 1) return static_cast<std::size_t>(p);
    ADD_FAILURE() << "no entry (" << i << ", " << j << ")";
    return 0;
  }
};

std::vector<std::uint64_t> many_seeds() {
  std::vector<std::uint64_t> seeds(64);
  for (std::size_t s = 0; s < seeds.size(); ++s) seeds[s] = s + 1;
  return seeds;
}

TEST(Glu1Racy, SomeSchedulesGiveWrongFactorsAndSomeRightOnes) {
  LULAB_NEED_SIMULATOR();
  if (simt::race_detection) GTEST_SKIP() << "one block of this size is resident there, so columns take turns";
  const Example example;
  const auto expected = dense_factors(example.a, example.analysis);
  int right = 0, wrong_87 = 0;
  for (const std::uint64_t seed : many_seeds()) {
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = seed});
    const auto racy = factor_with<double>(glu1_racy, example.analysis, example.a.values);
    LULAB_ASSERT_OK(racy);
    const auto wrong = unlike<double>(racy->values, expected, 8);
    right += wrong.empty();
    for (const std::size_t p : wrong) {
      // (8,8), which is last, uses (8,7), and As(2,8) is a second race that reaches it.
      EXPECT_TRUE(p == example.position(8, 7) || p == example.position(8, 8)) << "entry " << p;
      wrong_87 += p == example.position(8, 7);
    }
    const auto exact = factor_with<double>(glu2, example.analysis, example.a.values);
    LULAB_ASSERT_OK(exact);
    expect_like(exact->values, expected, 8);
  }
  EXPECT_GT(right, 0);
  EXPECT_GT(wrong_87, 0);
}

TEST(Glu1Racy, SaysSoAndNoOtherRungDoes) {
  EXPECT_FALSE(glu1_racy.facts.fault.empty());
  for (const Rung* rung : {&reference, &glu2, &glu3, &glu3_graph, &persistent})
    EXPECT_TRUE(rung->facts.fault.empty()) << rung->facts.id;
}

/// 01 and 02 with blocks of two warps and one for each column: all of a level fit even on ThreadSanitizer's small
/// device.
template <DependencyRule rule>
class SmallBlocks final : public ColumnByBlockBackend<double> {
 public:
  SmallBlocks() : ColumnByBlockBackend<double>(FactorOptions{}) {}

 protected:
  Status prepare_rung() override {
    return this->make_work(levels_right_looking(this->analysis().filled, rule), this->analysis().filled.n);
  }
  Status launch(const DeviceFactorsView<double>& f, simt::Stream& stream) override {
    const auto& level_ptr = this->schedule().level_ptr;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l)
      LULAB_RETURN_IF_ERROR(this->eliminate_columns(f, level_ptr[l], level_ptr[l + 1] - level_ptr[l], 2, stream));
    return {};
  }
};

template <DependencyRule rule>
Result<Factors<double>> factor_in_small_blocks(const CscMatrix<double>& a, const Analysis& analysis) {
  auto f = factorizer_of<SmallBlocks<rule>>();
  LULAB_RETURN_IF_ERROR(f.analyze(analysis));
  LULAB_RETURN_IF_ERROR(f.upload(a.values));
  LULAB_RETURN_IF_ERROR(f.factor());
  return f.download();
}

/// Ends the process with 0; with a report of ThreadSanitizer the exit code is 66.
template <class Run>
void exit_after_all_seeds(const Run& run) {
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    if (!run()) std::exit(1);
  }
  std::exit(0);
}

TEST(Glu1RacyDeathTest, ThreadSanitizerReportsTheLevelsOfUAloneAndNotTheExactOnes) {
  if (!simt::race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Example example;
  const CscMatrix<double>& a = example.a;
  const Analysis& analysis = example.analysis;
  EXPECT_EXIT(exit_after_all_seeds([&] {
                return factor_in_small_blocks<DependencyRule::double_u>(a, analysis).ok() &&
                       factor_with<double>(glu2, analysis, a.values).ok();
              }),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      exit_after_all_seeds([&] { return factor_in_small_blocks<DependencyRule::up_looking>(a, analysis).ok(); }),
      ::testing::ExitedWithCode(66), "data race[^$]*01_column_by_block.h");
}

// 1 . x     Column 0 writes (1,2). Column 1 has no L and so does not read it: the exact rule puts both in one level.
// x 1 .
// . . 1
TEST(Glu2, AColumnWithoutLDoesNotReadWhatItsLevelWrites) {
  LULAB_NEED_DEVICE();
  const auto a = testing::from_rows<double>({{4, 0, 1}, {2, 4, 0}, {0, 0, 4}});
  const Analysis analysis = analysis_for(a);
  ASSERT_EQ(levels_right_looking(analysis.filled, DependencyRule::double_u).n_levels(), 2);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = factor_in_small_blocks<DependencyRule::double_u>(a, analysis);
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(f->values, (std::vector<double>{4, 0.5, 4, 1, -0.5, 4}));
  }
}

}  // namespace
}  // namespace lulab::sparse_hybrid
