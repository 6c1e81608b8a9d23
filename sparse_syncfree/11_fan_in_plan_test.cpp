// The plan, run by a sequential program that does what its comments say: words must be there when they are read, and
// the factors those of dense elimination.

#include "sparse_syncfree/11_fan_in_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "sparse_syncfree/11_fan_in_chunks.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_syncfree {
namespace {

using testing::analysis_for;
using testing::matrix_that_fills_to;

constexpr double not_there = std::numeric_limits<double>::quiet_NaN();

/// Factors by the plan, in the order of its tasks.
class Interpreter {
 public:
  /// a: P·R·A·C·Q in A's own order   nnz: of As
  Interpreter(const FanInPlan& plan, std::vector<double> a, std::int64_t nnz)
      : plan_(plan), shape_(plan.shape), a_(std::move(a)), values_(nnz, not_there), words_(plan.n_words, not_there) {}

  std::vector<double> run() {
    for (t_ = 0; t_ < plan_.size(); ++t_) run_task(plan_.task(t_));
    return values_;
  }

 private:
  template <class U>
  const U* table(std::uint32_t offset) const {
    return plan_.table<U>(t_, offset);
  }
  double word(std::uint32_t at) {
    if (std::isnan(words_.at(at))) ADD_FAILURE() << "word " << at << " is read before it is written";
    return words_[at];
  }
  void write(std::int64_t at, double value) {
    if (!std::isnan(words_.at(at))) ADD_FAILURE() << "word " << at << " is written twice";
    words_[at] = value;
  }

  /// visit(row, group) for all rows of a table, each in one group.
  template <class Visit>
  void for_each_row(const FanInTable& t, const Visit& visit) const {
    std::uint32_t next = 0;
    for (std::uint32_t g = 0; g < t.n_groups; ++g) {
      const FanInGroup& group = table<FanInGroup>(t.groups)[g];
      EXPECT_EQ(group.first_row, next);
      EXPECT_LE(group.log_lanes, 5);
      for (; next < group.first_row + group.rows; ++next) visit(table<FanInRow>(t.rows)[next], group);
    }
  }

  /// all_words: of the stages before
  void add_words(const FanInStage& stage, std::set<std::uint32_t>& all_words) {
    EXPECT_TRUE(stage.last < stage.words.groups && stage.words.items < stage.end && stage.end <= plan_.task(t_).bytes);
    std::set<std::uint32_t> words;
    std::set<std::uint16_t> places;
    for_each_row(stage.words, [&](const FanInRow& row, const FanInGroup&) {
      EXPECT_TRUE(places.insert(row.place).second) << "two sums for one entry";
      for (std::uint32_t q = 0; q < row.count; ++q) {
        const std::uint32_t at = table<std::uint32_t>(stage.words.items)[row.first_item + q];
        EXPECT_TRUE(words.insert(at).second && all_words.insert(at).second) << "one word added twice";
        x_.at(row.place) -= word(at);
      }
    });
    for (std::uint32_t q = 0; q < stage.n_last; ++q)
      EXPECT_TRUE(words.contains(table<std::uint32_t>(stage.last)[q])) << "a word is awaited that is not added";
    EXPECT_TRUE(stage.n_last > 0 && !words.empty());
  }

  void run_task(const FanInTask& t) {
    EXPECT_EQ(t.bytes, 16 * (plan_.begin[t_ + 1] - plan_.begin[t_]));
    EXPECT_TRUE(t.staged % 16 == 0 && t.staged <= t.bytes && t.staged >= sizeof(FanInTask));
    EXPECT_LE(8 * (shape_.scratch() + t.x_scalars) + t.staged, plan_.shared_bytes);
    x_.assign(t.x_scalars, 0.0);
    for (std::uint32_t e = 0; e < t.load.count; ++e)
      x_.at(table<std::uint16_t>(t.load.places)[e]) = a_.at(table<std::uint32_t>(t.load.positions)[e]);
    std::set<std::uint32_t> words;
    for (std::uint32_t s = 0; s < t.n_stages; ++s) add_words(t.stages[s], words);
    t.is_dense ? run_dense(t) : run_sparse(t);
  }

