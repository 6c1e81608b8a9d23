// The plan, run by a sequential program that does what its comments say: what a tile reads must be there, and the
// factors those of dense elimination.

#include "sparse_syncfree/12_front_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "testing/fixed_pivots.h"
#include "testing/schedules.h"

namespace lulab::sparse_syncfree {
namespace {

using testing::analysis_for;
using testing::matrix_that_fills_to;

constexpr double unwritten = std::numeric_limits<double>::quiet_NaN();

/// Factors by the plan, in the order of its tiles.
class FrontInterpreter {
 public:
  /// a: P·R·A·C·Q on the pattern of As
  FrontInterpreter(const FrontPlan& plan, const Fronts& fronts, const FilledPattern& f, std::vector<double> a)
      : plan_(plan),
        tree_(fronts.tree),
        columns_(find_front_columns(f, fronts)),
        f_(f),
        a_(std::move(a)),
        values_(f.nnz(), unwritten),
        parts_(plan.n_parts, unwritten),
        left_(plan.n_left, unwritten),
        reads_(plan.n_left, 0),
        flags_(plan.n_flags, 0) {}

  std::vector<double> run() {
    EXPECT_EQ(std::ssize(plan_.fronts), tree_.size());
    for (const FrontTile& t : plan_.tiles) run_tile(t);
    for (std::size_t s = 0; s < plan_.fronts.size(); ++s) expect_done(plan_.fronts[s], static_cast<std::int32_t>(s));
    return values_;
  }

 private:
  /// Part of a front in its own numbering, tile by tile.
  struct Tile {
    const FrontShape& shape;
    std::int32_t row, column, rows, columns;
    std::vector<double> x;  // (rows, columns)

    double& at(std::int32_t i, std::int32_t j) { return x[std::size_t(i) * columns + j]; }
  };

  std::int32_t column_of_as(std::int32_t front, std::int32_t at) const {
    const std::int32_t pivots = tree_.pivots(front);
    return at < pivots ? tree_.first[front] + at : tree_.others_of(front)[at - pivots];
  }
  double& part(const FrontShape& shape, std::int32_t row, std::int32_t column, std::int32_t k, std::int32_t other) {
    const std::int64_t size = std::int64_t(front_tile) * shape.cuts.pivot_edge;
    if (k >= shape.cuts.pivot_edge || other >= front_tile) ADD_FAILURE() << "outside of its tile";
    return parts_.at(shape.parts + shape.cuts.slot(row, column) * size + k * front_tile + other);
  }
  double there(double value, const char* what) const {
    if (std::isnan(value)) ADD_FAILURE() << what << " is read before it is written";
    return value;
  }
  void expect_flag(std::int32_t flag, std::int32_t awaited, const char* of) const {
    if (flags_.at(flag) != awaited) ADD_FAILURE() << "a tile awaits " << of << " that comes after it";
  }

  std::span<const std::uint8_t> places(std::int32_t strip) const {
    return std::span(plan_.strips).subspan(front_tile * std::int64_t(strip), front_tile);
  }

