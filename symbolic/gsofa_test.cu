// The two kernels of GSOFA: what rungs_test.cu does not see of them. Disables one rule at a time and expects a failure.

#include <algorithm>
#include <array>

#include "symbolic/05_gsofa.h"
#include "symbolic/06_gsofa_sources.h"
#include "symbolic/fill.h"
#include "symbolic/rungs.h"
#include "testing/device_memory_limit.h"
#include "testing/gaihre_example.h"
#include "testing/launch.h"
#include "testing/matrices.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

using testing::random_matrix;

struct NeverRevisits : GsofaRules {
  static constexpr bool revisits = false;
};
struct ReadsBeforeLeaving : GsofaRules {
  static constexpr bool leaves_first = false;
};
struct LowersAfterWaiting : GsofaRules {};  // without release the bit may come first: see its visit_neighbor()
struct FillsWhateverItReaches : GsofaRules {
  static constexpr bool compares_maximum = false;
};
struct ForgetsOverflow : GsofaRules {
  static constexpr bool keeps_overflow = false;
};

}  // namespace

template <>
__device__ __forceinline__ bool visit_neighbor<LowersAfterWaiting>(const GsofaSource& s, std::int32_t neighbor,
                                                                   std::uint32_t new_max_id, bool) {
  if (neighbor >= s.src) {
    add_to_set(s.found, neighbor);
    return false;
  }
  const MaxId max_id(s.max_id[neighbor]);
  if (max_id.load(cuda::memory_order_relaxed) <= new_max_id) return false;  // RACE: others lower it, as below
  const bool fills = s.base + static_cast<std::uint32_t>(neighbor) > new_max_id;
  const bool joins = (!fills || add_to_set(s.found, neighbor)) && add_to_set(s.waiting, neighbor);
  __nanosleep(100);                                          // others work between the two
  max_id.fetch_min(new_max_id, cuda::memory_order_relaxed);  // RACE: the mutant
  return joins;
}

namespace {

template <class Keeps>
Result<FilledPattern> by_block(CscPatternView b) {
  LULAB_ASSIGN_OR_RETURN(auto search, GsofaSearch::create(b.n_cols, {}, gsofa_kernel<Keeps>));
  return download_fill_by_sources(b, {}, search, nullptr);
}
template <class Keeps>
Result<FilledPattern> by_grid(CscPatternView b, const FillLimits& limits = {}) {
  LULAB_ASSIGN_OR_RETURN(auto search, GsofaSourcesSearch::create(b.n_cols, limits, gsofa_sources_kernel<Keeps>));
  return download_fill_by_sources(b, limits, search, nullptr);
}

/// How many of the schedules gave another pattern than the reference.
template <class Fill>
int wrong_patterns(const Fill& fill) {
  int wrong = 0;
  for (const std::uint64_t seed : simt::race_detection ? simt::schedule_seeds() : simt::all_schedule_seeds()) {
    const CscPattern b = random_matrix(seed % 5, {.n = 60, .density = 0.04}).pattern();
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = fill(b);
    EXPECT_TRUE(f.ok()) << f.status().to_string();
    wrong += !f.ok() || *f != *fill_reference(b);
  }
  return wrong;
}

TEST(GsofaMutants, TheRulesAsTheyAre) {
  LULAB_NEED_DEVICE();
  EXPECT_EQ(wrong_patterns(by_block<GsofaRules>), 0);
  EXPECT_EQ(wrong_patterns([](CscPatternView b) { return by_grid<GsofaRules>(b, {.queue_entries = 3}); }), 0);
}

// Gaihre et al., section 4: (8,4) goes undetected when the path through 7 comes before the one through 2 and 3.
TEST(GsofaMutants, VerticesThatAreNotRevisitedLoseFill) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  EXPECT_GT(wrong_patterns(by_block<NeverRevisits>), 0);
  EXPECT_GT(wrong_patterns([](CscPatternView b) { return by_grid<NeverRevisits>(b); }), 0);
}

TEST(GsofaMutants, FillBelowTheLargestInnerVertexIsTooMuch) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  EXPECT_GT(wrong_patterns(by_block<FillsWhateverItReaches>), 0);
  EXPECT_GT(wrong_patterns([](CscPatternView b) { return by_grid<FillsWhateverItReaches>(b); }), 0);
}