  void run_dense(const FanInTask& t) {
    const std::uint32_t size = t.x_scalars / t.stride;
    EXPECT_TRUE(t.rows <= size && t.columns <= size && size % FanInShape::size_step == 0);
    EXPECT_EQ(static_cast<std::int32_t>(t.stride), FanInShape::stride_of(size));
    EXPECT_LE(static_cast<std::int32_t>(size), shape_.max_front());
    const auto x = [&](std::uint32_t i, std::uint32_t j) -> double& { return x_.at(i * t.stride + j); };
    for (std::uint32_t k = 0; k < t.pivots; ++k)
      for (std::uint32_t i = k + 1; i < t.rows; ++i) {
        x(i, k) /= x(k, k);
        for (std::uint32_t j = k + 1; j < t.columns; ++j) x(i, j) -= x(i, k) * x(k, j);
      }
    const std::uint32_t width = t.columns - t.pivots;
    for (std::uint32_t i = t.pivots; i < t.rows; ++i)
      for (std::uint32_t j = t.pivots; j < t.columns; ++j)
        write(t.words + std::int64_t(i - t.pivots) * width + (j - t.pivots), -x(i, j));
    for (std::uint32_t e = 0; e < t.store.count; ++e)
      values_.at(table<std::uint32_t>(t.store.positions)[e]) = x_.at(table<std::uint16_t>(t.store.places)[e]);
  }

  void run_sparse(const FanInTask& t) {
    EXPECT_LE(static_cast<std::int32_t>(t.pivots), shape_.max_sparse_pivots());
    std::vector<double> pivots(t.pivots, not_there);
    const auto sum_of = [&](const FanInTable& of, const FanInRow& row) {
      double sum = 0;
      for (std::uint32_t q = 0; q < row.count; ++q) {
        const FanInProduct p = table<FanInProduct>(of.items)[(row.first_item & 0xffffff) + q];
        sum += x_.at(p & 4095) * x_.at(p >> 12 & 4095) / pivots.at(p >> 24);
      }
      return sum;
    };
    std::vector<std::pair<std::uint16_t, double>> changes;  // of a level: they must not depend on each other
    std::vector<std::pair<std::uint32_t, std::uint16_t>> found;
    const FanInGroup* before = nullptr;
    const auto end_level = [&] {
      for (const auto& [place, value] : changes) x_.at(place) = value;
      for (const auto& [pivot, place] : found) pivots.at(pivot) = x_.at(place);
      changes.clear();
      found.clear();
    };
    for_each_row(t.levels, [&](const FanInRow& row, const FanInGroup& group) {
      if (before && before != &group && before->ends_level) end_level();
      before = &group;
      changes.emplace_back(row.place, x_.at(row.place) - sum_of(t.levels, row));
      if (row.first_item >> 24 != no_pivot) found.emplace_back(row.first_item >> 24, row.place);
    });
    EXPECT_TRUE(before && before->ends_level);
    end_level();
    for_each_row(t.sums,
                 [&](const FanInRow& row, const FanInGroup&) { write(t.words + row.place, sum_of(t.sums, row)); });
    for (std::uint32_t e = 0; e < t.store.count; ++e) {
      const std::uint16_t by = table<std::uint16_t>(t.store.places)[e];
      values_.at(table<std::uint32_t>(t.store.positions)[e]) = by == no_pivot ? x_.at(e) : x_.at(e) / pivots.at(by);
    }
  }

