// Ranks are threads here: the logic of shares and of gathering them. app/mpi/ runs the program under mpirun.

#include "symbolic/fill_over_ranks.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "symbolic/fill.h"
#include "symbolic/fill_sources.h"
#include "testing/device_memory_limit.h"
#include "testing/launch.h"
#include "testing/patterns.h"
#include "testing/pretended_ranks.h"

namespace lulab {
namespace {

using testing::on_ranks;
using testing::random_matrix;

std::vector<const FillRung*> rungs_with_a_search() {
  std::vector<const FillRung*> rungs;
  std::ranges::copy_if(every_fill_rung(), std::back_inserter(rungs),
                       [](const FillRung* rung) { return rung->make_search != nullptr; });
  return rungs;
}

struct Answer {
  Result<FilledPattern> filled = Status::error(StatusCode::not_implemented, "no rank answered");
  std::vector<FillWork> work;
};

/// What each of so many ranks gets.
template <class LimitsOf>
std::vector<Answer> fill_on_ranks(int count, CscPatternView b, const FillRung& rung, std::uint64_t seed,
                                  const LimitsOf& limits_of) {
  return on_ranks(count, [&](Ranks& ranks) {
    const simt::SimulatorScope scope({.seed = seed + 100 * ranks.rank()});
    Answer answer;
    answer.filled = fill_over_ranks(b, rung, limits_of(ranks.rank()), ranks, &answer.work);
    return answer;
  });
}

TEST(SourceShares, HaveEachSourceOnce) {
  for (std::int32_t n = 0; n < 30; ++n)
    for (std::int32_t count = 1; count < 9; ++count) {
      std::vector<int> times(n, 0);
      for (std::int32_t rank = 0; rank < count; ++rank) {
        const SourceShare share = {.first = rank, .step = count};
        for (std::int32_t k = 0; k < share.size(n); ++k) ++times.at(share.source(k));
      }
      EXPECT_EQ(times, std::vector<int>(n, 1)) << n << " columns, " << count << " ranks";
    }
}

class FillOverRanks : public ::testing::TestWithParam<const FillRung*> {
 protected:
  static const FillRung& rung() { return *GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Ladder, FillOverRanks, ::testing::ValuesIn(rungs_with_a_search()),
                         [](const auto& info) { return std::string(info.param->id.substr(9)); });

TEST_P(FillOverRanks, FindsThePatternOfTheReferenceWithinAnyWorkspace) {
  LULAB_NEED_DEVICE();
  int tight = 0;
  for (std::uint64_t seed = 1; seed <= (simt::race_detection ? 3 : simt::instrumented ? 5 : 12); ++seed) {
    const auto n = static_cast<std::int32_t>(seed * 7 % 61), count = static_cast<std::int32_t>(1 + seed % 5);
    const double per_column = 0.5 + static_cast<double>(seed % 7);
    const CscPattern b =
        random_matrix(seed, {.n = n, .density = per_column / (1 + n), .zero_diagonal = 0.25 * (seed % 3)}).pattern();
    const auto expected = fill_reference(b);
    LULAB_ASSERT_OK(expected);
    FillWork one;
    LULAB_ASSERT_OK(rung().fill(b, {}, &one));
    for (const std::int64_t bytes : {std::int64_t{0}, one.workspace_bytes / 3, one.workspace_bytes / 10}) {
      const FillLimits limits = {.workspace_bytes = bytes, .queue_entries = static_cast<std::int64_t>(seed % 4)};
      const bool fits = rung().fill(b, limits, nullptr).ok();
      for (const Answer& answer : fill_on_ranks(count, b, rung(), seed, [&](int) { return limits; })) {
        if (!fits) {
          EXPECT_EQ(answer.filled.status().code, StatusCode::out_of_memory) << answer.filled.status().to_string();
          continue;
        }
        LULAB_ASSERT_OK(answer.filled);
        EXPECT_EQ(*answer.filled, *expected) << "seed " << seed << ", " << count << " ranks, " << bytes << " bytes";
        ASSERT_EQ(std::ssize(answer.work), count);
        for (const FillWork& work : answer.work) EXPECT_LE(work.workspace_bytes, bytes > 0 ? bytes : INT64_MAX);
        tight += answer.work.front().batches > 1;
      }
    }
  }
  EXPECT_GT(tight, 0) << "no share needed several groups";
}

TEST_P(FillOverRanks, AShareHasItsColumnsOfThePattern) {
  LULAB_NEED_DEVICE();
  const CscPattern b = random_matrix(9, {.n = 43, .density = 0.06}).pattern();
  const auto all = fill_reference(b);
  auto stream = simt::Stream::create();
  const auto search = rung().make_search(b.n_cols, {});
  LULAB_ASSERT_OK(all);
  LULAB_ASSERT_OK(stream);
  LULAB_ASSERT_OK(search);
  const SourceShare share = {.first = 2, .step = 5};
  simt::Scratch workspace;
  const auto found = fill_by_sources(b, {.sources = 4}, **search, *stream, workspace, nullptr, share);
  LULAB_ASSERT_OK(found);
  std::vector<std::int64_t> col_ptr(share.size(b.n_cols) + std::size_t(1), -1), diag(share.size(b.n_cols), -1);
  std::vector<std::int32_t> rows(found->nnz, -1);
  LULAB_ASSERT_OK(found->d_col_ptr.download(col_ptr, *stream));
  LULAB_ASSERT_OK(found->d_diag.download(diag, *stream));
  LULAB_ASSERT_OK(found->d_row_idx.download(rows, *stream));
  LULAB_ASSERT_OK(stream->wait());
  ASSERT_EQ(col_ptr.back(), found->nnz);
  for (std::int32_t k = 0; k < share.size(b.n_cols); ++k) {
    const std::int32_t j = share.source(k);
    EXPECT_TRUE(
        std::ranges::equal(std::span(rows).subspan(col_ptr[k], col_ptr[k + 1] - col_ptr[k]),
                           std::span(all->row_idx).subspan(all->col_ptr[j], all->col_ptr[j + 1] - all->col_ptr[j])));
    EXPECT_EQ(diag[k] - col_ptr[k], all->diag[j] - all->col_ptr[j]);
  }
  for (const SourceShare none : {SourceShare{.first = 5, .step = 5}, SourceShare{.first = -1, .step = 5}})
    EXPECT_EQ(fill_by_sources(b, {}, **search, *stream, workspace, nullptr, none).status().code,
              StatusCode::invalid_argument);
}

TEST_P(FillOverRanks, OfFewerColumnsThanRanks) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {0, 1, 2, 4}) {
    const CscPattern b = testing::pattern_of(n, [](int i, int j) { return (i + 2 * j) % 3 != 0; });
    for (const Answer& answer : fill_on_ranks(5, b, rung(), 1, [](int) { return FillLimits{}; })) {
      LULAB_ASSERT_OK(answer.filled);
      EXPECT_EQ(*answer.filled, *fill_reference(b));
    }
  }
}

TEST_P(FillOverRanks, TheErrorOfOneRankIsThatOfAll) {
  LULAB_NEED_DEVICE();
  const CscPattern b = random_matrix(3, {.n = 50, .density = 0.05}).pattern();
  for (int failing = 0; failing < 3; ++failing)
    for (const Answer& answer : fill_on_ranks(
             3, b, rung(), 1, [&](int rank) { return FillLimits{.workspace_bytes = rank == failing ? 100 : 0}; })) {
      EXPECT_EQ(answer.filled.status().code, StatusCode::out_of_memory);
      const std::string& message = answer.filled.status().message;
      EXPECT_TRUE(message.starts_with("rank " + std::to_string(failing) + " of 3: a search from one")) << message;
    }
}

// L + U are full, B is not: what grows is what is found.
TEST_P(FillOverRanks, SeveralFindAPatternThatIsTooLargeForOne) {
  LULAB_NEED_DEVICE();
  if (simt::instrumented) GTEST_SKIP() << "larger than other tests, the same kernels";
  constexpr std::int32_t n = 200, count = 4;
  const CscPattern b = testing::pattern_of(n, [](int i, int j) { return i == 0 || j == 0 || i == j; });
  const auto expected = fill_reference(b);
  LULAB_ASSERT_OK(expected);
  ASSERT_EQ(expected->nnz(), std::int64_t{n} * n);
  const FillLimits limits = {.workspace_bytes = 16 << 10};
  const std::int64_t most = 4 * expected->nnz() * 3 / 4;  // less than the rows of L + U alone
  const auto on_small_devices = [&](int ranks) {
    return on_ranks(ranks, [&](Ranks& mine) {
      const simt::SimulatorScope scope({.seed = std::uint64_t(mine.rank() + 1)});
      const auto limit = testing::DeviceMemoryLimit::of_bytes(most);
      auto filled = fill_over_ranks(b, rung(), limits, mine, nullptr);
      return Answer{std::move(filled), {}};
    });
  };
  const Answer alone = on_small_devices(1).front();
  EXPECT_EQ(alone.filled.status().code, StatusCode::out_of_memory);
  const std::string& message = alone.filled.status().message;
  EXPECT_TRUE(simt::contains(message, "a test limits the memory")) << message;
  for (const Answer& answer : on_small_devices(count)) {
    LULAB_ASSERT_OK(answer.filled);
    EXPECT_EQ(*answer.filled, *expected);
  }
}

TEST_P(FillOverRanks, RefusesWhatIsNotSquareOrNotSorted) {
  LULAB_NEED_DEVICE();
  const CscPattern wide{1, 2, {0, 1, 2}, {0, 0}}, unsorted{2, 2, {0, 2, 3}, {1, 0, 1}};
  for (const CscPattern& b : {wide, unsorted})
    for (const Answer& answer : fill_on_ranks(2, b, rung(), 1, [](int) { return FillLimits{}; }))
      EXPECT_EQ(answer.filled.status().code, StatusCode::invalid_argument);
}

// The work of a search grows with its column: ranks with ranges of columns would differ by far.
TEST_P(FillOverRanks, TheRanksHaveAboutTheSameWork) {
  LULAB_NEED_DEVICE();
  if (simt::instrumented) GTEST_SKIP() << "larger than other tests, the same kernels";
  const auto a = generate("convection2d", {.n = 900});
  LULAB_ASSERT_OK(a);
  const auto answers = fill_on_ranks(4, a->pattern(), rung(), 1, [](int) { return FillLimits{}; });
  const auto& work = answers.front().work;
  std::int64_t all = 0, most = 0;
  for (const FillWork& one : work) {
    all += one.edges;
    most = std::max(most, one.edges);
  }
  EXPECT_GT(all, a->nnz());
  EXPECT_LT(static_cast<double>(most), 1.1 * static_cast<double>(all) / 4);
}

TEST(FillOverRanksOfARung, WithoutASearchIsRefused) {
  OneRank one;
  const auto f = fill_over_ranks(CscPattern(), fill_rungs::reference, {}, one, nullptr);
  EXPECT_EQ(f.status().code, StatusCode::invalid_argument);
  EXPECT_GE(rungs_with_a_search().size(), 3u);
}

}  // namespace
}  // namespace lulab
