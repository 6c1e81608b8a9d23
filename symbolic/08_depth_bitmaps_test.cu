// What rungs_test.cu does not see of this rung: trees that are postordered as they come, long chains, memory. Disables
// one rule of the kernels at a time and expects a failure.

#include "symbolic/08_depth_bitmaps.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "core/matrix/permutation.h"
#include "symbolic/fill.h"
#include "symbolic/fill_on_device.h"
#include "symbolic/relaxed_supernodes.h"
#include "testing/every_refusal.h"
#include "testing/failing_operations.h"
#include "testing/launch.h"
#include "testing/patterns.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

using testing::postordered;
using testing::random_matrix;
using testing::symmetric_of;

struct WaitsForNoChild : BitmapRules {
  static constexpr bool waits_for_children = false;
};
struct GivesToParentsOnly : BitmapRules {
  static constexpr bool looks_for_open_nodes = false;
};
struct StopsAtTheNearest : BitmapRules {
  static constexpr bool goes_up_to_the_pair = false;
};
struct CountsRelaxed : BitmapRules {
  static constexpr auto order = cuda::memory_order_relaxed;  // RACE: the mutant
};
struct OnlyReleases : BitmapRules {
  static constexpr auto order = cuda::memory_order_release;  // RACE: the mutant
};
struct OnlyAcquires : BitmapRules {
  static constexpr auto order = cuda::memory_order_acquire;  // RACE: the mutant
};

Result<FilledPattern> fill_on_device(CscPatternView a, const Permutation& p, const Permutation& q) {
  LULAB_ASSIGN_OR_RETURN(const auto fill, FillOnDevice::create(a, p, q));
  return fill.download();
}

/// B in device memory, and a search.
class Search {
 public:
  template <class Keeps>
  static Result<Search> create(const CscPattern& b, Keeps, DepthBitmaps::Limits limits = {}) {
    Search s;
    LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
    s.stream_.emplace(std::move(stream));
    LULAB_ASSIGN_OR_RETURN(auto bitmaps,
                           DepthBitmaps::create(b.n_cols, b.nnz(), limits,
                                                {climb_kernel<WarpTeam, Keeps>, climb_kernel<BlockTeam, Keeps>}));
    s.bitmaps_.emplace(std::move(bitmaps));
    return s;
  }
  Result<FilledPattern> fill(const CscPattern& b) {
    LULAB_ASSIGN_OR_RETURN(const auto d_b, PatternOnDevice::create(b, *stream_));
    LULAB_RETURN_IF_ERROR(bitmaps_->fill(d_b.view(), filled_, *stream_));
    return filled_.download(*stream_);
  }
  Status rows_below(const CscPattern& b) {
    LULAB_ASSIGN_OR_RETURN(const auto d_b, PatternOnDevice::create(b, *stream_));
    simt::DeviceBuffer<std::int32_t> d_counts;
    LULAB_RETURN_IF_ERROR(simt::make(d_counts, b.n_cols));
    LULAB_RETURN_IF_ERROR(bitmaps_->rows_below(d_b.view(), d_counts.data(), *stream_));
    return stream_->wait();
  }
  bool was_postordered() const { return bitmaps_->was_postordered(); }
  std::int64_t groups() const { return bitmaps_->groups(); }
  std::int64_t bytes() const { return bitmaps_->bytes(); }

 private:
  std::optional<simt::Stream> stream_;
  std::optional<DepthBitmaps> bitmaps_;
  DeviceFilledPattern filled_;
};

/// long_chain: see DepthBitmaps::Limits
template <class Keeps>
Result<FilledPattern> bitmaps_by(const CscPattern& b, std::int32_t long_chain = 0) {
  LULAB_ASSIGN_OR_RETURN(auto search, Search::create(b, Keeps{}, {.long_chain = long_chain}));
  auto f = search.fill(b);
  EXPECT_TRUE(search.was_postordered());
  return f;
}

