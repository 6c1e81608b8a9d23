// Every rung finds the pattern of the reference, under every schedule and within any limits.

#include "symbolic/rungs.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "symbolic/08_depth_bitmaps.h"
#include "symbolic/fill.h"
#include "symbolic/fill_sources.h"
#include "testing/every_refusal.h"
#include "testing/failing_operations.h"
#include "testing/gaihre_example.h"
#include "testing/launch.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

// With sanitizers a launch is slow, and fewer patterns run the same kernels.
constexpr int smaller = simt::race_detection ? 6 : simt::instrumented ? 3 : 1;

using testing::pattern_of;
using testing::random_matrix;

class FillRungs : public ::testing::TestWithParam<const FillRung*> {
 protected:
  static const FillRung& rung() { return *GetParam(); }
  static bool on_device() { return rung().device == Device::gpu; }
  /// 06 is a cooperative launch: all of its blocks are resident.
  static int resident_blocks(int some) { return rung().id == "symbolic/06_gsofa_sources" ? 0 : some; }

  static void expect_the_reference(const std::string& name, CscPatternView b, simt::SimulatorOptions options,
                                   const FillLimits& limits = {}) {
    SCOPED_TRACE(name + ", schedule " + std::to_string(options.seed) + ", resident blocks " +
                 std::to_string(options.resident_blocks));
    const simt::SimulatorScope scope(options);
    const auto expected = fill_reference(b);
    const auto f = rung().fill(b, limits, nullptr);
    LULAB_ASSERT_OK(expected);
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(*f, *expected);
  }
};

std::string name_of(const ::testing::TestParamInfo<const FillRung*>& info) {
  return std::string(info.param->id.substr(info.param->id.find('/') + 1));
}
INSTANTIATE_TEST_SUITE_P(Ladder, FillRungs, ::testing::ValuesIn(every_fill_rung().begin(), every_fill_rung().end()),
                         name_of);

TEST_P(FillRungs, OfChainsArrowsTrianglesAndNothing) {
  LULAB_NEED_DEVICE();
  const std::pair<const char*, CscPattern> patterns[] = {
      {"no column", {}},
      {"one entry", pattern_of(1, [](int, int) { return true; })},
      {"one missing entry", pattern_of(1, [](int, int) { return false; })},
      {"no entry", pattern_of(40, [](int, int) { return false; })},
      {"all", pattern_of(33, [](int, int) { return true; })},
      {"arrow that fills", pattern_of(37, [](int i, int j) { return i == j || i == 0 || j == 0; })},
      {"arrow that does not", pattern_of(37, [](int i, int j) { return i == j || i == 36 || j == 36; })},
      {"last row and first column", pattern_of(34, [](int i, int j) { return i == 33 || j == 0; })},
      {"first row and last column", pattern_of(34, [](int i, int j) { return i == 0 || j == 33; })},
      {"chain", pattern_of(70, [](int i, int j) { return std::abs(i - j) <= 1; })},
      {"cycle", pattern_of(65, [](int i, int j) { return i == j || i == (j + 1) % 65; })},
      {"no L", pattern_of(32, [](int i, int j) { return i < j; })},
      {"no U", pattern_of(32, [](int i, int j) { return i > j; })},
      {"no diagonal", pattern_of(31, [](int i, int j) { return i != j && (i * 7 + j * 3) % 5 == 0; })}};
  for (const auto& [name, b] : patterns)
    for (const std::uint64_t seed : simt::schedule_seeds())
      expect_the_reference(name, b, {.seed = seed, .resident_blocks = resident_blocks(int(seed % 4))});
}

TEST_P(FillRungs, OfRandomUnsymmetricPatterns) {
  LULAB_NEED_DEVICE();
  std::int64_t fill = 0;
  for (std::uint64_t seed = 0; seed < (simt::instrumented ? 36 : 180); ++seed) {
    const auto n = static_cast<std::int32_t>(seed % 67);
    const double per_column = 0.5 + static_cast<double>(seed % 11);
    const CscPattern b =
        random_matrix(seed, {.n = n, .density = per_column / (1 + n), .zero_diagonal = 0.25 * (seed % 5)}).pattern();
    expect_the_reference("random", b, {.seed = seed + 1, .resident_blocks = resident_blocks(int(seed % 4))},
                         {.sources = static_cast<std::int32_t>(seed % 3 * 7), .passes_found_rows = seed % 2 == 1});
    fill += fill_reference(b)->nnz() - b.nnz();
  }
  EXPECT_GT(fill, 1000);
}

TEST_P(FillRungs, OfCircuitsMeshesAndExtremes) {
  LULAB_NEED_DEVICE();
  std::uint64_t seed = 0;
  for (const testing::NamedPattern& pattern : testing::generated_patterns(100 / smaller)) {
    for (const int resident : {0, 1})
      expect_the_reference(pattern.name, pattern.before,
                           {.seed = ++seed, .resident_blocks = resident_blocks(resident)});
    EXPECT_EQ(*fill_reference(pattern.before), pattern.filled) << pattern.name;
  }
}

