#include "core/matrix/permutation.h"

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "core/matrix/random.h"
#include "testing/to_dense.h"

namespace lulab {
namespace {

Permutation random_permutation(std::int32_t n, std::uint64_t seed) {
  Random random(seed);
  Permutation p = identity_permutation(n);
  for (std::int64_t i = n - 1; i > 0; --i) std::swap(p[i], p[random.below(i + 1)]);
  return p;
}

CscMatrix<double> rectangular() {
  const std::vector<std::int32_t> rows = {4, 0, 2, 2, 1, 3, 0}, cols = {0, 0, 1, 3, 3, 3, 2};
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7};
  return from_triplets<double>(5, 4, rows, cols, values);
}

TEST(Permutation, KnowsWhatIsOne) {
  EXPECT_TRUE(is_permutation(Permutation{}));
  EXPECT_TRUE(is_permutation(Permutation{2, 0, 1}));
  EXPECT_FALSE(is_permutation(Permutation{0, 0, 1}));
  EXPECT_FALSE(is_permutation(Permutation{0, 1, 3}));
  EXPECT_FALSE(is_permutation(Permutation{0, -1, 2}));
}

TEST(Permutation, InverseUndoesOnBothSides) {
  const Permutation p = random_permutation(101, 4);
  EXPECT_NE(p, identity_permutation(101));
  EXPECT_EQ(compose(p, inverse(p)), identity_permutation(101));
  EXPECT_EQ(compose(inverse(p), p), identity_permutation(101));
  EXPECT_EQ(inverse(p)[p[17]], 17);
}

TEST(Permutation, PermuteIsAOfPAndQEntryByEntry) {
  const auto a = rectangular();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Permutation p = random_permutation(5, seed), q = random_permutation(4, seed + 100);
    const auto b = permute(a.view(), p, q);
    ASSERT_TRUE(check_sorted(b));
    ASSERT_EQ(b.nnz(), a.nnz());
    const auto da = testing::to_dense(a), db = testing::to_dense(b);
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 4; ++j) ASSERT_EQ(db(i, j), da(p[i], q[j]));
    EXPECT_TRUE(permute(a.pattern().view(), p, q) == b.pattern());
  }
}

TEST(Permutation, PermutingTwiceIsPermutingByTheComposition) {
  const auto a = generate("random", {.n = 60, .seed = 9}).value();
  const Permutation p1 = random_permutation(60, 1), p2 = random_permutation(60, 2);
  const Permutation q1 = random_permutation(60, 3), q2 = random_permutation(60, 4);
  EXPECT_TRUE(permute(permute(a.view(), p1, q1).view(), p2, q2) == permute(a.view(), compose(p1, p2), compose(q1, q2)));
}

TEST(Permutation, ScaleMultipliesRowAndColumnFactors) {
  const auto a = rectangular();
  const std::vector<double> r = {1, 2, 4, 8, 16}, c = {3, 5, 7, 11};
  const auto b = scale(a.view(), r, c);
  EXPECT_TRUE(b.pattern() == a.pattern());
  const auto da = testing::to_dense(a), db = testing::to_dense(b);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(db(i, j), r[i] * da(i, j) * c[j]);
}

}  // namespace
}  // namespace lulab