/// One path of n nodes with entries of L and U beside it: most nodes are open, some have no pair.
CscPattern open_path(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t k = 0; k < n; ++k) {
    rows.push_back(k), columns.push_back(k);
    if (k + 1 == n) break;
    const bool lower = random() % 2 == 0;
    rows.push_back(lower ? k + 1 : k), columns.push_back(lower ? k : k + 1);
    const auto far = k + 1 + static_cast<std::int32_t>(random() % std::uint64_t(n - k - 1));
    if (random() % 3 == 0) rows.push_back(lower ? k : far), columns.push_back(lower ? far : k);
  }
  return from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)).pattern();
}

template <class Keeps>
void expect_bitmaps(const CscPattern& b, std::uint64_t seed) {
  SCOPED_TRACE(seed);
  const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
  const FilledPattern expected = *fill_reference(b);
  for (const std::int32_t long_chain : {0, 3, 1000000}) {
    if (simt::instrumented && long_chain != (seed % 2 == 0 ? 1000000 : 3)) continue;  // each takes so long there
    const auto f = bitmaps_by<Keeps>(b, long_chain);
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(*f, expected) << long_chain;
  }
}

TEST(DepthBitmaps, OfTreesThatArePostordered) {
  LULAB_NEED_DEVICE();
  for (std::uint64_t seed = 1; seed <= (simt::instrumented ? 30 : 200); ++seed) {
    const auto n = static_cast<std::int32_t>(2 + seed % 90);
    const double per_column = 0.5 + 0.5 * static_cast<double>(seed % 7);
    expect_bitmaps<BitmapRules>(postordered(random_matrix(seed, {.n = n, .density = per_column / n}).pattern()), seed);
  }
}

TEST(DepthBitmaps, OfSymmetricPatterns) {
  LULAB_NEED_DEVICE();
  for (std::uint64_t seed = 1; seed <= (simt::instrumented ? 20 : 100); ++seed) {
    const auto n = static_cast<std::int32_t>(2 + seed % 150);
    const CscPattern b = symmetric_of(random_matrix(seed, {.n = n, .density = double(seed % 5) / n}).pattern());
    expect_bitmaps<BitmapRules>(postordered(b), seed);
  }
}

// One chain whose nodes have 35 words, more than the threads of a warp.
TEST(DepthBitmaps, OfADeepSymmetricPattern) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 1100;
  CscPattern b = {n, n, {0}, {}};
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = std::max(0, j - 3); i < std::min(n, j + 4); ++i)
      if (std::abs(i - j) <= 1 || std::min(i, j) % 7 == 0) b.row_idx.push_back(i);
    b.col_ptr.push_back(b.nnz());
  }
  ASSERT_EQ(transpose(b), b);
  expect_bitmaps<BitmapRules>(b, 2);
}

TEST(DepthBitmaps, OfLongChains) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 600;  // L and U have 38 words a node, more than the threads of a warp
  for (std::uint64_t seed = 1; seed <= (simt::instrumented ? 1 : 4); ++seed) {
    const CscPattern open = open_path(n, seed);
    expect_bitmaps<BitmapRules>(open, seed);
    // A dense block of 150 nodes above two trees, and a path that ends in it.
    CscPattern b = {n, n, {0}, {}};
    for (std::int32_t j = 0; j < n; ++j) {
      for (std::int32_t i = 0; i < n; ++i)
        if (i == j || std::min(i, j) >= n - 150 || (std::max(i, j) >= n - 150 && (7 * i + 3 * j + seed) % 41 == 0) ||
            (i == j + 1 && j % 30 != 0))
          b.row_idx.push_back(i);
      b.col_ptr.push_back(b.nnz());
    }
    expect_bitmaps<BitmapRules>(postordered(b), seed);
  }
}

