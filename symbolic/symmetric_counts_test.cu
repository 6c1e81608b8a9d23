#include "symbolic/symmetric_counts.h"

#include <algorithm>
#include <cstdlib>

#include "symbolic/fill.h"
#include "testing/launch.h"
#include "testing/patterns.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

using testing::postordered;
using testing::random_matrix;

CscPattern symmetric_pattern(std::int32_t n, double per_column, std::uint64_t seed) {
  return postordered(testing::symmetric_of(random_matrix(seed, {.n = n, .density = per_column / (1 + n)}).pattern()));
}

Result<std::vector<std::int64_t>> counts_on_device(const CscPattern& b) {
  std::vector<std::int64_t> counts(b.n_cols + std::size_t{1});
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(const auto d_b, PatternOnDevice::create(b, stream));
  LULAB_ASSIGN_OR_RETURN(auto tree, DeviceTree::create(b.n_cols, b.nnz()));
  simt::Workspace work;
  simt::DeviceBuffer<std::int64_t> d_counts;
  LULAB_RETURN_IF_ERROR(simt::make(d_counts, std::ssize(counts)));
  LULAB_RETURN_IF_ERROR(tree.enqueue(d_b.view(), work.primitives, stream));
  LULAB_RETURN_IF_ERROR(count_symmetric_fill(tree.view(), d_b.view(), d_counts.data(), work, stream));
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(counts.data(), d_counts.data(), 8 * counts.size(), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return counts;
}

std::vector<std::int64_t> expected_counts(const CscPattern& b) {
  const FilledPattern f = *fill_reference(b);
  std::vector<std::int64_t> counts(b.n_cols + std::size_t{1}, 0);
  for (std::int32_t j = 0; j < b.n_cols; ++j) counts[j] = f.col_ptr[j + 1] - f.col_ptr[j];
  return counts;
}

TEST(SymmetricCounts, AreThoseOfTheFill) {
  LULAB_NEED_DEVICE();
  const int seeds = simt::race_detection ? 30 : 150;
  for (int seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = std::uint64_t(seed), .resident_blocks = seed % 3});
    const double per_column = seed % 4 == 0 ? 0.3 : 0.5 + 0.5 * (seed % 5);  // forests, and trees with long paths
    const CscPattern b = symmetric_pattern(1 + 2 * seed, per_column, seed);
    const auto counts = counts_on_device(b);
    LULAB_ASSERT_OK(counts);
    EXPECT_EQ(*counts, expected_counts(b));
  }
}

TEST(SymmetricCounts, OfPathsStarsArrowsAndNoEntry) {
  LULAB_NEED_DEVICE();
  for (const auto& b :
       {testing::pattern_of(1, [](int, int) { return true; }), testing::pattern_of(40, [](int, int) { return false; }),
        testing::pattern_of(300, [](int i, int j) { return std::abs(i - j) == 1; }),
        testing::pattern_of(70, [](int i, int j) { return i == 69 || j == 69 || i == j; }),
        testing::pattern_of(33, [](int i, int j) { return i == 0 || j == 0 || i == j; }),
        testing::pattern_of(64, [](int, int) { return true; })}) {
    const auto counts = counts_on_device(b);
    LULAB_ASSERT_OK(counts);
    EXPECT_EQ(*counts, expected_counts(b));
  }
}

bool counts_are_wrong() {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const simt::SimulatorScope scope({.seed = seed});
    const CscPattern b = symmetric_pattern(90, 2, seed);
    const auto counts = counts_on_device(b);
    if (!counts.ok() || *counts != expected_counts(b)) return true;
  }
  return false;
}

TEST(SymmetricCounts, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic(counts_are_wrong);
  // Those of the tree have their own test.
  const auto is_of_counts = [](const std::string& place) { return place.starts_with("symmetric_counts.cu"); };
  EXPECT_EQ(std::ranges::count_if(atomics.met, is_of_counts), 3);  // rows of a column, starts of paths, ends
  EXPECT_EQ(std::ranges::count_if(atomics.unnoticed, is_of_counts), 0);
}

}  // namespace
}  // namespace lulab