  const FanInPlan& plan_;
  const FanInShape shape_;
  std::vector<double> a_, values_, words_, x_;
  std::int32_t t_ = 0;
};

/// Of every kind of chunk some, and fronts that are split where n is above 32.
std::vector<FanInOptions> all_options() {
  return {{},
          {.max_front = 32,
           .bottom_columns = 8,
           .columns = 8,
           .split_columns = 8,
           .max_products = 40,
           .packs = 3,
           .stage_words = 1,
           .may_shrink_blocks = true},
          {.max_front = 32,
           .bottom_columns = 1,
           .columns = 1,
           .split_columns = 1,
           .max_products = 0,
           .packs = 1000,
           .stage_words = 1},
          {.shared_bytes = 30 << 10, .max_front = 32, .max_entries = 100, .max_products = 500, .packs = 2},
          {.max_front = 64, .bottom_columns = 32, .columns = 32, .split_columns = 32, .max_products = 0},
          fan_in_batch_options(),
          {.shape = {fan_in_batch_threads},
           .shared_bytes = 20 << 10,
           .max_front = 32,
           .bottom_columns = 8,
           .columns = 8,
           .split_columns = 8,
           .max_products = 40,
           .packs = 3}};
}

struct Reached {
  std::int32_t sparse = 0, dense = 0, split = 0, unstaged = 0, in_stages = 0, in_small_blocks = 0;
};

void expect_factors(const FilledPattern& pattern, const FanInOptions& o, std::uint64_t seed, Reached& reached) {
  const CscMatrix<double> a = matrix_that_fills_to<double>(pattern, seed);
  const Analysis analysis = analysis_for(a.pattern());
  const FilledPattern& f = analysis.filled;
  const auto plan = make_fan_in_plan(f, analysis.a_to_filled, o);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  testing::expect_like(Interpreter(*plan, a.values, f.nnz()).run(), testing::dense_factors(a, analysis),
                       std::max(f.n, 1));
  reached.sparse += plan->n_sparse;
  reached.dense += plan->n_dense;
  reached.split += plan->n_split;
  for (std::int32_t t = 0; t < plan->size(); ++t) {
    reached.unstaged += plan->task(t).staged < plan->task(t).bytes;
    reached.in_stages += plan->task(t).n_stages > 1;
  }
  if (plan->shape.threads != o.shape.threads) {
    ++reached.in_small_blocks;
    EXPECT_TRUE(o.may_shrink_blocks && plan->n_split == 0);
  }
  EXPECT_LE(plan->shared_bytes, o.shared_bytes);
}

TEST(FanInPlan, DoesTheEliminationInAnOrderThatNeverWaits) {
  auto patterns = testing::random_patterns(40);
  for (auto& p : testing::generated_patterns(60)) patterns.push_back(std::move(p));
  for (const std::int32_t n : {0, 1, 2, 31, 32, 33, 64, 65})
    patterns.push_back(
        {"dense", analysis_for(testing::random_unsymmetric<double>(n, 1.0, 2.0 * n, n).pattern()).filled});
  std::uint64_t seed = 0;
  Reached reached;
  for (const auto& [name, f, before] : patterns)
    for (const FanInOptions& o : all_options()) {
      SCOPED_TRACE(name);
      expect_factors(f, o, ++seed, reached);
      if (HasFailure()) return;
    }
  EXPECT_GT(reached.sparse, 100);
  EXPECT_GT(reached.dense, 100);
  EXPECT_GT(reached.split, 10);
  EXPECT_GT(reached.in_stages, 100);
  EXPECT_GT(reached.in_small_blocks, 10);
}

// Many rows beside the pivots, many columns, or both; tables larger than a block's memory.
TEST(FanInPlan, LargeFrontsAreSplit) {
  Reached reached;
  for (const char* family : {"arrow_first", "arrow_last", "dense_row", "dense_column", "random"}) {
    SCOPED_TRACE(family);
    const auto a = generate(family, {.n = 90});
    ASSERT_TRUE(a.ok());
    const auto analysis = testing::analyze_ordered(*a, {.order = Order::natural});
    ASSERT_TRUE(analysis.ok());
    for (const FanInOptions& o : all_options()) {
      expect_factors(analysis->filled, o, 7, reached);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(reached.split, 10);
  EXPECT_GT(reached.unstaged, 0);
}

TEST(FanInPlan, IsTheSameForAnyNumberOfHostThreads) {
  for (const char* family : {"grid2d", "arrow_last", "sram_array"}) {
    SCOPED_TRACE(family);
    const auto a = generate(family, {.n = 900, .seed = 3});
    ASSERT_TRUE(a.ok());
    const auto analysis = testing::analyze_ordered(*a, {.order = Order::amd});
    ASSERT_TRUE(analysis.ok());
    for (FanInOptions o : all_options()) {
      o.host_threads = 1;
      const auto one = make_fan_in_plan(analysis->filled, analysis->a_to_filled, o);
      ASSERT_TRUE(one.ok());
      for (const int threads : {2, 5}) {
        o.host_threads = threads;
        const auto many = make_fan_in_plan(analysis->filled, analysis->a_to_filled, o);
        ASSERT_TRUE(many.ok());
        EXPECT_TRUE(one->tasks == many->tasks && one->begin == many->begin && one->n_words == many->n_words);
      }
    }
  }
}

// Leaves, pairs of rows that follow them, and a hub that all pairs touch.
TEST(FanInPlan, SmallChunksOfAHigherLayerArePacked) {
  constexpr std::int32_t pairs = 400, hubs = 40;
  std::vector<std::int32_t> rows, columns;
  const auto add = [&](std::int32_t i, std::int32_t j) {
    rows.push_back(i);
    columns.push_back(j);
  };
  for (std::int32_t k = 0; k < 2 * pairs + hubs; ++k) add(k, k);
  for (std::int32_t k = 0; k < pairs; ++k) {
    add(pairs + k, k);
    add(k, pairs + k);
    add(2 * pairs, pairs + k);
    add(2 * pairs + 1, pairs + k);
  }
  FanInOptions options;
  options.bottom_columns = options.columns = 1;
  options.max_entries = options.max_products = 0;
  options.packs = 4;
  const std::vector<double> ones(rows.size(), 1);
  const auto a = from_triplets<double>(2 * pairs + hubs, 2 * pairs + hubs, rows, columns, ones);
  const FilledPattern f = analysis_for(a.pattern()).filled;
  const Chunks chunks = find_fan_in_chunks(f, rows_of_l(f), rows_of_u(f), options);
  EXPECT_LE(std::ranges::count(chunks.layer, 0), 15);
  EXPECT_LE(std::ranges::count(chunks.layer, 1), 4);
  EXPECT_GE(std::ranges::count(chunks.layer, 1), 2);
}

TEST(FanInPlan, SmallChunksOfTheLowestLayerArePacked) {
  const auto a = generate("arrow_last", {.n = 600});
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::natural});
  ASSERT_TRUE(analysis.ok());
  const FilledPattern& f = analysis->filled;
  FanInOptions options;
  options.packs = 4;
  const Chunks chunks = find_fan_in_chunks(f, rows_of_l(f), rows_of_u(f), options);
  EXPECT_LE(chunks.size(), 6);
  EXPECT_GE(chunks.size(), 4);
}

// Entries join chunks of two layers, or lie inside one.
TEST(FanInPlan, ChunksOfOneLayerDoNotTouch) {
  for (const auto& [name, f, before] : testing::generated_patterns(80))
    for (const FanInOptions& o : all_options()) {
      const Chunks c = find_fan_in_chunks(f, rows_of_l(f), rows_of_u(f), o);
      for (std::int32_t j = 0; j < f.n; ++j)
        for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
          const std::int32_t i = f.row_idx[p], first = std::min(i, j), second = std::max(i, j);
          ASSERT_TRUE(c.of[first] == c.of[second] || c.layer[c.of[first]] < c.layer[c.of[second]]) << name;
        }
    }
}