/// The last vertex reaches f through a large vertex and, one step later, through two small ones p -> q, as f is worked
/// on. Only the latter path makes f -> t a fill-path. Many times over.
CscPattern lowered_while_worked_on() {
  constexpr int times = 12, n = 5 * times + 1;
  std::vector<std::int32_t> rows, columns;
  const auto edge = [&](int from, int to) { columns.push_back(from), rows.push_back(to); };
  for (int v = 0; v < n; ++v) edge(v, v);
  for (int k = 0; k < times; ++k) {
    const int p = 5 * k, q = p + 1, f = p + 2, t = p + 3, large = p + 4, src = n - 1;
    edge(src, large), edge(large, f), edge(src, p), edge(p, q), edge(q, f), edge(f, t);
  }
  return from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)).pattern();
}

// The two ends of what acquire and release of leave_queue() and visit_neighbor() order.
TEST(GsofaMutants, AMaxIdReadBeforeLeavingTheQueueOrLoweredAfterJoiningItLosesFill) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const CscPattern b = lowered_while_worked_on();
  const auto expected = fill_reference(b);
  std::array<int, 6> wrong = {};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const simt::SimulatorScope scope({.seed = seed});
    const std::array found = {by_block<GsofaRules>(b),         by_grid<GsofaRules>(b),
                              by_block<ReadsBeforeLeaving>(b), by_grid<ReadsBeforeLeaving>(b),
                              by_block<LowersAfterWaiting>(b), by_grid<LowersAfterWaiting>(b)};
    for (std::size_t k = 0; k < found.size(); ++k) {
      LULAB_ASSERT_OK(found[k]);
      wrong[k] += *found[k] != *expected;
    }
  }
  EXPECT_EQ(std::count(wrong.begin(), wrong.begin() + 2, 0), 2);
  EXPECT_EQ(std::count(wrong.begin() + 2, wrong.end(), 0), 0);
}

/// A search that names the sets of what it found; the rest of its memory has no name.
class NamesFound final : public SourceSearch {
 public:
  explicit NamesFound(SourceSearch& search) : search_(search) {}
  std::int32_t most_sources() const override { return search_.most_sources(); }
  std::int64_t least_bytes(std::int32_t first, std::int32_t count) const override {
    return search_.least_bytes(first, count);
  }
  std::int64_t useful_bytes(std::int32_t first, std::int32_t count) const override {
    return search_.useful_bytes(first, count);
  }
  Status enqueue(const SourceBatch& b, std::byte* workspace, std::int64_t bytes, simt::Stream& stream) override {
    simt::name_elements(b.found, std::int64_t{b.count} * b.words, "found");
    return search_.enqueue(b, workspace, bytes, stream);
  }

 private:
  SourceSearch& search_;
};

/// Entries of the rows of all U(:,src): so many are looked at.
std::int64_t least_edges(const CscPattern& b, const FilledPattern& f) {
  std::int64_t least = 0;
  for (std::int32_t src = 0; src < f.n; ++src)
    for (std::int64_t s = f.col_ptr[src]; s < f.diag[src]; ++s)
      least += b.col_ptr[f.row_idx[s] + 1] - b.col_ptr[f.row_idx[s]];
  return least;
}

/// Whether some schedule gives another pattern, or too few entries.
template <class Search>
bool is_wrong(const FillLimits& limits) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const CscPattern b = random_matrix(seed, {.n = 40, .density = 0.06}).pattern();
    const simt::SimulatorScope scope({.seed = seed});
    auto search = Search::create(b.n_cols, limits);
    if (!search.ok()) return true;
    NamesFound named(*search);
    FillWork work;
    const auto f = download_fill_by_sources(b, limits, named, &work), expected = fill_reference(b);
    if (!f.ok() || *f != *expected || work.edges < least_edges(b, *expected)) return true;
  }
  return false;
}

// Those that only load are the same when they are torn.
TEST(GsofaMutants, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto block = testing::tear_each_atomic([] { return is_wrong<GsofaSearch>({}); });
  // places in the queue, entries, maxId; bits that come into two sets, and go from one
  EXPECT_EQ(block.met.size(), 6u);
  EXPECT_EQ(block.unnoticed, std::set<std::string>{});
  const auto grid = testing::tear_each_atomic([] { return is_wrong<GsofaSourcesSearch>({.queue_entries = 3}); });
  EXPECT_EQ(grid.met.size(), 8u);                  // and the two that say that a queue overflowed
  for (const std::string& place : grid.unnoticed)  // in one turn all write 1 there: torn, they write the same
    EXPECT_TRUE(simt::contains(place, "(&w.progress->overflowed[")) << place;
}