  void run_tile(const FrontTile& t) {
    const FrontShape& shape = plan_.fronts.at(t.front);
    const FrontCuts& cuts = shape.cuts;
    ASSERT_EQ(shape.first_column, tree_.first[t.front]);
    ASSERT_TRUE(t.row < cuts.tiles && t.column < cuts.tiles);
    Tile x = {shape, t.row, t.column, cuts.size(t.row), cuts.size(t.column), {}};
    x.x.assign(std::size_t(x.rows) * x.columns, 0.0);
    const std::int32_t before = std::min<std::int32_t>({t.row, t.column, cuts.pivot_tiles});
    const bool has_pivots = before < cuts.pivot_tiles;
    if (has_pivots) for_each_entry(t, x, [&](std::int64_t p, double& value) { value = a_.at(p); });
    add_children(t, x);
    for (std::int32_t k = 0; k < before; ++k) {
      expect_flag(shape.flags + 1 + cuts.slot(t.row, k), 1, "a tile of L");
      expect_flag(shape.flags + 1 + cuts.slot(k, t.column), 1, "a tile of U");
      for (std::int32_t e = 0; e < cuts.size(k); ++e)
        for (std::int32_t i = 0; i < x.rows; ++i)
          for (std::int32_t j = 0; j < x.columns; ++j)
            x.at(i, j) -= there(part(shape, t.row, k, e, i), "L") * there(part(shape, k, t.column, e, j), "U");
    }
    if (!has_pivots) return leave(t, x, 0);
    eliminate(x, before);
    if (cuts.is_one_tile()) {
      if (cuts.rows > cuts.pivots) leave(t, x, cuts.pivots);
    } else {
      const bool of_l = t.row > t.column;
      for (std::int32_t e = 0; e < cuts.pivots_of(before); ++e)
        for (std::int32_t other = 0; other < (of_l ? x.rows : x.columns); ++other) {
          double& to = part(shape, t.row, t.column, e, other);
          EXPECT_TRUE(std::isnan(to)) << "a tile is done twice";
          to = of_l ? x.at(other, e) : x.at(e, other);
        }
      ++flags_.at(shape.flags + 1 + cuts.slot(t.row, t.column));
    }
    for_each_entry(t, x, [&](std::int64_t p, double& value) {
      EXPECT_TRUE(std::isnan(values_.at(p))) << "two tiles have entry " << p << " of As";
      values_.at(p) = value;
    });
  }

  /// visit(position in As, x(i,j)) for the entries of As in a tile.
  template <class Visit>
  void for_each_entry(const FrontTile& t, Tile& x, const Visit& visit) const {
    const FrontCuts& cuts = x.shape.cuts;
    const std::int64_t first = x.shape.columns + std::int64_t(front_tile) * cuts.slot(t.row, t.column);
    for (std::int32_t c = 0; c < x.columns; ++c) {
      const FrontColumn& column = columns_.at(first + c);
      const std::int32_t j = column_of_as(t.front, cuts.begin(t.column) + c);
      EXPECT_EQ(column.column, j);
      std::int64_t p = column.position;
      for (std::uint64_t rows = column.rows; rows != 0; rows &= rows - 1, ++p) {
        const std::int32_t i = std::countr_zero(rows);
        ASSERT_LT(i, x.rows);
        ASSERT_TRUE(p >= f_.col_ptr[j] && p < f_.col_ptr[j + 1]) << "of another column of As";
        ASSERT_EQ(f_.row_idx[p], column_of_as(t.front, cuts.begin(t.row) + i));
        visit(p, x.at(i, c));
      }
    }
  }

  void add_children(const FrontTile& t, Tile& x) {
    for (std::int32_t q = t.first_input; q < t.end_input; ++q) {
      const FrontInput& in = plan_.inputs.at(q);
      expect_flag(in.flag, in.awaited, "a child");
      const auto rows = places(in.rows), columns = places(in.columns);
      for (std::int32_t e = 0; e < front_tile; ++e) {
        EXPECT_TRUE(e < x.rows || rows[e] == no_place);
        EXPECT_TRUE(e < x.columns || columns[e] == no_place);
      }
      std::int32_t added = 0;
      for (std::int32_t i = 0; i < x.rows; ++i)
        for (std::int32_t j = 0; j < x.columns; ++j) {
          if (rows[i] == no_place || columns[j] == no_place) continue;
          const std::int64_t at = in.left + std::int64_t(rows[i]) * in.others + columns[j];
          x.at(i, j) += there(left_.at(at), "what a child leaves");
          ++reads_.at(at);
          ++added;
        }
      EXPECT_GT(added, 0);
    }
  }

  void eliminate(Tile& x, std::int32_t pivot) {
    const std::int32_t pivots = x.shape.cuts.pivots_of(pivot);
    const bool diagonal = x.row == x.column;
    if (!diagonal) expect_flag(x.shape.flags + 1 + x.shape.cuts.slot(pivot, pivot), 1, "a tile of pivots");
    const auto triangle = [&](std::int32_t i, std::int32_t j) {
      return diagonal ? x.at(i, j) : there(part(x.shape, pivot, pivot, i, j), "a tile of pivots");
    };
    for (std::int32_t k = 0; k < pivots; ++k) {
      if (x.row >= x.column)
        for (std::int32_t i = diagonal ? k + 1 : 0; i < x.rows; ++i) x.at(i, k) /= triangle(k, k);
      for (std::int32_t i = x.row > x.column ? 0 : k + 1; i < (x.row < x.column ? pivots : x.rows); ++i)
        for (std::int32_t j = x.row < x.column ? 0 : k + 1; j < (x.row > x.column ? pivots : x.columns); ++j)
          x.at(i, j) -=
              (x.row < x.column ? triangle(i, k) : x.at(i, k)) * (x.row > x.column ? triangle(k, j) : x.at(k, j));
    }
  }

