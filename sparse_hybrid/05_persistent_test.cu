// Particular to 05_persistent: how a level is divided among threads, and the map of rows.

#include "sparse_hybrid/05_persistent_kernel.h"
#include "sparse_hybrid/rungs.h"
#include "symbolic/levels.h"
#include "testing/fixed_pivots.h"
#include "testing/launch.h"

namespace lulab::sparse_hybrid {
namespace {

using testing::analysis_for;
using testing::expect_like;
using testing::factor_with;
using testing::nearby_values;

/// Appends an entry to the last column.
void add(CscMatrix<double>& a, std::int32_t i, double value) {
  a.row_idx.push_back(i);
  a.values.push_back(value);
}

/// Column 0 has `rows` entries of L and updates `updates` columns; nothing else is there before the fill.
CscMatrix<double> one_column_first(std::int32_t rows, std::int32_t updates) {
  const std::int32_t n = 1 + std::max(rows, updates);
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    if (j > 0 && j <= updates) add(a, 0, 0.25 + 0.125 * (j % 5));
    add(a, j, 4 + 0.5 * (j % 3) + n);
    for (std::int32_t i = 1; j == 0 && i <= rows; ++i) add(a, i, 0.5 - 0.0625 * (i % 7));
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

void expect_like_reference(const CscMatrix<double>& a, const PersistentOptions& options = {}) {
  const Analysis analysis = analysis_for(a.pattern());
  const auto other = nearby_values(a, 8);
  const auto expected = factor_with<double>(reference, analysis, other);
  LULAB_ASSERT_OK(expected);
  auto f = factorizer_of<PersistentBackend<double>>(options);
  LULAB_ASSERT_OK(f.analyze(analysis));
  LULAB_ASSERT_OK(f.upload(a.values));
  LULAB_ASSERT_OK(f.factor());
  LULAB_ASSERT_OK(f.upload(other));
  LULAB_ASSERT_OK(f.refactor());
  const auto factors = f.download();
  LULAB_ASSERT_OK(factors);
  expect_like(factors->values, expected->values, std::min(a.n_cols, 100));
}

// A thread, a part of a warp or several warps for each task; more groups than tasks and fewer.
TEST(Persistent, AnyNumberOfRowsAndUpdatesIsSharedOutSoThatEachEntryIsUpdatedOnce) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t rows : {1, 2, 31, 33, 97, 600})
    for (const std::int32_t updates : {1, 2, 7, 40}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows, " << updates << " updates");
      expect_like_reference(one_column_first(rows, updates));
    }
}

// The map has 16 bits for each row where columns are short enough.
TEST(Persistent, AColumnOfMoreThan65536RowsIsUpdatedThroughAWiderMap) {
  LULAB_NEED_DEVICE();
  if (simt::race_detection) GTEST_SKIP() << "minutes with ThreadSanitizer, and the accesses are those of a narrow map";
  const std::int32_t n = 66000;
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; j == n - 1 && i < n - 1; ++i) add(a, i, 0.5 + 0.125 * (i % 5));
    add(a, j, 4 + 0.25 * (j % 3));
    if (j >= n - 400 && j < n - 1) add(a, n - 1, 0.25 + 0.0625 * (j % 7));
    a.col_ptr.push_back(a.nnz());
  }
  expect_like_reference(a);
}

// More levels than shapes of levels fit into shared memory.
TEST(Persistent, AChainOfManyLevelsIsEliminatedInOrder) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 600 : 1300;
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = std::max(0, j - 1); i < std::min(n, j + 2); ++i) {
      add(a, i, i == j ? 4 + 0.5 * (j % 3) : 0.5 + 0.125 * ((i + 2 * j) % 9));
    }
    a.col_ptr.push_back(a.nnz());
  }
  ASSERT_EQ(levels_left_looking(analysis_for(a.pattern()).filled).n_levels(), n);
  expect_like_reference(a);
}

// Small blocks, so that even small matrices have levels for all blocks, for some and for one, and refill their shapes.
TEST(Persistent, ManySmallBlocksAndFewShapesGiveTheSameFactorsUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  const std::vector<CscMatrix<double>> matrices = {testing::random_unsymmetric<double>(60, 0.05, 30.0, 3),
                                                   testing::random_unsymmetric<double>(40, 0.2, 30.0, 4),
                                                   one_column_first(90, 7)};
  for (const auto& a : matrices) {
    const FilledPattern f = analysis_for(a.pattern()).filled;
    const LevelSharing sharing =
        share_out(make_update_tasks(f, levels_right_looking(f, DependencyRule::relaxed)), 32, 7);
    ASSERT_GT(sharing.blocks, 1);
    ASSERT_TRUE(std::ranges::any_of(sharing.of_block_0, [](const LevelShape& l) { return l.alone && !l.meet; }));
    ASSERT_TRUE(std::ranges::any_of(sharing.of_block_0, [](const LevelShape& l) { return !l.alone; }));
    for (const std::uint64_t seed : simt::schedule_seeds())
      for (const double map_bytes : {24.0, 0.0}) {  // with a map of rows, and searching for them
        SCOPED_TRACE(::testing::Message() << "n = " << a.n_cols << ", seed " << seed << ", map " << map_bytes);
        const simt::SimulatorScope scope({.seed = seed});
        expect_like_reference(
            a, {.max_threads = 32, .max_blocks = 7, .shapes_at_once = 4, .max_map_bytes_per_nonzero = map_bytes});
      }
  }
}

// The plain quotient As(j,k) / As(j,j) would be infinite here, L and U are not.
TEST(Persistent, AnEntryThatIsLargeBesideATinyPivotDoesNotOverflow) {
  LULAB_NEED_DEVICE();
  const auto a = testing::from_rows<double>({{1e-200, 1e200}, {1e-200, 1}});
  const auto f = factor_with<double>(persistent, analysis_for(a.pattern()), a.values);
  LULAB_ASSERT_OK(f);
  EXPECT_EQ(f->values, (std::vector<double>{1e-200, 1, 1e200, -1e200}));
}

}  // namespace
}  // namespace lulab::sparse_hybrid