// Three open paths below a fourth, whose nodes have 16, 19 and 34 words a side: rows of 32, 64 and 96 threads in teams
// of 96, which leave threads over, and of 768, in which 24 and 12 rows share the 32 bits of a word.
TEST(DepthBitmaps, OfChainsWhoseRowsDoNotDivideATeam) {
  LULAB_NEED_DEVICE();
  if (simt::instrumented) GTEST_SKIP() << "takes a minute; OfLongChains has large teams, too";
  const std::int32_t top = 20 + 100 + 600, n = top + 480;
  std::vector<std::int32_t> rows, columns;
  const auto add = [&](const CscPattern& path, std::int32_t at) {
    for (std::int32_t j = 0; j < path.n_cols; ++j)
      for (std::int64_t s = path.col_ptr[j]; s < path.col_ptr[j + 1]; ++s)
        rows.push_back(at + path.row_idx[s]), columns.push_back(at + j);
  };
  add(open_path(20, 1), 0), add(open_path(100, 2), 20), add(open_path(600, 3), 120), add(open_path(n - top, 4), top);
  for (const std::int32_t end : {19, 119, top - 1}) {
    rows.push_back(top), columns.push_back(end);
    rows.push_back(end), columns.push_back(n - 7);
  }
  const CscPattern b = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)).pattern();
  const auto parent = elimination_tree(*fill_reference(symmetrized_graph(b)));
  for (const auto& [first, depth] : {std::pair(0, 499), std::pair(20, 579), std::pair(120, 1079)}) {
    std::int32_t ancestors = 0;
    for (std::int32_t k = parent[first]; k >= 0; k = parent[k]) ++ancestors;
    ASSERT_EQ(ancestors, depth);
  }
  expect_bitmaps<BitmapRules>(b, 1);
}

// Column 0 gives the last row to the 399 other columns: a warp lists 32 at once, the large team of this tree 256.
TEST(DepthBitmaps, OfANodeThatGivesToAllOthers) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 400;
  std::vector<std::int32_t> rows = {0, n - 1}, columns = {0, 0};
  for (std::int32_t j = 1; j < n; ++j)
    for (const std::int32_t i : {0, j, j + 1})
      if (i < n) rows.push_back(i), columns.push_back(j);
  const CscPattern b = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)).pattern();
  const FilledPattern expected = *fill_reference(b);
  for (std::int32_t j = 1; j < n; ++j) ASSERT_EQ(expected.row_idx[expected.col_ptr[j + 1] - 1], n - 1) << j;
  expect_bitmaps<BitmapRules>(b, 1);
}

TEST(DepthBitmaps, KeepsItsMemoryFromPatternToPattern) {
  LULAB_NEED_DEVICE();
  const CscPattern largest = random_matrix(1, {.n = 80, .density = 0.2}).pattern();
  auto search = Search::create(largest, BitmapRules{});
  LULAB_ASSERT_OK(search);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const CscPattern b = random_matrix(seed, {.n = 80, .density = 0.01 * double(seed)}).pattern();
    for (const CscPattern& pattern : {postordered(b), b}) {
      ASSERT_LE(pattern.nnz(), largest.nnz());
      const auto f = search->fill(pattern);
      LULAB_ASSERT_OK(f);
      EXPECT_EQ(*f, *fill_reference(pattern));
    }
  }
}

TEST(DepthBitmaps, OfRowsAndColumnsThatArePermuted) {
  LULAB_NEED_DEVICE();
  EXPECT_EQ(*fill_on_device(CscPattern{}, {}, {}), FilledPattern{});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto n = static_cast<std::int32_t>(1 + 3 * seed);
    const CscPattern a = random_matrix(seed, {.n = n, .density = 2.5 / n}).pattern();
    Permutation p = identity_permutation(n), q = p;
    std::mt19937_64 random(seed);
    std::ranges::shuffle(p, random);
    std::ranges::shuffle(q, random);
    const auto f = fill_on_device(a, p, q);
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(*f, *fill_permuted(a, p, q));
  }
}