TEST(GsofaMutants, AnOverflowThatIsForgottenLosesFill) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  EXPECT_GT(wrong_patterns([](CscPatternView b) { return by_grid<ForgetsOverflow>(b, {.queue_entries = 3}); }), 0);
}

// Of the first frontier of all sources the queue holds three vertices; the mutant shows that the others are needed.
TEST(GsofaOverflow, IsWorkedOffOnceTheQueueIsEmpty) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const CscPattern b = random_matrix(seed, {.n = 24, .density = 0.12}).pattern();
    const simt::SimulatorScope scope({.seed = seed});
    const auto f = by_grid<GsofaRules>(b, {.queue_entries = 3});
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(*f, *fill_reference(b)) << "seed " << seed;
    const auto forgotten = by_grid<ForgetsOverflow>(b, {.queue_entries = 3});
    LULAB_ASSERT_OK(forgotten);
    EXPECT_NE(*forgotten, *f) << "no queue overflowed, seed " << seed;
  }
}

// Values of maxId for three groups, then they are cleared, also where the groups and the division of the workspace
// change.
TEST(GsofaSources, ClearsMaxIdWhenItsValuesRunOut) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const CscPattern b = random_matrix(seed, {.n = 40, .density = 0.06}).pattern();
    for (const std::int64_t bytes : {0, 900}) {
      const FillLimits limits = {.workspace_bytes = bytes, .sources = bytes == 0 ? 4 : 0};
      const simt::SimulatorScope scope({.seed = seed});
      for (const std::uint32_t largest : {40u, 3 * 40u, 3 * 40u + 39u}) {
        auto search = GsofaSourcesSearch::create(b.n_cols, limits, gsofa_sources_kernel<>, largest);
        LULAB_ASSERT_OK(search);
        FillWork work;
        const auto f = download_fill_by_sources(b, limits, *search, &work);
        LULAB_ASSERT_OK(f);
        EXPECT_EQ(*f, *fill_reference(b)) << "seed " << seed << ", " << bytes << " bytes, largest " << largest;
        EXPECT_GT(work.batches, 5);
      }
    }
  }
}

/// What 06_gsofa_sources does within limits; its pattern is the reference's.
FillWork work_of(CscPatternView b, const FillLimits& limits) {
  FillWork work;
  const auto f = fill_rungs::gsofa_sources.fill(b, limits, &work);
  EXPECT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(*f, *fill_reference(b));
  return work;
}

TEST(GsofaSources, WithoutWhatSavesTimeAndMemoryFindsTheSamePattern) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const CscPattern b = random_matrix(seed, {.n = 37, .density = 0.06}).pattern();
    // Half the room of 20 late columns: the first groups have more of them than the last.
    const FillWork free = work_of(b, {.sources = 20, .queue_entries = 40});
    const std::int64_t bytes = free.workspace_bytes / 2;
    const FillWork tight = work_of(b, {.workspace_bytes = bytes, .sources = 20, .queue_entries = 40});
    EXPECT_GT(tight.batches, free.batches);
    EXPECT_GT(tight.most_sources, tight.fewest_sources);

    const FillWork cleared =
        work_of(b, {.workspace_bytes = bytes, .sources = 20, .queue_entries = 40, .clears_max_id = true});
    EXPECT_EQ(cleared.batches, tight.batches);
    EXPECT_GT(cleared.cleared_bytes, tight.cleared_bytes);
    const FillWork bubbles =
        work_of(b, {.workspace_bytes = bytes, .sources = 20, .queue_entries = 40, .keeps_bubbles = true});
    EXPECT_GT(bubbles.batches, tight.batches);
    EXPECT_EQ(bubbles.workspace_bytes, tight.workspace_bytes);
    EXPECT_GT(work_of(b, {.sources = 20, .queue_entries = 40, .keeps_bubbles = true}).workspace_bytes,
              free.workspace_bytes);
    const FillWork alike =
        work_of(b, {.workspace_bytes = bytes, .sources = 20, .queue_entries = 40, .groups_of_one_size = true});
    EXPECT_EQ(alike.most_sources, alike.fewest_sources);
    EXPECT_GT(alike.batches, tight.batches);
    for (const std::int64_t least : {4000, 1000})
      work_of(b, {.workspace_bytes = least,
                  .queue_entries = 3,
                  .clears_max_id = seed % 2 == 0,
                  .keeps_bubbles = true,
                  .groups_of_one_size = true});
  }
}

