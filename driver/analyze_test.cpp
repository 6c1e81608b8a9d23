#include "driver/analyze.h"
#include "symbolic/analyze_with_plan.h"

#include <limits>
#include <map>
#include <thread>

#include "core/matrix/generate.h"
#include "model/panel_costs.h"
#include "preprocess/btf.h"
#include "preprocess/ordering.h"
#include "symbolic/fill.h"
#include "symbolic/relaxed_supernodes.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::grid_matrix;
using testing::random_matrix;

// Values of A scattered through the map, and those of P·R·A·C·Q computed entry by entry, on the filled pattern.
void expect_map_is_the_permutation(const CscMatrix<double>& a, const Analysis& s) {
  const auto b = apply(s.plan, a.view());
  ASSERT_EQ(s.a_to_filled.size(), a.nnz());
  std::vector<double> scattered(s.filled.nnz(), 0);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t i = a.row_idx[k];
      scattered[s.a_to_filled[k]] += s.plan.r[i] * a.values[k] * s.plan.c[j];
    }
  std::int64_t nonzeros = 0;
  for (std::int32_t j = 0; j < b.n_cols; ++j) {
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      const auto begin = s.filled.row_idx.begin() + s.filled.col_ptr[j];
      const auto end = s.filled.row_idx.begin() + s.filled.col_ptr[j + 1];
      const auto found = std::lower_bound(begin, end, b.row_idx[k]);
      ASSERT_TRUE(found != end && *found == b.row_idx[k]);
      EXPECT_EQ(scattered[found - s.filled.row_idx.begin()], b.values[k]);
      nonzeros += b.values[k] != 0;
    }
  }
  EXPECT_EQ(std::count_if(scattered.begin(), scattered.end(), [](double x) { return x != 0; }), nonzeros);
}

TEST(Analyze, EveryPartFitsTheOthers) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto a =
        random_matrix(seed, {.n = 80, .density = 0.03, .decades = 4, .explicit_zeros = 0.1, .full_rank = true});
    for (const Order order : {Order::automatic, Order::natural, Order::amd, Order::colamd, Order::metis, Order::nd}) {
      SCOPED_TRACE(std::string(to_string(order)) + " seed " + std::to_string(seed));
      const auto s = analyze(a, {.order = order});
      ASSERT_TRUE(s.ok()) << s.status().to_string();
      EXPECT_EQ(s->a, a.pattern());
      const auto b = permute(CscPatternView(a), s->plan.p, s->plan.q);
      const auto filled = fill_reference(b);
      ASSERT_TRUE(filled.ok());
      EXPECT_EQ(s->filled, *filled);
      expect_map_is_the_permutation(a, *s);
    }
  }
}

TEST(Analyze, ForOneStepTriesNoOrderButAmds) {
  const auto a = *generate("grid2d", {.n = 2500, .seed = 1});
  const auto many = analyze(a, {}, 1e6), one = analyze(a, {}, 1);
  ASSERT_TRUE(many.ok() && one.ok());
  EXPECT_EQ(many->plan.order, "nd");
  EXPECT_EQ(one->plan.order, "amd");
}

/// Rings of so many vertices, each with an entry of the next one, and 20 columns with the diagonal alone.
CscMatrix<double> rings(std::int32_t count, std::int32_t size) {
  const std::int32_t in_rings = count * size, n = in_rings + 20;
  std::vector<std::int32_t> rows, cols;
  std::vector<double> values;
  const auto add = [&](std::int32_t i, std::int32_t j, double value) {
    rows.push_back(i), cols.push_back(j), values.push_back(value);
  };
  for (std::int32_t j = 0; j < n; ++j) {
    add(j, j, 4);
    if (j >= in_rings) continue;
    const std::int32_t first = j / size * size;
    add(first + (j + 1 - first) % size, j, 1);
    add(j + size < in_rings ? j + size : in_rings + j % 20, j, 1);
  }
  return from_triplets<double>(n, n, rows, cols, values);
}

TEST(Analyze, ForOneStepOrdersInsideSmallBlocks) {
  const auto small = rings(60, 3), large = rings(2, 90);
  const auto inside = analyze(small, {}, 1), whole = analyze(large, {}, 1);
  ASSERT_TRUE(inside.ok() && whole.ok());
  EXPECT_EQ(inside->plan.order, "btf+amd");
  EXPECT_EQ(inside->plan.p, inside->plan.q);
  EXPECT_TRUE(is_block_order(small, *strong_components(small), inside->plan.q));
  EXPECT_EQ(whole->plan.order, "amd");
}

TEST(Analyze, ForAFewStepsASmallSparseGraphIsOrderedByDegree) {
  const auto vertices = [](const CscMatrix<double>& a, double steps) {
    const auto analysis = analyze(a, {.matching = false}, steps);
    EXPECT_TRUE(analysis.ok());
    return analysis.ok() ? analysis->plan.q : Permutation();
  };
  const auto small = grid_matrix(14, 1), large = grid_matrix(18, 1);
  EXPECT_EQ(vertices(small, 1), degree_order(small).value());
  EXPECT_EQ(vertices(small, 4), quick_amd_order(small).value());
  EXPECT_EQ(vertices(large, 1), quick_amd_order(large).value());
  const auto dense = random_matrix(1, {.n = 100, .density = 0.2, .full_rank = true});
  EXPECT_EQ(vertices(dense, 1), quick_amd_order(dense).value());
}

