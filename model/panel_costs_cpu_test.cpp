#include "model/panel_costs_cpu.h"

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "symbolic/fill.h"
#include "testing/analysis.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

TEST(CpuCosts, CountMultiplyAddsAsFlopsDo) {
  auto patterns = testing::random_patterns(30);
  for (auto& p : testing::generated_patterns(60)) patterns.push_back(std::move(p));
  for (const auto& [name, f, before] : patterns) {
    SCOPED_TRACE(name);
    const CpuCosts costs = cpu_costs(f, 8);
    EXPECT_EQ(2 * costs.multiply_adds + static_cast<double>(f.nnz_l()),
              factor_flops(f));                              // and one division per entry of L
    EXPECT_LE(costs.chain_us, costs.work_us * (1 + 1e-12));  // sums of the same terms, in another order
    EXPECT_GE(costs.predicted_us, costs.chain_us);
    EXPECT_LE(costs.predicted_us, (cpu_costs(f, 1).predicted_us + costs.chain_us) * (1 + 1e-12));
    EXPECT_GE(costs.threads, 1);
    EXPECT_LE(costs.threads, 8);
    for (const int cores : {1, 8, 64})
      EXPECT_LE(multiply_adds_us(costs.multiply_adds, cores), cpu_costs(f, cores).predicted_us);
    const CpuCosts once = on_cores(costs, 3), again = cpu_costs(f, 3);
    EXPECT_EQ(std::pair(once.threads, once.predicted_us), std::pair(again.threads, again.predicted_us));
  }
}

TEST(CpuCosts, ThreadsHelpWhereColumnsDoNotWaitForEachOther) {
  const auto grid = generate("grid2d", {.n = 10000});
  const auto ladder = generate("ladder", {.n = 10000});
  ASSERT_TRUE(grid.ok() && ladder.ok());
  const auto wide = testing::analyze_ordered(*grid, {.order = Order::metis}),
             chain = testing::analyze_ordered(*ladder, {.order = Order::natural});
  ASSERT_TRUE(wide.ok() && chain.ok());
  EXPECT_LT(cpu_costs(wide->filled, 16).predicted_us, 0.5 * cpu_costs(wide->filled, 1).predicted_us);
  EXPECT_EQ(cpu_costs(wide->filled, 1).threads, 1);
  EXPECT_EQ(cpu_costs(chain->filled, 16).threads, 1);
}

}  // namespace
}  // namespace lulab
