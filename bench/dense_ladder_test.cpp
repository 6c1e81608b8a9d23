#include "bench/dense_ladder.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "core/rung.h"

namespace lulab::bench {
namespace {

TEST(DenseCases, AreAllSizesInBothPrecisionsThenBatches) {
  const auto cases = dense_cases({});
  ASSERT_TRUE(cases.ok()) << cases.status().to_string();
  std::vector<std::string> shapes;
  std::set<std::string> names;
  bool batches_began = false;
  for (const DenseCase& c : *cases) {
    const std::string shape = to_string(c.shape);
    if (c.scalar == Scalar::f64) shapes.push_back(shape);
    EXPECT_FALSE(batches_began && !c.batched()) << "a matrix after a batch";
    batches_began = c.batched();
    EXPECT_FALSE(c.rungs.empty());
    for (const std::string& rung : c.rungs) {
      const std::string name = to_string(name_of(c, rung));
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

TEST(DenseCases, FollowTheOptions) {
  const auto cases = dense_cases({{300, 500}, {"dense/03_reduction_pivot"}, {"f32"}});
  ASSERT_TRUE(cases.ok()) << cases.status().to_string();
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ(to_string((*cases)[1].shape), "n=500");
  EXPECT_EQ((*cases)[0].scalar, Scalar::f32);
  const std::vector<std::string>& rungs = (*cases)[0].rungs;
  EXPECT_EQ(rungs.back(), "dense/03_reduction_pivot");
  for (const std::string& id : rungs) EXPECT_TRUE(id == rungs.back() || id == "dense/90_cusolver") << id;

  EXPECT_TRUE(dense_cases({{300}, {"dense/00_reference"}, {}})->empty()) << "a CPU rung";
  for (const std::int32_t n : {0, -1, 1 << 18})
    EXPECT_EQ(dense_cases({{n}, {}, {}}).status().code, StatusCode::invalid_argument) << n;
}

TEST(DenseCases, LeaveOutRungsThatDoNotTakeTheSize) {
  const auto cases = dense_cases({{1 << 17}, {}, {"f64"}});
  ASSERT_TRUE(cases.ok()) << cases.status().to_string();
  for (const DenseCase& c : *cases) EXPECT_EQ(std::count(c.rungs.begin(), c.rungs.end(), "dense/02_single_block"), 0);
}

TEST(DenseCases, WithoutTimesSayWhyInEveryRow) {
  const DenseCase c{{64, 100}, Scalar::f64, {"x", "y"}};
  const auto rows = rows_without_times(c, "no GPU");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(to_string(rows[1].name), "y|batch=100,n=64|factor|f64");
  EXPECT_EQ(rows[1].error, "no GPU");
  EXPECT_EQ(rows[1].flops, dense_flops(c.shape));
}

}  // namespace
}  // namespace lulab::bench
