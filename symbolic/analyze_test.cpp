#include "symbolic/analyze.h"

#include <limits>

#include "preprocess/test_matrices.h"
#include "symbolic/fill.h"
#include "symbolic/panel_costs.h"

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
    for (const Order order : {Order::automatic, Order::natural, Order::amd, Order::colamd, Order::metis}) {
      SCOPED_TRACE(std::string(to_string(order)) + " seed " + std::to_string(seed));
      const auto s = analyze(a, {.order = order});
      ASSERT_TRUE(s.ok()) << s.status().to_string();
      EXPECT_EQ(s->a, a.pattern());
      const auto b = permute(CscPatternView(a), s->plan.p, s->plan.q);
      const auto filled = fill_reference(b);
      ASSERT_TRUE(filled.ok());
      EXPECT_EQ(s->filled, *filled);
      EXPECT_EQ(s->schedule.level_of.size(), 80);
      expect_map_is_the_permutation(a, *s);
    }
  }
}

TEST(Analyze, AutomaticTakesTheOrderThatIsPredictedToBeFaster) {
  int metis_won = 0, amd_won = 0;
  std::vector<CscMatrix<double>> matrices;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    matrices.push_back(random_matrix(seed, {.n = 150, .density = 0.02, .full_rank = true}));
  for (const std::int32_t side : {20, 60, 100}) matrices.push_back(grid_matrix(side, 1));
  for (const auto& a : matrices) {
    const auto chosen = analyze(a), amd = analyze(a, {.order = Order::amd}),
               metis = analyze(a, {.order = Order::metis});
    ASSERT_TRUE(chosen.ok() && amd.ok() && metis.ok());
    const double amd_us = panel_costs(amd->filled).predicted_us, metis_us = panel_costs(metis->filled).predicted_us;
    EXPECT_EQ(panel_costs(chosen->filled).predicted_us, std::min(amd_us, metis_us));
    const Analysis& better = metis_us < amd_us ? *metis : *amd;
    EXPECT_EQ(chosen->plan.order, better.plan.order);
    EXPECT_EQ(chosen->plan.p, better.plan.p);
    EXPECT_EQ(chosen->plan.q, better.plan.q);
    (metis_us < amd_us ? metis_won : amd_won) += 1;
  }
  EXPECT_GT(metis_won, 0);
  EXPECT_GT(amd_won, 0);
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
  EXPECT_EQ(none->schedule.n_levels(), 0);
}

}  // namespace
}  // namespace lulab