TEST_P(FillRungs, OfTheExampleOfGaihreAndOthers) {
  LULAB_NEED_DEVICE();
  const CscPattern b = testing::gaihre_example();
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = rung().fill(b, {}, nullptr);
    LULAB_ASSERT_OK(f);
    const auto row = [&](int src) {
      return std::vector(f->row_idx.begin() + f->col_ptr[src], f->row_idx.begin() + f->col_ptr[src + 1]);
    };
    EXPECT_EQ(row(8), (std::vector{1, 2, 3, 4, 5, 7, 8, 9}));  // not 0: 1 > 0 lies on the path 8 -> 1 -> 0
    EXPECT_EQ(row(1), (std::vector{0, 1, 5}));                 // the fill edge 1 -> 5 of Fig. 2
    EXPECT_EQ(*f, *fill_reference(b));
  }
}

// A column of several words for each lane of a warp.
TEST_P(FillRungs, OfManyRows) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 1100 : 4173;
  std::vector<std::int32_t> rows = {n - 2, 0}, columns = {0, n - 1};  // fills (n - 2, n - 1)
  for (std::int32_t j = 0; j < n; ++j)
    for (const std::int32_t i : {j, (j * 37 + 11) % n, n - 1 - j / 3})
      if (j % 41 == 0 || i == j) rows.push_back(i), columns.push_back(j);
  const auto b = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0));
  ASSERT_GT(fill_reference(b)->nnz(), b.nnz());
  expect_the_reference("wide", b.pattern(), {.seed = 5});
}

TEST_P(FillRungs, RefusesWhatIsNotSquareOrNotSorted) {
  LULAB_NEED_DEVICE();
  const CscPattern wide{1, 2, {0, 1, 2}, {0, 0}};
  const CscPattern unsorted{2, 2, {0, 2, 3}, {1, 0, 1}};
  const CscPattern outside{2, 2, {0, 1, 2}, {0, 2}};
  for (const CscPattern& b : {wide, unsorted, outside})
    EXPECT_EQ(rung().fill(b, {}, nullptr).status().code, StatusCode::invalid_argument);
}

TEST_P(FillRungs, WithinAnyWorkspaceAndWithTinyQueues) {
  LULAB_NEED_DEVICE();
  if (!on_device()) GTEST_SKIP() << "has no such limits";
  if (rung().id >= "symbolic/07") GTEST_SKIP() << "does not search from many columns at once";
  for (std::uint64_t seed = 1; seed <= 6 / smaller; ++seed) {
    const CscPattern b = random_matrix(seed, {.n = 50, .density = 0.03 + 0.02 * double(seed % 4)}).pattern();
    FillWork free, tight;
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = resident_blocks(int(seed % 3))});
    LULAB_ASSERT_OK(rung().fill(b, {}, &free));
    std::int64_t bytes = free.workspace_bytes;
    for (; bytes > 0; bytes /= 2) {
      const auto f = rung().fill(b, {.workspace_bytes = bytes, .queue_entries = 3 + bytes % 5}, &tight);
      if (!f.ok()) {
        EXPECT_EQ(f.status().code, StatusCode::out_of_memory);
        EXPECT_TRUE(simt::contains(f.status().message, "a search from one of 50 columns takes")) << f.status().message;
        break;
      }
      EXPECT_EQ(*f, *fill_reference(b)) << "seed " << seed << ", " << bytes << " bytes";
      EXPECT_LE(tight.workspace_bytes, bytes);
      EXPECT_GE(tight.batches, free.batches);
    }
    EXPECT_GT(tight.batches, free.batches);
    EXPECT_LT(tight.most_sources, free.most_sources);
    EXPECT_GT(bytes, 0) << "no workspace was too small";
  }
  const CscPattern b = random_matrix(1, {.n = 50, .density = 0.05}).pattern();
  for (const int shift : {40, 59, 60, 62}) {  // more entries than can be waiting
    const auto f = rung().fill(b, {.queue_entries = std::int64_t{1} << shift}, nullptr);
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(*f, *fill_reference(b));
  }
  EXPECT_EQ(rung().fill({}, {.workspace_bytes = -1}, nullptr).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(rung().fill({}, {.sources = -1}, nullptr).status().code, StatusCode::invalid_argument);
}

/// A search that the device refuses memory for, one request after the other.
struct FillUser {
  const FillRung* rung = nullptr;
  CscPattern b = random_matrix(5, {.n = 40, .density = 0.06}).pattern();

  std::vector<testing::Call> calls() {
    return {{"fill", [this]() -> Status {
               LULAB_ASSIGN_OR_RETURN(const auto f, rung->fill(b, {.sources = 7}, nullptr));
               EXPECT_EQ(f, *fill_reference(b));
               return {};
             }}};
  }
  void look() {}
};