/// Halves the memory until it is refused.   all: bytes to begin with; it is halved so often at least.
void expect_bitmaps_within_any_memory(const CscPattern& b, std::uint64_t seed, std::int64_t all, int least_times) {
  SCOPED_TRACE(seed);
  const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 4)});
  const FilledPattern expected = *fill_reference(b);
  std::int64_t most_groups = 0;
  int times = 0;
  for (std::int64_t bytes = all;; bytes /= 2, ++times) {
    SCOPED_TRACE(bytes);
    auto search = Search::create(b, BitmapRules{}, {.bytes = std::max<std::int64_t>(bytes, 1)});
    LULAB_ASSERT_OK(search);
    for (int again = 0; again < 2; ++again) {  // with what the first search left in its memory
      const auto f = search->fill(b);
      if (!f.ok()) {
        ASSERT_EQ(f.status().code, StatusCode::out_of_memory);
        EXPECT_TRUE(contains(f.status().message, "one group after the other")) << f.status().message;
        break;
      }
      EXPECT_EQ(*f, expected);
      EXPECT_LE(search->bytes(), bytes);
      EXPECT_GE(search->groups(), most_groups);
      most_groups = search->groups();
    }
    if (search->groups() == 0) break;
  }
  EXPECT_GT(most_groups, 1);
  EXPECT_GE(times, least_times);
}

TEST(DepthBitmaps, WithinAnyMemory) {
  LULAB_NEED_DEVICE();
  for (std::uint64_t seed = 1; seed <= (simt::race_detection ? 1 : simt::instrumented ? 4 : 16); ++seed) {
    const auto n = static_cast<std::int32_t>(60 + 9 * seed);
    const CscPattern b = random_matrix(seed, {.n = n, .density = (0.3 + 0.1 * double(seed % 8)) / n}).pattern();
    expect_bitmaps_within_any_memory(postordered(b), seed, 8 * std::int64_t{n}, 1);
    if (seed % 4 == 0) expect_bitmaps_within_any_memory(b, seed, 8 * std::int64_t{n}, 1);
    expect_bitmaps_within_any_memory(postordered(symmetric_of(b)), seed, 4 * std::int64_t{n}, 1);
  }
}

// What one search leaves behind is no trouble to the next, which makes groups of the other kind.
TEST(DepthBitmaps, WithinALimitOfPatternsSymmetricAndNot) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 160;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = seed});
    const CscPattern b = random_matrix(seed, {.n = n, .density = 0.5 / n}).pattern();
    const CscPattern symmetric = postordered(symmetric_of(b)), unsymmetric = postordered(b);
    auto search = Search::create(symmetric.nnz() > unsymmetric.nnz() ? symmetric : unsymmetric, BitmapRules{},
                                 {.bytes = 3 * std::int64_t{n}});
    LULAB_ASSERT_OK(search);
    for (const CscPattern* pattern : {&symmetric, &unsymmetric, &symmetric, &unsymmetric}) {
      const auto f = search->fill(*pattern);
      LULAB_ASSERT_OK(f);
      EXPECT_EQ(*f, *fill_reference(*pattern));
      EXPECT_GT(search->groups(), 1);
      EXPECT_EQ(search->rows_below(*pattern).code, StatusCode::not_implemented);  // their bits are not all there
    }
  }
}

struct SearchUser {
  CscPattern b;
  Search search;

  std::vector<testing::Call> calls() {
    return {{"fill",
             [this]() -> Status {
               LULAB_ASSIGN_OR_RETURN(const auto f, search.fill(b));
               EXPECT_EQ(f, *fill_reference(b));
               return {};
             }},
            {"rows below", [this] { return knows_rows_below() ? search.rows_below(b) : Status{}; }}};
  }
  void look() {}

 private:
  bool knows_rows_below() const { return search.groups() == 1 && search.was_postordered(); }
};

void expect_told_of_every_failed_operation(const CscPattern& b, std::int64_t bytes, bool in_groups) {
  constexpr testing::RefusalOptions every = {.must_tell = true, .every = true};
  const auto make = [&] {
    return std::make_unique<SearchUser>(
        SearchUser{b, std::move(*Search::create(b, BitmapRules{}, {.bytes = bytes, .long_chain = 3}))});
  };
  const auto user = make();
  LULAB_ASSERT_OK(user->calls().front().run());
  EXPECT_EQ(user->search.groups() > 1, in_groups);
  int failed = 0;
  testing::expect_recovers_from_every_refusal<SearchUser, testing::FailingOperations<false>>(make, failed, every);
  testing::expect_recovers_from_every_refusal<SearchUser, testing::FailingOperations<true>>(make, failed, every);
  EXPECT_GT(failed, 0);
}