// Each column has a set of n bits, whatever its search is; 04 has another for what it saw, 05 and 06 for what waits.
TEST(FillBySources, CountsWhatItClears) {
  LULAB_NEED_DEVICE();
  if (simt::race_detection) GTEST_SKIP() << "counts on the host";
  const CscPattern b = random_matrix(2, {.n = 61, .density = 0.06}).pattern();
  const std::int64_t n = 61, sets = 4 * n * set_words(61);
  const auto cleared = [&](const FillRung& rung, const FillLimits& limits) {
    FillWork work;
    EXPECT_TRUE(rung.fill(b, limits, &work).ok());
    return work.cleared_bytes;
  };
  EXPECT_EQ(cleared(fill_rungs::fill2_threads, {.sources = 20}), 2 * sets);
  EXPECT_EQ(cleared(fill_rungs::gsofa, {.sources = 20}), 2 * sets + 4 * n * (n - 1) / 2);
  const std::int64_t waiting = 4 * (32 * 1 + 28 * 2);  // of groups of one column: words up to the column
  EXPECT_EQ(cleared(fill_rungs::gsofa_sources, {.sources = 1}), sets + waiting + 4 * (n - 1));
  EXPECT_EQ(cleared(fill_rungs::gsofa_sources, {.sources = 1, .clears_max_id = true}),
            sets + waiting + 4 * n * (n - 1) / 2);
}

TEST(FillBySources, AllocatesNoMoreThanIsUseful) {
  LULAB_NEED_DEVICE();
  const CscPattern b = random_matrix(2, {.n = 61, .density = 0.06}).pattern();
  for (const FillRung* rung : every_fill_rung()) {
    if (rung->make_search == nullptr) continue;
    const FillLimits limits = {.sources = 20};
    const auto search = rung->make_search(61, limits);
    LULAB_ASSERT_OK(search);
    FillWork work;
    LULAB_ASSERT_OK(rung->fill(b, limits, &work));
    EXPECT_EQ(work.workspace_bytes, useful_workspace_bytes(**search, 61, limits)) << rung->id;
  }
}

// Room for the pattern doubles as it grows. Where so much is refused, what is needed may be there.
TEST(FillBySources, MakesDoWithTheRoomThatItNeeds) {
  LULAB_NEED_DEVICE();
  // L + U are full: more than the room that is made at first.
  const CscPattern b = testing::pattern_of(80, [](int i, int j) { return i == 0 || j == 0 || i == j; });
  const FillLimits limits = {.sources = 7};
  std::int64_t requests = 0, refused = 0;
  {
    const testing::DeviceMemoryLimit counts;
    LULAB_ASSERT_OK(fill_rungs::gsofa.fill(b, limits, nullptr));
    requests = counts.requests();
  }
  for (std::int64_t k = 1; k <= requests; ++k) {
    const testing::DeviceMemoryLimit limit(k, k);
    const auto f = fill_rungs::gsofa.fill(b, limits, nullptr);
    if (f.ok()) {
      EXPECT_EQ(*f, *fill_reference(b));
    } else {
      EXPECT_EQ(f.status().code, StatusCode::out_of_memory);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, requests);
}

/// Whether some schedule counts other entries than the first one, which is a thread after the other.
bool fill2_is_wrong() {
  const CscPattern b = random_matrix(1, {.n = 40, .density = 0.06}).pattern();
  const auto expected = fill_reference(b);
  std::int64_t edges = 0;
  for (const std::int32_t sources : {1, 40, 7, 40})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const simt::SimulatorScope scope({.seed = seed});
      FillWork work;
      const auto f = fill_rungs::fill2_threads.fill(b, {.sources = sources}, &work);
      if (edges == 0) edges = work.edges;
      if (!f.ok() || *f != *expected || work.edges != edges) return true;
    }
  return false;
}

TEST(Fill2ThreadsMutants, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic(fill2_is_wrong);
  EXPECT_EQ(atomics.met.size(), 1u);  // the sum of edges
  EXPECT_EQ(atomics.unnoticed, std::set<std::string>{});
}