TEST_P(FillRungs, EveryRefusedRequestForMemoryIsAStatus) {
  LULAB_NEED_DEVICE();
  if (!on_device()) GTEST_SKIP() << "asks the device for nothing";
  int failed = 0;
  testing::expect_recovers_from_every_refusal<FillUser>([] { return std::make_unique<FillUser>(FillUser{&rung()}); },
                                                        failed);
  EXPECT_GT(failed, 3);
}

TEST_P(FillRungs, EveryFailedOperationIsAStatus) {
  LULAB_NEED_FAILING_OPERATIONS();
  if (!on_device()) GTEST_SKIP() << "asks the device for nothing";
  const auto make = [] { return std::make_unique<FillUser>(FillUser{&rung()}); };
  constexpr testing::RefusalOptions every = {.must_tell = true, .every = true};
  int failed = 0;
  testing::expect_recovers_from_every_refusal<FillUser, testing::FailingOperations<false>>(make, failed, every);
  EXPECT_GT(failed, 3);
  testing::expect_recovers_from_every_refusal<FillUser, testing::FailingOperations<true>>(make, failed, every);
  EXPECT_GT(failed, 3);
}

/// Dense blocks, each filled from an arrow: 2.19 · 10⁹ entries.
struct DenseBlocks {
  static constexpr std::int32_t width = 27'000, count = 3, n = width * count;

  static CscPattern before() {
    CscPattern b = {n, n, {0}, {}};
    for (std::int32_t j = 0; j < n; ++j) {
      const std::int32_t first = j / width * width;
      for (std::int32_t i = first; i < (j == first ? first + width : first + 1); ++i) b.row_idx.push_back(i);
      if (j > first) b.row_idx.push_back(j);
      b.col_ptr.push_back(b.nnz());
    }
    return b;
  }
  static void expect_filled(const DeviceFilledPattern& f, simt::Stream& stream) {
    ASSERT_EQ(f.nnz, std::int64_t{width} * n);
    std::vector<std::int64_t> col_ptr(n + 1, -1), diag(n, -1);
    LULAB_ASSERT_OK(f.d_col_ptr.download(col_ptr, stream));
    LULAB_ASSERT_OK(f.d_diag.download(diag, stream));
    LULAB_ASSERT_OK(stream.wait());
    for (std::int32_t j = 0; j < n; ++j) {
      ASSERT_EQ(col_ptr[j + 1], std::int64_t{width} * (j + 1));
      ASSERT_EQ(diag[j], col_ptr[j] + j % width);
    }
    const auto across = static_cast<std::int32_t>((std::int64_t{1} << 31) / width);  // entry 2^31 lies in it
    for (const std::int32_t j : {0, across, across + 1, n - 1}) {
      std::vector<std::int32_t> rows(width, -1);
      LULAB_ASSERT_OK(simt::copy_to_host(rows.data(), f.d_row_idx.data() + col_ptr[j], 4 * rows.size(), stream));
      LULAB_ASSERT_OK(stream.wait());
      for (std::int32_t k = 0; k < width; ++k) ASSERT_EQ(rows[k], j / width * width + k) << "column " << j;
    }
  }
};

TEST(FillBeyond31Bits, BySourcesAndByBitmaps) {
  LULAB_NEED_DEVICE();
  if (simt::machine() == simt::Machine::simulator || simt::device_properties()->memory_bytes < std::size_t{40} << 30)
    GTEST_SKIP() << "needs a GPU with 40 GiB";
  const CscPattern b = DenseBlocks::before();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  {
    const FillLimits limits = {.queue_entries = std::int64_t{DenseBlocks::width} * 8192};  // the usual ones overflow
    const auto search = fill_rungs::gsofa_sources.make_search(b.n_cols, limits);
    LULAB_ASSERT_OK(search);
    simt::Scratch workspace;
    const auto f = fill_by_sources(b, limits, **search, *stream, workspace, nullptr);
    LULAB_ASSERT_OK(f);
    DenseBlocks::expect_filled(*f, *stream);
  }
  const auto d_b = PatternOnDevice::create(b, *stream);
  LULAB_ASSERT_OK(d_b);
  auto search = DepthBitmaps::create(b.n_cols, b.nnz());
  LULAB_ASSERT_OK(search);
  DeviceFilledPattern f;
  LULAB_ASSERT_OK(search->fill(d_b->view(), f, *stream));
  DenseBlocks::expect_filled(f, *stream);
}

TEST(FillRungFacts, NameTheirFileAndSource) {
  std::string before;
  for (const FillRung* rung : every_fill_rung()) {
    EXPECT_LT(before, rung->id);
    before = rung->id;
    EXPECT_EQ(rung->id.substr(0, 9), "symbolic/");
    EXPECT_FALSE(rung->paper.empty());
    EXPECT_FALSE(rung->idea.empty());
  }
}

}  // namespace
}  // namespace lulab