CscPattern sparse_pattern() { return random_matrix(3, {.n = 60, .density = 0.008}).pattern(); }

TEST(DepthBitmaps, TellOfEveryFailedOperation) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_told_of_every_failed_operation(sparse_pattern(), 0, false);
}
TEST(DepthBitmaps, TellOfEveryFailedOperationInPostorder) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_told_of_every_failed_operation(postordered(sparse_pattern()), 0, false);
}
TEST(DepthBitmaps, TellOfEveryFailedOperationInGroupsOfSubtrees) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_told_of_every_failed_operation(postordered(sparse_pattern()), 400, true);
}
TEST(DepthBitmaps, TellOfEveryFailedOperationOfSymmetricPatterns) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_told_of_every_failed_operation(postordered(symmetric_of(sparse_pattern())), 0, false);
}
TEST(DepthBitmaps, TellOfEveryFailedOperationInGroupsOfChains) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_told_of_every_failed_operation(postordered(symmetric_of(sparse_pattern())), 200, true);
}

// Chains of more than 256 nodes are cut; words of blocks, of L and U.
TEST(DepthBitmaps, OfLongChainsWithinAnyMemory) {
  LULAB_NEED_DEVICE();
  const std::int32_t paths = simt::race_detection ? 2 : 5, length = 500, n = paths * length + 40;
  for (std::uint64_t seed = 1; seed <= (simt::instrumented ? 1 : 3); ++seed) {
    std::mt19937_64 random(seed);
    const CscPattern path = open_path(length, seed);
    std::vector<std::int32_t> rows, columns;
    for (std::int32_t p = 0; p < paths; ++p)
      for (std::int32_t j = 0; j < length; ++j)
        for (std::int64_t s = path.col_ptr[j]; s < path.col_ptr[j + 1]; ++s)
          rows.push_back(p * length + path.row_idx[s]), columns.push_back(p * length + j);
    for (std::int32_t k = 0; k < n; ++k) {
      const auto above = paths * length + static_cast<std::int32_t>(random() % 40);
      if (k % 5 == 0 && above > k) rows.push_back(k % 2 ? above : k), columns.push_back(k % 2 ? k : above);
      rows.push_back(k), columns.push_back(k);
      if (k % length == length - 1 || k >= paths * length)
        rows.push_back(std::min(std::max(k + 1, paths * length), n - 1)), columns.push_back(k);
    }
    const CscPattern b = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)).pattern();
    expect_bitmaps_within_any_memory(postordered(b), seed, 8 * std::int64_t{n} * 17, 1);
    if (seed == 1 && !simt::race_detection)
      expect_bitmaps_within_any_memory(postordered(symmetric_of(b)), seed, 4 * std::int64_t{n} * 17, 1);
  }
}

TEST(DepthBitmaps, RefusesATreeThatIsTooDeepForItsMemory) {
  LULAB_NEED_DEVICE();
  const CscPattern b = open_path(100, 1);
  // One chain, whose first node has 99 ancestors; in pieces of 32 nodes the words of each are those of its first one.
  const std::int64_t all = 8 * 100 * 4, least = 8 * (32 * (4 + 3 + 2) + 4 * 1);
  for (const std::int64_t bytes : {std::int64_t{1}, least - 1, least, all}) {
    auto search = Search::create(b, BitmapRules{}, {.bytes = bytes});
    LULAB_ASSERT_OK(search);
    const auto f = search->fill(b);
    if (bytes >= least) {
      LULAB_ASSERT_OK(f);
      EXPECT_EQ(*f, *fill_reference(b));
    } else {
      EXPECT_EQ(f.status().code, StatusCode::out_of_memory);
      EXPECT_TRUE(contains(
          f.status().message,
          "a bit for each ancestor of 100 nodes takes 3200 bytes of device memory, or at least 2336, one group"))
          << f.status().message;
    }
  }
}

