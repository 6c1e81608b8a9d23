#include "bench/dense_ladder.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "core/rung.h"

namespace lulab::bench {
namespace {

TEST(DenseSets, AreAllSizesInBothPrecisionsThenBatches) {
  const auto sets = dense_sets({});
  ASSERT_TRUE(sets.ok()) << sets.status().to_string();
  std::vector<std::string> shapes;
  std::set<std::string> names;
  bool batches_began = false;
  for (const DenseSet& c : *sets) {
    const std::string shape = to_string(c.shape);
    if (c.scalar == Scalar::f64) shapes.push_back(shape);
    EXPECT_FALSE(batches_began && !c.batched()) << "a matrix after a batch";
    batches_began = c.batched();
    EXPECT_FALSE(c.rungs.empty());
    for (const std::string& rung : c.rungs) {
      const std::string name = to_string(Name{rung, shape, Phase::factor, c.scalar});
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_TRUE(parse_name(name).ok()) << name;
      if (c.batched()) continue;
      EXPECT_EQ((*find_rung(all_rungs(), rung))->facts.device, Device::gpu);
    }
  }
  EXPECT_EQ(shapes,
            (std::vector<std::string>{"n=1024", "n=2048", "n=4096", "n=8192", "n=16384", "n=32768", "batch=10000,n=16",
                                      "batch=10000,n=32", "batch=10000,n=64", "batch=10000,n=128"}));
  EXPECT_TRUE(names.contains("dense/08_batched|batch=10000,n=64|factor|f32"));
}

TEST(DenseSets, FollowTheOptions) {
  const auto sets = dense_sets({{300, 500}, {"dense/03_reduction_pivot"}, {"f32"}});
  ASSERT_TRUE(sets.ok()) << sets.status().to_string();
  ASSERT_EQ(sets->size(), 2u);
  EXPECT_EQ(to_string((*sets)[1].shape), "n=500");
  EXPECT_EQ((*sets)[0].scalar, Scalar::f32);
  const std::vector<std::string>& rungs = (*sets)[0].rungs;
  EXPECT_EQ(rungs.back(), "dense/03_reduction_pivot");
  for (const std::string& id : rungs) EXPECT_TRUE(id == rungs.back() || id == "dense/90_cusolver") << id;

  EXPECT_TRUE(dense_sets({{300}, {"dense/00_reference"}, {}})->empty()) << "a CPU rung";
  for (const std::int32_t n : {0, -1, 1 << 18})
    EXPECT_EQ(dense_sets({{n}, {}, {}}).status().code, StatusCode::invalid_argument) << n;
}

TEST(DenseSets, LeaveOutRungsThatDoNotTakeTheSize) {
  const auto sets = dense_sets({{1 << 17}, {}, {"f64"}});
  ASSERT_TRUE(sets.ok()) << sets.status().to_string();
  for (const DenseSet& c : *sets) EXPECT_EQ(std::count(c.rungs.begin(), c.rungs.end(), "dense/02_single_block"), 0);
}

TEST(DenseSets, AreComparisonsWithARowForEveryRung) {
  DenseSet set{{64, 100}, Scalar::f64, {"x", "y"}};
  CostHistory history;
  Comparison comparison = dense_comparison(set, builtin_constants("test"), history);
  comparison.reason_to_skip = "no GPU";
  const auto rows = measure(comparison);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(to_string(rows[1].name), "y|batch=100,n=64|factor|f64");
  EXPECT_EQ(rows[1].error, "no GPU");
  EXPECT_EQ(rows[1].flops, dense_flops(set.shape));
}

}  // namespace
}  // namespace lulab::bench
