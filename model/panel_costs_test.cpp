#include "model/panel_costs.h"

#include <set>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "symbolic/fill.h"
#include "symbolic/relaxed_supernodes.h"
#include "testing/analysis.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

// Column by column: k updates j's panel where a column of j's panel has an entry in a row of k's panel.
TEST(PanelCosts, CountPanelsUpdatesAndTheirChain) {
  auto patterns = testing::random_patterns(30);
  for (auto& p : testing::generated_patterns(60)) patterns.push_back(std::move(p));
  for (const auto& [name, f, before] : patterns) {
    SCOPED_TRACE(name);
    const RelaxedSupernodes s = find_relaxed_supernodes(f, {});
    std::set<std::pair<std::int32_t, std::int32_t>> updates;
    for (std::int32_t j = 0; j < f.n; ++j)
      for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p)
        if (s.of[f.row_idx[p]] != s.of[j]) updates.insert({s.of[j], s.of[f.row_idx[p]]});
    std::vector<std::int32_t> chain(s.size(), 1);
    std::int32_t longest = 0;
    for (const auto& [to, from] : updates) chain[to] = std::max(chain[to], chain[from] + 1);
    for (const std::int32_t c : chain) longest = std::max(longest, c);
    const PanelCosts costs = panel_costs(f);
    EXPECT_EQ(costs.panels, s.size());
    EXPECT_EQ(costs.updates, std::ssize(updates));
    EXPECT_EQ(costs.chain, longest);
    double multiply_adds = 0;  // of the columns alone
    for (std::int32_t j = 0; j < f.n; ++j)
      for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p)
        if (s.of[f.row_idx[p]] != s.of[j])
          for (std::int64_t q = f.diag[f.row_idx[p]] + 1; q < f.col_ptr[f.row_idx[p] + 1]; ++q)
            multiply_adds += s.of[f.row_idx[q]] != s.of[f.row_idx[p]];
    EXPECT_GE(costs.multiply_adds, multiply_adds);
    if (f.n > 0) {
      EXPECT_GT(costs.predicted_us, 0);
    }
  }
}

// Nested dissection must shorten the chain of a ladder, which in natural order is one column after the other.
TEST(PanelCosts, PreferShortChains) {
  const auto a = generate("ladder", {.n = 2000});
  ASSERT_TRUE(a.ok());
  const auto natural = testing::analyze_ordered(*a, {.order = Order::natural}),
             metis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(natural.ok() && metis.ok());
  EXPECT_LT(factor_flops(natural->filled), factor_flops(metis->filled));
  EXPECT_LT(panel_costs(metis->filled).predicted_us, 0.5 * panel_costs(natural->filled).predicted_us);
}

}  // namespace
}  // namespace lulab