/// maxId after the search from one source, and the rows found.
struct Traversal {
  std::vector<std::uint32_t> max_id;
  std::vector<std::int32_t> found;
};
Result<Traversal> traverse(CscPatternView b, std::int32_t src, bool passes_found) {
  const std::int32_t words = set_words(b.n_cols);
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  simt::DeviceBuffer<std::int64_t> d_col_ptr;
  simt::DeviceBuffer<std::int32_t> d_row_idx, d_queue;
  simt::DeviceBuffer<std::uint32_t> d_max_id, d_waiting, d_found;
  simt::DeviceBuffer<unsigned long long> d_edges;
  LULAB_RETURN_IF_ERROR(simt::make(d_col_ptr, b.col_ptr, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_row_idx, b.row_idx, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_queue, 2 * std::int64_t(b.n_cols)));
  LULAB_RETURN_IF_ERROR(simt::make(d_max_id, b.n_cols));
  LULAB_RETURN_IF_ERROR(simt::make(d_waiting, words));
  LULAB_RETURN_IF_ERROR(simt::make(d_found, words));
  LULAB_RETURN_IF_ERROR(simt::make(d_edges, 1));
  LULAB_RETURN_IF_ERROR(d_found.fill_bytes(0, stream));
  LULAB_RETURN_IF_ERROR(d_edges.fill_bytes(0, stream));
  const SourceBatch batch = {.n = b.n_cols,
                             .first = src,
                             .count = 1,
                             .b_col_ptr = d_col_ptr.data(),
                             .b_row_idx = d_row_idx.data(),
                             .words = words,
                             .found = d_found.data(),
                             .edges = d_edges.data()};
  LULAB_RETURN_IF_ERROR(simt::launch(gsofa_kernel<>, {.grid = 1, .block = gsofa_threads}, stream, batch,
                                     GsofaWork{d_max_id.data(), d_waiting.data(), d_queue.data()}, passes_found));
  Traversal t = {std::vector<std::uint32_t>(b.n_cols), {}};
  std::vector<std::uint32_t> found(words);
  LULAB_RETURN_IF_ERROR(d_max_id.download(t.max_id, stream));
  LULAB_RETURN_IF_ERROR(d_found.download(found, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  t.max_id.resize(src);  // above it there is none
  for (std::int32_t i = 0; i < b.n_cols; ++i)
    if (found[i / 32] >> (i % 32) & 1) t.found.push_back(i);
  return t;
}

TEST(Gsofa, LowersMaxIdAsInTheExampleOfGaihreAndOthers) {
  LULAB_NEED_DEVICE();
  constexpr std::uint32_t not_reached = ~std::uint32_t{0};
  for (const bool passes_found : {false, true})
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      const simt::SimulatorScope scope({.seed = seed});
      const auto t = traverse(testing::gaihre_example(), 8, passes_found);
      LULAB_ASSERT_OK(t);
      // 5 is found through 2. Later 0 offers 1, the largest on the path 8 -> 1 -> 0 -> 5: line 9.5 passes it by.
      const std::uint32_t of_5 = passes_found ? 2 : 1;
      EXPECT_EQ(t->max_id, (std::vector<std::uint32_t>{1, 0, 0, 2, 3, of_5, not_reached, 0}));
      EXPECT_EQ(t->found, (std::vector<std::int32_t>{1, 2, 3, 4, 5, 7, 8, 9}));
    }
}

/// Of every row of U(:,src), a frontier at least once and `most` times at most on average.
template <class Search>
void expect_entries_of_every_frontier(const CscPattern& b, int most) {
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    FillWork plain;
    auto search = Search::create(b.n_cols, {});
    LULAB_ASSERT_OK(search);
    LULAB_ASSERT_OK(download_fill_by_sources(b, {}, *search, &plain));
    const std::int64_t least = least_edges(b, *fill_reference(b));
    EXPECT_GE(plain.edges, least);
    EXPECT_LT(plain.edges, most * least);
  }
}

TEST(Gsofa, CountsTheEntriesThatItLooksAt) {
  LULAB_NEED_SIMULATOR();
  // Of columns with few entries each lane has at most one; of those with more than 32 it has every 32nd.
  for (const auto& [density, most] : {std::pair(0.05, 20), std::pair(0.8, 2)}) {
    const CscPattern b = random_matrix(3, {.n = 60, .density = density}).pattern();
    expect_entries_of_every_frontier<GsofaSearch>(b, most);
    expect_entries_of_every_frontier<GsofaSourcesSearch>(b, most);
  }
}

}  // namespace
}  // namespace lulab
