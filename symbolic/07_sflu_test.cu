// What rungs_test.cu does not see of this rung: its room for L + U. Disables one rule of the protocol at a time and
// expects a failure.

#include "symbolic/fill_sflu.h"

#include "symbolic/07_sflu_kernel.h"
#include "testing/launch.h"
#include "testing/patterns.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

using testing::pattern_of;
using testing::random_matrix;

void expect_the_reference(const std::string& name, const CscPattern& b, simt::SimulatorOptions options) {
  SCOPED_TRACE(name + ", schedule " + std::to_string(options.seed) + ", resident blocks " +
               std::to_string(options.resident_blocks));
  const simt::SimulatorScope scope(options);
  const auto expected = fill_reference(b);
  const auto f = fill_sflu(b);
  LULAB_ASSERT_OK(expected);
  LULAB_ASSERT_OK(f);
  EXPECT_EQ(*f, *expected);
}

// A column of several words for each thread.
TEST(FillSflu, OfMoreRowsThanABlockHasBitsInOneWordAThread) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 32 * fill_threads + 77;
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t j = 0; j < n; ++j)
    for (const std::int32_t i : {j, (j * 37 + 11) % n, n - 1 - j / 3})
      if (j % 41 == 0 || i == j) rows.push_back(i), columns.push_back(j);
  const auto b = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0));
  ASSERT_GT(fill_reference(b)->nnz(), b.nnz());
  expect_the_reference("wide", b, {.seed = 5});
}

TEST(FillSflu, SearchesAgainWithMoreRoomUntilItSuffices) {
  LULAB_NEED_DEVICE();
  const CscPattern b = random_matrix(3, {.n = 50, .density = 0.06}).pattern();
  const auto expected = fill_reference(b);
  LULAB_ASSERT_OK(expected);
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const std::uint64_t seed : simt::schedule_seeds())
    for (const std::int64_t first : {std::int64_t{1}, expected->nnz() - 1, expected->nnz(), std::int64_t{0}}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", first " + std::to_string(first));
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 3)});
      auto fill = SfluFill::create(b, *stream, {.first = first, .most = first == 1 ? expected->nnz() : 0});
      LULAB_ASSERT_OK(fill);
      for (int round = 0; round < 2; ++round) {  // the second has room from the start
        LULAB_ASSERT_OK(fill->enqueue(*stream));
        const auto f = fill->download(*stream);
        LULAB_ASSERT_OK(f);
        EXPECT_EQ(*f, *expected);
      }
    }
}

TEST(FillSflu, RefusesWhatDoesNotFit) {
  LULAB_NEED_DEVICE();
  const CscPattern b = random_matrix(3, {.n = 50, .density = 0.06}).pattern();
  const auto expected = fill_reference(b);
  LULAB_ASSERT_OK(expected);
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const std::uint64_t seed : simt::schedule_seeds())
    for (const std::int64_t most : {std::int64_t{1}, std::int64_t{60}, expected->nnz() - 1}) {
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 3)});
      auto fill = SfluFill::create(b, *stream, {.most = most});
      LULAB_ASSERT_OK(fill);
      EXPECT_EQ(fill->download(*stream).status().code, StatusCode::invalid_argument);
      LULAB_ASSERT_OK(fill->enqueue(*stream));
      EXPECT_EQ(fill->download(*stream).status().code, StatusCode::out_of_memory);
    }
  const auto device = simt::device_properties();
  LULAB_ASSERT_OK(device);
  const auto n = static_cast<std::int32_t>(8 * device->shared_bytes_per_block);
  const CscPattern large{n, n, std::vector<std::int64_t>(n + std::size_t(1), 0), {}};
  const Status s = fill_sflu(large).status();
  EXPECT_EQ(s.code, StatusCode::out_of_memory);
  EXPECT_TRUE(simt::contains(s.message, "shared memory")) << s.message;
}

// The protocol with one rule disabled.

struct NoWait : FillProtocol {
  static constexpr bool waits = false;
};
struct MissingDecrement : FillProtocol {
  static constexpr bool counts_down = false;
};
struct ObservesRelaxed : FillProtocol {
  static constexpr auto observe = cuda::memory_order_relaxed;  // RACE: the mutant
};
struct PublishesRelaxed : FillProtocol {
  static constexpr auto publish = cuda::memory_order_relaxed;  // RACE: the mutant
};