TEST(Analyze, ForAFewStepsSmallBlocksAreOrderedByDegree) {
  const auto a = rings(10, 20);
  const auto components = strong_components(a).value();
  const auto few = analyze(a, {}, 1), some = analyze(a, {}, 4);
  ASSERT_TRUE(few.ok() && some.ok());
  EXPECT_EQ(few->plan.q, block_order(a, components, degree_order).value());
  EXPECT_EQ(some->plan.q, block_order(a, components, quick_amd_order).value());
  EXPECT_NE(few->plan.q, some->plan.q);
}

Analysis analyzed(const CscMatrix<double>& a, const PreprocessOptions& options) {
  auto analysis = analyze(a, options);
  EXPECT_TRUE(analysis.ok()) << analysis.status().to_string();
  return std::move(*analysis);
}

/// That one of `candidates` which is predicted to be the fastest; of equals the first.
Analysis fastest(const CscMatrix<double>& a, const std::vector<PreprocessOptions>& candidates) {
  Analysis best;
  double best_us = std::numeric_limits<double>::infinity();
  for (const PreprocessOptions& options : candidates) {
    Analysis analysis = analyzed(a, options);
    const double us = panel_costs(analysis.filled).predicted_us;
    if (us < best_us) best = std::move(analysis), best_us = us;
  }
  return best;
}

void expect_same_plan(const Analysis& s, const Analysis& t) {
  EXPECT_EQ(s.plan.order, t.plan.order);
  EXPECT_EQ(s.plan.p, t.plan.p);
  EXPECT_EQ(s.plan.q, t.plan.q);
  EXPECT_EQ(s.filled, t.filled);
}

TEST(Analyze, AutomaticTakesTheOrderThatIsPredictedToBeFaster) {
  std::map<std::string, int> won;
  std::vector<CscMatrix<double>> matrices;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    matrices.push_back(random_matrix(seed, {.n = 150, .density = 0.02, .full_rank = true}));
    matrices.push_back(random_matrix(seed, {.n = 150, .density = 0.008, .full_rank = true}));  // several blocks
  }
  for (const std::int32_t side : {20, 60, 100}) matrices.push_back(grid_matrix(side, 1));
  for (const auto& a : matrices) {
    std::vector<PreprocessOptions> candidates = {{.order = Order::amd}, {.order = Order::nd}};
    const Analysis natural = analyzed(a, {.order = Order::natural});
    const auto components = strong_components(permute(CscPatternView(a), natural.plan.p, natural.plan.q));
    ASSERT_TRUE(components.ok());
    if (components->biggest() <= 0.99 * a.n_cols) {
      candidates.push_back({.order = Order::nd, .blocks = true});
      candidates.push_back({.order = Order::amd, .blocks = true});
    }
    const Analysis chosen = analyzed(a, {});
    expect_same_plan(chosen, fastest(a, candidates));
    expect_map_is_the_permutation(a, chosen);
    won[chosen.plan.order] += 1;
    ASSERT_TRUE(chosen.supernodes) << "found to compare orders, kept for the factorization";
    EXPECT_EQ(*chosen.supernodes, find_relaxed_supernodes(chosen.filled, {}));
  }
  for (const char* order : {"amd", "nd", "btf+amd", "btf+nd"}) EXPECT_GT(won[order], 0) << order;
}

TEST(Analyze, AutomaticWithBlocksStaysInsideThem) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto a = random_matrix(seed, {.n = 150, .density = seed % 2 == 0 ? 0.008 : 0.02, .full_rank = true});
    expect_same_plan(analyzed(a, {.blocks = true}),
                     fastest(a, {{.order = Order::amd, .blocks = true}, {.order = Order::nd, .blocks = true}}));
  }
}

TEST(Analyze, AutomaticTriesTheBlocksOfALargeMatrix) {
  const auto grid = grid_matrix(60, 1);  // twice, the second one beside the first
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < grid.n_cols; ++j)
    for (std::int64_t e = grid.col_ptr[j]; e < grid.col_ptr[j + 1]; ++e)
      for (const std::int32_t start : {0, grid.n_cols}) {
        rows.push_back(start + grid.row_idx[e]);
        columns.push_back(start + j);
        values.push_back(grid.values[e]);
      }
  for (std::int32_t k = 0; k < grid.n_cols; k += 3) {
    rows.push_back(k), columns.push_back(grid.n_cols + (7 * k) % grid.n_cols), values.push_back(0.01);
  }
  const auto a = from_triplets<double>(2 * grid.n_cols, 2 * grid.n_cols, rows, columns, values);
  ASSERT_GT(panel_costs(analyzed(a, {.order = Order::amd}).filled).multiply_adds, 1e6);
  const Analysis chosen = analyzed(a, {});
  expect_same_plan(chosen, fastest(a, {{.order = Order::amd},
                                       {.order = Order::nd},
                                       {.order = Order::nd, .blocks = true},
                                       {.order = Order::amd, .blocks = true}}));
  EXPECT_TRUE(chosen.plan.order.starts_with("btf+")) << chosen.plan.order;
}

