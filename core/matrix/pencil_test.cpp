#include "core/matrix/pencil.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"

namespace lulab {
namespace {

std::vector<double> dense(const CscMatrix<double>& m) {
  std::vector<double> d(static_cast<std::size_t>(m.n_rows) * m.n_cols, 0.0);
  for (std::int32_t j = 0; j < m.n_cols; ++j)
    for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k)
      d[m.row_idx[k] + static_cast<std::size_t>(j) * m.n_rows] = m.values[k];
  return d;
}

TEST(Pencil, IsADifferenceEntryByEntryOnTheUnitedPattern) {
  const auto a = generate("random", {.n = 40, .seed = 3}).value(), e = generate("random", {.n = 40, .seed = 4}).value();
  const auto pencil = make_pencil(a, e);
  ASSERT_TRUE(pencil.ok()) << pencil.status().to_string();
  ASSERT_TRUE(check_sorted(pencil->pattern).ok());
  const auto da = dense(a), de = dense(e);
  for (double s : {0.0, 1.0, -2.5e3}) {
    const CscMatrix<double> m = pencil->at(s);
    EXPECT_EQ(m.pattern(), pencil->pattern) << s;
    const auto d = dense(m);
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