TEST(DepthBitmaps, RefusesATreeThatIsTooDeepForItsThreads) {
  LULAB_NEED_DEVICE();
  const CscPattern b = open_path(16500, 1);
  auto search = Search::create(b, BitmapRules{});
  LULAB_ASSERT_OK(search);
  const Status s = search->fill(b).status();
  EXPECT_EQ(s.code, StatusCode::not_implemented);
  EXPECT_TRUE(contains(s.message, "the elimination tree is 16512 nodes deep")) << s.message;
}

/// Every other node is a leaf of the node behind it, the others are a path: a chain each.
CscPattern caterpillar(std::int32_t n) {
  return testing::pattern_of(n, [](int i, int j) { return i == j || (j % 2 == 0 ? i == j + 1 : i == j + 2); });
}

TEST(DepthBitmaps, ClimbsManyChainsOrLeavesThemToTheHost) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {100, 256, 258, 400}) {
    SCOPED_TRACE(n);
    const CscPattern b = caterpillar(n);
    expect_bitmaps<BitmapRules>(b, 3);
    const auto same = identity_permutation(n);
    const auto f = fill_on_device(b, same, same);  // n / 2 chains, one of them on top
    EXPECT_EQ(f.ok(), n <= 258) << f.status().to_string();
    if (f.ok()) {
      EXPECT_EQ(*f, *fill_reference(b));
    } else {
      EXPECT_EQ(f.status().code, StatusCode::not_implemented);
      EXPECT_TRUE(contains(f.status().message, "more than 128 chains above each other")) << f.status().message;
    }
  }
}

// In this order each node is a chain, and above the first one there are n / 2; in postorder there are two chains.
TEST(DepthBitmaps, ClimbsChainsThatPostorderJoins) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {100, simt::instrumented ? 300 : 9000}) {
    SCOPED_TRACE(n);
    std::vector<std::int32_t> rows, columns;
    for (std::int32_t k = 0; k < n; ++k)
      for (const std::int32_t i : {k - 2, k, k + 2})
        if (i >= 0 && i < n) rows.push_back(i), columns.push_back(k);
    const CscPattern b = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)).pattern();
    const auto same = identity_permutation(n);
    const auto f = fill_on_device(b, same, same);
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(*f, *fill_reference(b));
  }
}

TEST(DepthBitmaps, RefusesMoreChainsThanItWalks) {
  LULAB_NEED_DEVICE();
  if (simt::instrumented) GTEST_SKIP() << "so many nodes take long";
  const std::int32_t n = 2 * walked_chains + 10;
  for (const std::int32_t leaves : {0, 1}) {  // before all, of the root: whether this is postorder, no walk tells
    std::vector<std::int32_t> rows, columns;
    for (std::int32_t k = 0; k < n; ++k) {
      rows.push_back(k), columns.push_back(k);
      const std::int32_t parent = k < leaves ? n - 1 : std::min((k - leaves) % 2 == 0 ? k + 1 : k + 2, n - 1);
      if (parent > k) rows.push_back(parent), columns.push_back(k);
    }
    const CscPattern b = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)).pattern();
    auto search = Search::create(b, BitmapRules{});
    LULAB_ASSERT_OK(search);
    const Status s = search->fill(b).status();
    EXPECT_EQ(s.code, StatusCode::not_implemented) << s.to_string();
    EXPECT_TRUE(contains(s.message, "more than 4096 chains")) << s.message;
  }
}

/// How many of the patterns come out wrong, from warps and from blocks.
template <class Keeps>
int wrong_bitmaps() {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const simt::SimulatorScope scope({.seed = seed});
    const CscPattern b =
        seed % 2 == 0 ? open_path(180, seed) : postordered(random_matrix(seed, {.n = 90, .density = 0.025}).pattern());
    const auto f = bitmaps_by<Keeps>(b, seed % 4 < 2 ? 3 : 64);
    EXPECT_TRUE(f.ok()) << f.status().to_string();
    wrong += !f.ok() || *f != *fill_reference(b);
  }
  return wrong;
}

TEST(DepthBitmapsMutants, TheRulesAsTheyAre) {
  LULAB_NEED_DEVICE();
  EXPECT_EQ(wrong_bitmaps<BitmapRules>(), 0);
}