TEST(FanInPlan, PlansThatTakeTooMuchMemoryAreRefused) {
  const Analysis dense = analysis_for(testing::random_unsymmetric<double>(100, 1.0, 400, 1).pattern());
  FanInOptions options;
  const auto plan = make_fan_in_plan(dense.filled, dense.a_to_filled, options);
  ASSERT_TRUE(plan.ok());
  options.max_bytes = bytes_of(*plan, options.scalar_bytes) - 1000;
  EXPECT_EQ(make_fan_in_plan(dense.filled, dense.a_to_filled, options).status().code, StatusCode::not_implemented);
}

// Bit lines of many cells: the fronts of their chunks are far larger than what they eliminate.
TEST(FanInPlan, PlansThatSendMoreWordsThanTheyMayAreRefused) {
  const auto cells = generate("sram_array", {.n = 20000}), grid = generate("grid2d", {.n = 10000});
  ASSERT_TRUE(cells.ok() && grid.ok());
  const auto of_cells = testing::analyze_ordered(*cells, {.order = Order::amd}),
             of_grid = testing::analyze_ordered(*grid, {.order = Order::amd});
  ASSERT_TRUE(of_cells.ok() && of_grid.ok());
  FanInOptions options;
  EXPECT_TRUE(make_fan_in_plan(of_grid->filled, of_grid->a_to_filled, options).ok());
  const Status refused = make_fan_in_plan(of_cells->filled, of_cells->a_to_filled, options).status();
  EXPECT_EQ(refused.code, StatusCode::not_implemented) << refused.to_string();
  options.max_words = 1e9;
  const auto plan = make_fan_in_plan(of_cells->filled, of_cells->a_to_filled, options);
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->n_words, 4 * of_cells->filled.nnz());
}

}  // namespace
}  // namespace lulab::sparse_syncfree