// A large mesh is not ordered by AMD; where one is coupled to another one way, still inside its blocks.
TEST(Analyze, OfALargeMeshTriesNestedDissectionAlone) {
  const auto grid = *generate("grid2d", {.n = 102'400, .seed = 2});
  const Analysis chosen = analyzed(grid, {});
  EXPECT_EQ(chosen.plan.order, "nd");
  EXPECT_EQ(chosen.plan.q, analyzed(grid, {.order = Order::nd}).plan.q);
}

// METIS's order takes longer to find; a factorization by it takes less.
TEST(Analyze, OfAMeshForManyStepsTakesMetis) {
  const auto grid = grid_matrix(64, 1), small = grid_matrix(60, 1);
  EXPECT_EQ(analyze(grid, {}, 4000)->plan.order, "metis");
  EXPECT_EQ(analyze(grid, {}, 3999)->plan.order, "nd");
  EXPECT_EQ(analyze(small, {}, 4000)->plan.order, "nd");
}

TEST(Analyze, OfALargeTreeTriesAllOrders) {
  const auto ladder = *generate("ladder", {.n = 100'000, .seed = 2});
  expect_same_plan(analyzed(ladder, {}), fastest(ladder, {{.order = Order::amd}, {.order = Order::nd}}));
}

// METIS and SCOTCH have state that the whole process shares, and run beside the other orders.
TEST(Analyze, IsTheSameFromSeveralThreadsAtOnce) {
  std::vector<CscMatrix<double>> matrices = {grid_matrix(40, 1)};
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    matrices.push_back(random_matrix(seed, {.n = 150, .density = 0.008, .full_rank = true}));
  std::vector<Analysis> alone;
  for (const auto& a : matrices) alone.push_back(analyzed(a, {}));
  std::vector<std::vector<Analysis>> together(4);
  {
    std::vector<std::jthread> threads;
    for (auto& of_thread : together)
      threads.emplace_back([&] {
        for (const auto& a : matrices) of_thread.push_back(analyzed(a, {}));
      });
  }
  for (const auto& of_thread : together)
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_same_plan(of_thread[k], alone[k]);
}

TEST(Analyze, WithPlanKeepsThePlan) {
  const auto a = random_matrix(8, {.n = 60, .density = 0.05, .full_rank = true});
  const auto first = analyze(a);
  ASSERT_TRUE(first.ok());
  Plan plan = first->plan;
  std::swap(plan.p[3], plan.p[17]);  // other pivots
  plan.order = "given";
  const auto second = analyze_with_plan(a, plan);
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_EQ(second->plan.p, plan.p);
  EXPECT_EQ(second->plan.order, "given");
  expect_map_is_the_permutation(a, *second);
}

TEST(Analyze, RefusesAPlanThatDoesNotFit) {
  const auto a = random_matrix(8, {.n = 20, .density = 0.1});
  const auto expect_refused = [&](auto change) {
    Plan plan = Plan::identity(20);
    change(plan);
    EXPECT_EQ(analyze_with_plan(a, plan).status().code, StatusCode::invalid_argument);
  };
  expect_refused([](Plan& p) { p.p[0] = p.p[1]; });
  expect_refused([](Plan& p) { p.q[0] = 20; });
  expect_refused([](Plan& p) { p.q.pop_back(); });
  expect_refused([](Plan& p) { p.r.push_back(1); });
  expect_refused([](Plan& p) { p = Plan::identity(19); });
  EXPECT_TRUE(analyze_with_plan(a, Plan::identity(20)).ok());
}

TEST(MapIntoFilled, NamesTheEntryThatIsMissing) {
  const auto a = random_matrix(5, {.n = 20, .density = 0.1});
  auto filled = fill_reference(a);
  ASSERT_TRUE(filled.ok());
  const auto identity = fill_reference(CscPattern{20, 20, std::vector<std::int64_t>(21, 0), {}});
  ASSERT_TRUE(identity.ok());
  const auto map = map_into_filled(a, Plan::identity(20), *identity);
  ASSERT_EQ(map.status().code, StatusCode::invalid_argument);
  ASSERT_EQ(map.status().where.rows.size(), 1);
  EXPECT_NE(map.status().where.rows, map.status().where.columns);  // the diagonal was there
}

TEST(Analyze, PassesErrorsOn) {
  auto a = random_matrix(3, {.n = 10, .density = 0.4, .full_rank = true});
  for (std::int64_t k = a.col_ptr[4]; k < a.col_ptr[5]; ++k) a.values[k] = 0;
  EXPECT_EQ(analyze(a).status().code, StatusCode::structurally_singular);
  a.values[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(analyze(a).status().code, StatusCode::invalid_argument);
  const auto none = analyze(CscMatrix<double>{});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->filled.n, 0);
}

}  // namespace
}  // namespace lulab