TEST(DepthBitmapsMutants, LoseFill) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  EXPECT_GT(wrong_bitmaps<WaitsForNoChild>(), 0);
  EXPECT_GT(wrong_bitmaps<GivesToParentsOnly>(), 20);
  EXPECT_GT(wrong_bitmaps<StopsAtTheNearest>(), 20);
}

/// open_path() of more words than a warp has threads, and below its first node leaves, which give it fill.
CscPattern leaves_below_a_path(std::int32_t leaves, std::int32_t length, std::uint64_t seed) {
  const CscPattern path = open_path(length, seed);
  const std::int32_t n = leaves + length;
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t k = 0; k < leaves; ++k)
    for (const auto& [i, j] : {std::pair(k, k), std::pair(leaves, k), std::pair(k, leaves), std::pair(n - 1 - k, k)})
      rows.push_back(i), columns.push_back(j);
  for (std::int32_t j = 0; j < length; ++j)
    for (std::int64_t s = path.col_ptr[j]; s < path.col_ptr[j + 1]; ++s)
      rows.push_back(leaves + path.row_idx[s]), columns.push_back(leaves + j);
  return from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)).pattern();
}

/// Whether some schedule gives no pattern or another one, from warps or from blocks.
bool bitmaps_are_wrong() {
  const auto is_wrong = [](const CscPattern& b, std::uint64_t seed, DepthBitmaps::Limits limits = {}) {
    const simt::SimulatorScope scope({.seed = seed});
    auto search = Search::create(b, BitmapRules{}, limits);
    const auto f = search->fill(b);
    return !f.ok() || *f != *fill_reference(b);
  };
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const CscPattern b = random_matrix(seed, {.n = 90, .density = 0.025}).pattern();
    if (is_wrong(postordered(b), seed) || is_wrong(b, seed) || is_wrong(postordered(symmetric_of(b)), seed) ||
        is_wrong(postordered(symmetric_of(b)), seed, {.bytes = 400}) ||
        is_wrong(postordered(b), seed, {.long_chain = 1}) ||
        is_wrong(leaves_below_a_path(12, 540, seed), seed, {.long_chain = 64}))
      return true;
  }
  return false;
}

TEST(DepthBitmapsMutants, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic(bitmaps_are_wrong);
  const auto is_of_the_search = [](const std::string& place) {  // those of other files have their own tests
    return place.starts_with("08_depth_bitmaps") || place.starts_with("device_tools");
  };
  // places in the queue of warps and of blocks, four of bits, the largest depth, a place in the list of receivers, the
  // count of children, an open node, a chain of the second launch, a place in the list of those it starts from
  EXPECT_EQ(std::ranges::count_if(atomics.met, is_of_the_search), 12);
  for (const std::string& place : atomics.unnoticed)
    // RACE: that a node is open, a chain of the second launch: all write 1, torn they write the same
    EXPECT_TRUE(simt::contains(place, "(progress->open).store(1, ") ||
                simt::contains(place, "atomicExch(&w.in_second[r], 1)") || !is_of_the_search(place))
        << place;
}

/// Ends the process with 0; with a report of ThreadSanitizer the exit code is 66.
template <class Keeps>
void search_and_exit() {
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const CscPattern b = postordered(random_matrix(seed, {.n = 24, .density = 0.08}).pattern());
    if (!bitmaps_by<Keeps>(b, seed % 2 == 0 ? 1 : 64).ok()) std::exit(1);
  }
  std::exit(0);
}

TEST(DepthBitmapsMutantsDeathTest, ThreadSanitizerReportsAMissingReleaseOrAcquire) {
  if (!simt::race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(search_and_exit<BitmapRules>(), ::testing::ExitedWithCode(0), "");
  const auto reported = ::testing::ExitedWithCode(66);
  const char* const where = "data race[^$]*08_depth_bitmaps.h";
  EXPECT_EXIT(search_and_exit<CountsRelaxed>(), reported, where);
  EXPECT_EXIT(search_and_exit<OnlyReleases>(), reported, where);
  EXPECT_EXIT(search_and_exit<OnlyAcquires>(), reported, where);
}

}  // namespace
}  // namespace lulab