template <class Keeps>
Result<FilledPattern> fill_by(const CscPattern& b) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto fill, SfluFill::create(b, stream, {.first = std::int64_t(b.n_cols) * b.n_cols}));
  LULAB_ASSIGN_OR_RETURN(const auto work, fill.start(stream));
  LULAB_RETURN_IF_ERROR(simt::launch(
      fill_columns_kernel<Keeps>,
      {.grid = fill.blocks(), .block = fill.threads_per_block(), .shared_bytes = fill.shared_bytes()}, stream, work));
  return fill.download(stream);
}

/// The rows of column 0 below the diagonal reach column j through all columns between, one after the other.
CscPattern cascade(std::int32_t n) {
  return pattern_of(n, [](int i, int j) { return std::abs(i - j) <= 1 || (j == 0 && i % 3 == 0); });
}

TEST(FillSfluMutants, TheTruthOnceMore) {
  LULAB_NEED_DEVICE();
  const CscPattern b = cascade(20);
  const auto f = fill_by<FillProtocol>(b);
  LULAB_ASSERT_OK(f);
  EXPECT_EQ(*f, *fill_reference(b));
}

TEST(FillSfluMutants, ColumnsThatDoNotWaitFindAnotherPattern) {
  LULAB_NEED_SIMULATOR();
  if (simt::race_detection) GTEST_SKIP() << "ThreadSanitizer would report the race, as it should";
  const CscPattern b = cascade(20);
  const auto expected = fill_reference(b);
  LULAB_ASSERT_OK(expected);
  int wrong = 0;
  for (const std::uint64_t seed : simt::all_schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = fill_by<NoWait>(b);
    LULAB_ASSERT_OK(f);
    wrong += *f != *expected;
  }
  EXPECT_GE(wrong, 4);
}

TEST(FillSfluMutants, ADegreeThatIsNotCountedDownDeadlocks) {
  LULAB_NEED_SIMULATOR();
  const CscPattern b = cascade(20);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = fill_by<MissingDecrement>(b);
    EXPECT_EQ(f.status().code, StatusCode::deadlock) << "seed " << seed << ": " << f.status().to_string();
  }
}

/// Whether some schedule gives no pattern or another one. The room for L + U is too small at first.
bool sflu_is_wrong() {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const CscPattern b = random_matrix(seed, {.n = 24, .density = 0.12}).pattern();
    const simt::SimulatorScope scope({.seed = seed, .max_switches = 1 << 17});  // a column may never get its diagonal
    const auto find = [&]() -> Result<FilledPattern> {
      LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
      LULAB_ASSIGN_OR_RETURN(auto fill, SfluFill::create(b, stream, {.first = 20}));
      LULAB_RETURN_IF_ERROR(fill.enqueue(stream));
      return fill.download(stream);
    };
    const auto f = find();
    if (!f.ok() || *f != *fill_reference(b)) return true;
  }
  return false;
}

TEST(FillSfluMutants, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic(sflu_is_wrong);
  // ticket, bits of a column, degree up and down and at the end, or given up, entries
  EXPECT_EQ(atomics.met.size(), 7u);
  for (const std::string& place : atomics.unnoticed)  // RACE: thread 0 alone changes the degree between two barriers
    EXPECT_TRUE(simt::contains(place, ".fetch_sub(1, ") || simt::contains(place, ".store(given_up, ")) << place;
}

/// Ends the process with 0; with a report of ThreadSanitizer the exit code is 66.
template <class Keeps>
void fill_and_exit() {
  const CscPattern b = cascade(12);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    if (!fill_by<Keeps>(b).ok()) std::exit(1);
  }
  std::exit(0);
}

TEST(FillSfluMutantsDeathTest, ThreadSanitizerReportsAMissingReleaseOrAcquire) {
  if (!simt::race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fill_and_exit<FillProtocol>(), ::testing::ExitedWithCode(0), "");
  const auto reported = ::testing::ExitedWithCode(66);
  const char* const where = "data race[^$]*07_sflu_kernel.h";
  EXPECT_EXIT(fill_and_exit<ObservesRelaxed>(), reported, where);
  EXPECT_EXIT(fill_and_exit<PublishesRelaxed>(), reported, where);
}

}  // namespace
}  // namespace lulab