  /// Rows and columns of x from `first` on.
  void leave(const FrontTile& t, Tile& x, std::int32_t first) {
    const FrontCuts& cuts = x.shape.cuts;
    const std::int64_t others = cuts.rows - cuts.pivots;
    for (std::int32_t i = first; i < x.rows; ++i)
      for (std::int32_t j = first; j < x.columns; ++j) {
        const std::int64_t row = cuts.begin(t.row) + i - cuts.pivots, column = cuts.begin(t.column) + j - cuts.pivots;
        ASSERT_TRUE(row >= 0 && row < others && column >= 0 && column < others);
        double& to = left_.at(x.shape.left + row * others + column);
        EXPECT_TRUE(std::isnan(to)) << "left twice";
        to = x.at(i, j);
      }
    ++flags_.at(x.shape.flags);
  }

  /// All of its tiles have run, and the parent has added all that it leaves, once.
  void expect_done(const FrontShape& shape, std::int32_t front) const {
    const FrontCuts& cuts = shape.cuts;
    EXPECT_EQ(flags_.at(shape.flags), cuts.left_tiles());
    for (std::int32_t slot = 0; slot < cuts.slots() && !cuts.is_one_tile(); ++slot)
      EXPECT_EQ(flags_.at(shape.flags + 1 + slot), 1);
    const std::int64_t others = cuts.rows - cuts.pivots;
    for (std::int64_t e = 0; e < others * others; ++e) EXPECT_EQ(reads_.at(shape.left + e), 1) << "front " << front;
  }

