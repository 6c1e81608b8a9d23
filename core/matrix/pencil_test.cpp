#include "core/matrix/pencil.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "testing/to_dense.h"

namespace lulab {
namespace {

TEST(Pencil, IsADifferenceEntryByEntryOnTheUnitedPattern) {
  const auto a = generate("random", {.n = 40, .seed = 3}).value(), e = generate("random", {.n = 40, .seed = 4}).value();
  const auto pencil = make_pencil(a, e);
  ASSERT_TRUE(pencil.ok()) << pencil.status().to_string();
  ASSERT_TRUE(check_sorted(pencil->pattern).ok());
  const auto da = testing::to_dense(a).values, de = testing::to_dense(e).values;
  for (double s : {0.0, 1.0, -2.5e3}) {
    const CscMatrix<double> m = pencil->at(s);
    EXPECT_EQ(m.pattern(), pencil->pattern) << s;
    const auto d = testing::to_dense(m).values;
    for (std::size_t k = 0; k < d.size(); ++k) EXPECT_EQ(d[k], da[k] - s * de[k]) << k;
  }
  // Both patterns are in the union, and nothing else is.
  std::int64_t either = 0;
  for (std::size_t k = 0; k < da.size(); ++k) either += da[k] != 0 || de[k] != 0;
  EXPECT_EQ(pencil->pattern.nnz(), either);
  EXPECT_GT(either, std::max(a.nnz(), e.nnz())) << "the patterns must differ for this test to mean anything";
}

TEST(Pencil, RefusesOtherSizes) {
  const auto a = generate("random", {.n = 40, .seed = 3}).value(), e = generate("random", {.n = 41, .seed = 3}).value();
  const auto pencil = make_pencil(a, e);
  ASSERT_FALSE(pencil.ok());
  EXPECT_EQ(pencil.status().code, StatusCode::invalid_argument);
  EXPECT_NE(pencil.status().message.find("40 x 40"), std::string::npos);
}

}  // namespace
}  // namespace lulab
