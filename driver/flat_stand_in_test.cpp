#include "driver/flat_stand_in.h"

#include <gtest/gtest.h>

#include "driver/analyze.h"
#include "testing/dense_elimination.h"

namespace lulab {
namespace {

Analysis small_analysis() { return analyze(testing::random_dominant(30, 0.05, 1)).value(); }

TEST(FlatStandIn, MakesListsAfterSomeRefactorizationsOrAtOnce) {
  const Analysis analysis = small_analysis();
  FlatStandIn flat;
  for (int step = 1; step < steps_before_lists; ++step) EXPECT_FALSE(flat.prepare(analysis, false)) << step;
  EXPECT_TRUE(flat.prepare(analysis, false));
  flat.forget();
  EXPECT_FALSE(flat.prepare(analysis, false));
  EXPECT_TRUE(flat.prepare(analysis, true));
}

TEST(FlatStandIn, RungCatchesUpAndListsGoOnSolving) {
  FlatStandIn flat;
  ASSERT_TRUE(flat.prepare(small_analysis(), true));
  EXPECT_FALSE(flat.has_factors());
  flat.take_over();
  EXPECT_TRUE(flat.has_factors());
  EXPECT_TRUE(flat.rung_is_behind());
  flat.catch_up();
  EXPECT_TRUE(flat.has_factors());
  EXPECT_FALSE(flat.rung_is_behind());
  flat.take_over();
  flat.drop_factors();
  EXPECT_FALSE(flat.has_factors());
  EXPECT_FALSE(flat.rung_is_behind());
}

}  // namespace
}  // namespace lulab