  const FrontPlan& plan_;
  const AssemblyTree& tree_;
  const std::vector<FrontColumn> columns_;
  const FilledPattern& f_;
  std::vector<double> a_, values_, parts_, left_;
  std::vector<int> reads_;           // of what is left
  std::vector<std::int32_t> flags_;  // as the tiles count them
};

struct FrontCase {
  RelaxationOptions panels = {};
  FrontCosts costs = {};
};
/// Fronts of one tile; of one panel each; of all that can be one; of 70 pivots and more with others.
std::vector<FrontCase> front_cases() {
  return {{},
          {{}, {.tile = 1 << 20, .fixed = 1e12}},
          {{}, {.tile = 1 << 20, .fixed = -1e9}},
          {{1, 1, 1}, {.tile = 1 << 20, .fixed = -1e9}},
          {{100, 1, 1e9}, {.tile = 1 << 20, .fixed = -1e9}},
          {{70, 8, 3}, {.fixed = 100}}};
}

struct ReachedFronts {
  std::int32_t one_tile = 0, cut = 0, cut_pivots = 0, with_both = 0, inputs = 0;
};

void expect_front_factors(const CscMatrix<double>& a, const FrontCase& c, ReachedFronts& reached) {
  const Analysis analysis = analysis_for(a.pattern());
  const FilledPattern& f = analysis.filled;
  const Fronts fronts = find_fronts(f, find_relaxed_supernodes(f, c.panels), c.costs);
  const auto plan = make_front_plan(fronts, f.nnz(), {.max_padding = 1e9, .host_threads = 3}),
             of_one_thread = make_front_plan(fronts, f.nnz(), {.max_padding = 1e9, .host_threads = 1});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  ASSERT_EQ(*plan, *of_one_thread);
  std::vector<double> as(f.nnz(), 0.0);
  for (std::int64_t k = 0; k < a.nnz(); ++k) as[analysis.a_to_filled[k]] = a.values[k];
  testing::expect_like(FrontInterpreter(*plan, fronts, f, as).run(), testing::dense_factors(a, analysis),
                       std::max(f.n, 1));
  for (const FrontShape& shape : plan->fronts) {
    reached.one_tile += shape.cuts.is_one_tile();
    reached.cut += !shape.cuts.is_one_tile();
    reached.cut_pivots += shape.cuts.pivot_tiles > 1;
    reached.with_both += shape.cuts.pivot_tiles > 1 && shape.cuts.tiles > shape.cuts.pivot_tiles;
  }
  reached.inputs += static_cast<std::int32_t>(plan->inputs.size());
}

TEST(FrontPlan, DoesTheEliminationInAnOrderThatNeverWaits) {
  auto patterns = testing::random_patterns(simt::instrumented ? 15 : 40);
  for (auto& p : testing::generated_patterns(simt::instrumented ? 70 : 90)) patterns.push_back(std::move(p));
  ReachedFronts reached;
  std::uint64_t seed = 0;
  for (const auto& [name, f, before] : patterns) {
    const auto a = matrix_that_fills_to<double>(f, ++seed);
    for (const FrontCase& c : front_cases()) {
      SCOPED_TRACE(name);
      expect_front_factors(a, c, reached);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(reached.one_tile, 1000);
  EXPECT_GT(reached.cut, simt::instrumented ? 1 : 20);
  EXPECT_GT(reached.inputs, 1000);
}

TEST(FrontPlan, CutsDenseMatricesAndMeshesIntoTiles) {
  ReachedFronts reached;
  for (const std::int32_t n :
       simt::instrumented ? std::vector{0, 65, 138} : std::vector{0, 1, 64, 65, 70, 128, 129, 200})
    for (const FrontCase& c : front_cases()) {
      SCOPED_TRACE(n);
      expect_front_factors(testing::random_unsymmetric<double>(n, 1.0, 2.0 * n, n), c, reached);
      if (HasFailure()) return;
    }
  EXPECT_GT(reached.cut_pivots, simt::instrumented ? 4 : 10);
  EXPECT_GE(reached.with_both, simt::instrumented ? 1 : 3);
  for (const char* family : {"grid2d", "convection2d", "power_grid"}) {
    SCOPED_TRACE(family);
    const auto generated = generate(family, {.n = simt::instrumented ? 100 : 200});
    ASSERT_TRUE(generated.ok());
    const auto analysis = testing::analyze_ordered(*generated, {.order = Order::metis});
    ASSERT_TRUE(analysis.ok());
    const auto a = matrix_that_fills_to<double>(analysis->filled, 5);
    for (const FrontCase& c : front_cases()) {
      expect_front_factors(a, c, reached);
      if (HasFailure()) return;
    }
  }
}

// More entries than one thread takes: each lies in one tile, where its row and its column are.
TEST(FrontColumns, HaveEachEntryOfALargePatternOnce) {
  const auto a = generate("banded", {.n = 130000});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::natural});
  ASSERT_TRUE(analysis.ok());
  const FilledPattern& f = analysis->filled;
  ASSERT_GT(f.nnz(), 1'000'000);
  std::vector<int> seen(f.nnz(), 0);
  for (const FrontColumn& column : find_front_columns(f, find_fronts(*analysis, {})))
    for (int p = 0; p < std::popcount(column.rows); ++p) {
      const std::int64_t at = std::int64_t(column.position) + p;
      ASSERT_TRUE(at >= f.col_ptr[column.column] && at < f.col_ptr[column.column + 1]);
      ++seen[at];
    }
  EXPECT_EQ(std::ranges::count(seen, 1), f.nnz());
}

void expect_cuts(std::int32_t pivots, std::int32_t rows) {
  const FrontCuts c = FrontCuts::of(pivots, rows);
  ASSERT_EQ(c.is_one_tile(), rows <= front_tile);
  std::int32_t at = 0, of_pivots = 0, left_tiles = 0;
  for (std::int32_t part = 0; part < c.tiles; ++part) {
    ASSERT_EQ(c.begin(part), at);
    ASSERT_TRUE(c.size(part) >= 1 && c.size(part) <= front_tile);
    ASSERT_LE(c.pivots_of(part), c.pivot_edge);
    ASSERT_EQ(c.part_of(at), part);
    at += c.size(part);
    ASSERT_EQ(c.part_of(at - 1), part);
    of_pivots += c.pivots_of(part);
    if (!c.is_one_tile()) {
      ASSERT_EQ(c.pivots_of(part), part < c.pivot_tiles ? c.size(part) : 0) << "pivots and others in one part";
    }
  }
  ASSERT_EQ(at, rows);
  ASSERT_EQ(of_pivots, pivots);
  std::vector<bool> slots(c.slots(), false);
  for (std::int32_t row = 0; row < c.tiles; ++row)
    for (std::int32_t column = 0; column < c.tiles; ++column) {
      if (std::min(row, column) >= c.pivot_tiles) {
        ++left_tiles;
        continue;
      }
      const std::int32_t slot = c.slot(row, column);
      if (slot < 0 || slot >= c.slots() || slots[slot]) FAIL() << "slot " << slot << " of " << row << " " << column;
      slots[slot] = true;
    }
  ASSERT_EQ(std::ranges::count(slots, false), 0);
  ASSERT_EQ(c.left_tiles(), c.is_one_tile() ? int(rows > pivots) : left_tiles);
}

TEST(FrontCuts, PutEachRowIntoOnePart) {
  for (std::int32_t rows = 1; rows <= 200; ++rows)
    for (std::int32_t pivots = 1; pivots <= rows; ++pivots) {
      SCOPED_TRACE(std::to_string(pivots) + " of " + std::to_string(rows));
      expect_cuts(pivots, rows);
      if (HasFatalFailure()) return;
    }
  for (std::int32_t pivots = 1; pivots < 4000; pivots += 31) {
    SCOPED_TRACE(pivots);
    expect_cuts(pivots, 4000);
    if (HasFatalFailure()) return;
  }
}

TEST(FrontPlan, BytesAreThoseOfItsTablesAndOfWhatItsTilesExchange) {
  const auto a = generate("grid2d", {.n = 400});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  const std::int64_t nnz = analysis->filled.nnz();
  for (const std::int64_t scalar_bytes : {4, 8})
    for (const double fixed : {5.0, 1e12}) {
      const Fronts fronts = find_fronts(*analysis, {.tile = fixed > 5 ? 1 << 20 : front_tile, .fixed = fixed});
      FrontOptions options;
      options.scalar_bytes = scalar_bytes;
      options.max_padding = 1e9;
      const auto plan = make_front_plan(fronts, nnz, options);
      ASSERT_TRUE(plan.ok());
      std::int64_t parts = 0, left = 0, flags = 1, slots = 0, tiles = 0;
      for (const FrontShape& shape : plan->fronts) {
        const std::int64_t others = shape.cuts.rows - shape.cuts.pivots;
        if (!shape.cuts.is_one_tile()) parts += std::int64_t(front_tile) * shape.cuts.pivot_edge * shape.cuts.slots();
        left += others * others + others % 2;
        flags += 1 + shape.cuts.slots();
        slots += shape.cuts.slots();
        tiles += shape.cuts.tiles * shape.cuts.tiles;
      }
      EXPECT_EQ(plan->n_parts, parts);
      EXPECT_EQ(plan->n_left, left);
      EXPECT_EQ(plan->n_flags, flags);
      EXPECT_EQ(plan->n_columns, slots * front_tile);
      EXPECT_EQ(std::ssize(plan->tiles), tiles);
      const std::int64_t bytes =
          std::int64_t(plan->fronts.size() * sizeof(FrontShape) + plan->tiles.size() * sizeof(FrontTile) +
                       plan->inputs.size() * (sizeof(FrontInput) + 2 * front_tile) + plan->strips.size() +
                       slots * front_tile * sizeof(FrontColumn)) +
          4 * flags + scalar_bytes * (parts + left);
      EXPECT_EQ(bytes_of(*plan, scalar_bytes), bytes);
      options.max_bytes = bytes;
      EXPECT_TRUE(make_front_plan(fronts, nnz, options).ok());
      for (const std::int64_t less : {bytes - 1, bytes / 2, std::int64_t(0)}) {
        options.max_bytes = less;
        EXPECT_EQ(make_front_plan(fronts, nnz, options).status().code, StatusCode::not_implemented);
      }
    }
}

TEST(FrontPlan, FrontsOfTooManyZerosAreRefused) {
  for (const char* family : {"grid2d", "dense_row", "power_grid"}) {
    SCOPED_TRACE(family);
    const auto a = generate(family, {.n = 200});
    ASSERT_TRUE(a.ok());
    const auto analysis = testing::analyze_ordered(*a, {.order = Order::natural});
    ASSERT_TRUE(analysis.ok());
    const Fronts fronts = find_fronts(*analysis, {});
    const std::int64_t nnz = analysis->filled.nnz();
    FrontOptions options;
    options.max_padding = 1e9;
    const auto plan = make_front_plan(fronts, nnz, options);
    ASSERT_TRUE(plan.ok());
    double entries = 0;  // of L and U: rows with pivots, and columns
    for (const FrontShape& shape : plan->fronts) {
      const double rows = shape.cuts.rows, others = shape.cuts.rows - shape.cuts.pivots;
      entries += rows * rows - others * others;
    }
    const double padding = entries / double(nnz);
    EXPECT_GE(padding, 1);
    options.max_padding = padding * (1 + 1e-9);
    EXPECT_TRUE(make_front_plan(fronts, nnz, options).ok());
    options.max_padding = padding * (1 - 1e-9);
    EXPECT_EQ(make_front_plan(fronts, nnz, options).status().code, StatusCode::not_implemented);
  }
}

// 2^16 - 1 columns in a chain, and one more: as one front, whose rows are numbered in 16 bits.
TEST(FrontPlan, FrontsOfTooManyRowsAreRefused) {
  for (const std::int32_t n : {65535, 65536}) {
    FilledPattern f = {n, {0}, {}, {}};
    for (std::int32_t j = 0; j < n; ++j) {
      f.diag.push_back(f.nnz());
      f.row_idx.push_back(j);
      if (j + 1 < n) f.row_idx.push_back(j + 1);
      f.col_ptr.push_back(f.nnz());
    }
    const Fronts fronts = find_fronts(f, find_relaxed_supernodes(f, {}), {.tile = 1 << 20, .fixed = 1e12});
    // No plan is made of the smaller one: it would take gigabytes.
    const Status refused = make_front_plan(fronts, f.nnz(), {.max_bytes = 0, .max_padding = 1e9}).status();
    EXPECT_EQ(refused.code, StatusCode::not_implemented);
    EXPECT_EQ(refused.message.find("2^16") != std::string::npos, n == 65536) << refused.message;
  }
}

TEST(FrontPlan, NumbersBeyond32BitsAreRefused) {
  const auto refusal_of = [](std::int32_t fronts, std::int32_t pivots, std::int64_t nnz) {
    AssemblyTree tree;
    for (std::int32_t s = 0; s < fronts; ++s) {
      tree.first.push_back(tree.first.back() + pivots);
      tree.parent.push_back(-1);
      tree.others_ptr.push_back(0);
    }
    return make_front_plan(Fronts::of(std::move(tree), nnz), nnz, {.max_padding = 1e9}).status();
  };
  const auto expect_refused = [&](const Status& status, const char* why) {
    EXPECT_EQ(status.code, StatusCode::not_implemented);
    EXPECT_NE(status.message.find(why), std::string::npos) << status.message;
  };
  constexpr std::int32_t most_rows = 65535;
  constexpr std::int64_t tiles = (most_rows + front_tile - 1) / front_tile;
  const auto enough = static_cast<std::int32_t>((std::int64_t{1} << 31) / (tiles * tiles) + 1);
  expect_refused(refusal_of(enough, most_rows, 1 << 30), "2^31 tiles");
  expect_refused(refusal_of(1, most_rows + 1, 1 << 30), "2^16 rows");
  expect_refused(refusal_of(1, 10, std::int64_t{1} << 32), "more than 32 bits");
  EXPECT_EQ(refusal_of(1, 10, 55).code, StatusCode::ok);
}

}  // namespace
}  // namespace lulab::sparse_syncfree
