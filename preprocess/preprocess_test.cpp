#include "preprocess/preprocess.h"

#include <algorithm>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "preprocess/btf.h"
#include "preprocess/ordering.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::random_matrix;

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr Order all_orders[] = {Order::automatic, Order::natural, Order::amd, Order::colamd, Order::metis, Order::nd};

struct Magnitudes {
  double least_diagonal = std::numeric_limits<double>::infinity(), largest_diagonal = 0, largest_other = 0;
  std::int32_t diagonals = 0;
};

Magnitudes magnitudes(const CscMatrix<double>& b) {
  Magnitudes m;
  for (std::int32_t j = 0; j < b.n_cols; ++j) {
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      const double x = std::abs(b.values[k]);
      if (b.row_idx[k] != j) {
        m.largest_other = std::max(m.largest_other, x);
      } else {
        ++m.diagonals;
        m.least_diagonal = std::min(m.least_diagonal, x);
        m.largest_diagonal = std::max(m.largest_diagonal, x);
      }
    }
  }
  return m;
}

TEST(Preprocess, MatchedDiagonalIsOneAndNothingIsLarger) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto a =
        random_matrix(seed, {.n = 30, .density = 0.1, .zero_diagonal = 0.8, .decades = 5, .full_rank = true});
    for (const Order order : all_orders) {
      SCOPED_TRACE(std::string(to_string(order)) + " seed " + std::to_string(seed));
      const auto plan = preprocess(a, {.order = order, .power_of_two = false});
      ASSERT_TRUE(plan.ok()) << plan.status().to_string();
      EXPECT_TRUE(is_permutation(plan->p));
      EXPECT_TRUE(is_permutation(plan->q));
      EXPECT_EQ(plan->order, order == Order::automatic ? "amd" : to_string(order));
      const Magnitudes m = magnitudes(apply(*plan, a.view()));
      const double tol = 64 * eps * 300;  // logarithms of at most 30 entries of five decades, see matching_test
      EXPECT_EQ(m.diagonals, 30);
      EXPECT_GE(m.least_diagonal, 1 - tol);
      EXPECT_LE(m.largest_diagonal, 1 + 2 * eps);
      EXPECT_LE(m.largest_other, 1 + 2 * eps);
    }
  }
}

TEST(Preprocess, PowersOfTwoScaleWithoutRoundingAndStayWithinAFactorOfTwo) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto a = random_matrix(seed, {.n = 40, .density = 0.1, .decades = 8, .full_rank = true});
    const auto plan = preprocess(a);
    ASSERT_TRUE(plan.ok());
    int exponent = 0;
    for (const auto& scaling : {plan->r, plan->c})
      for (const double x : scaling) EXPECT_EQ(std::frexp(x, &exponent), 0.5);
    const auto b = apply(*plan, a.view());
    const auto unscaled = permute(a.view(), plan->p, plan->q);
    for (std::int64_t k = 0; k < b.nnz(); ++k)
      EXPECT_EQ(std::frexp(b.values[k], &exponent), std::frexp(unscaled.values[k], &exponent));
    const Magnitudes m = magnitudes(b);
    EXPECT_GE(m.least_diagonal, 0.5);
    EXPECT_LE(m.largest_diagonal, 2);
    EXPECT_LE(m.largest_other, 2);
  }
}

TEST(Preprocess, WithoutMatchingPermutesSymmetricallyAndDoesNotScale) {
  const auto a = random_matrix(11, {.n = 50, .density = 0.1});
  for (const Order order : all_orders) {
    const auto plan = preprocess(a, {.order = order, .matching = false});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->p, plan->q);
    EXPECT_EQ(plan->r, std::vector<double>(50, 1.0));
    EXPECT_EQ(plan->c, std::vector<double>(50, 1.0));
  }
}

TEST(Preprocess, ScalingCanBeLeftOut) {
  const auto a = random_matrix(12, {.n = 50, .density = 0.1, .decades = 6, .full_rank = true});
  const auto scaled = preprocess(a), plain = preprocess(a, {.scaling = false});
  ASSERT_TRUE(scaled.ok() && plain.ok());
  EXPECT_EQ(plain->p, scaled->p);
  EXPECT_EQ(plain->q, scaled->q);
  EXPECT_EQ(plain->r, std::vector<double>(50, 1.0));
  EXPECT_NE(scaled->r, plain->r);
}

TEST(Preprocess, BlocksComeOneAfterTheOtherWithNothingAboveThem) {
  int several = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto a = random_matrix(seed, {.n = 60, .density = 0.02, .full_rank = true});
    const auto components = strong_components(apply(*preprocess(a, {.order = Order::natural}), a.view()));
    ASSERT_TRUE(components.ok());
    several += components->n_blocks() > 1 && components->n_blocks() < 60;
    for (const Order order : all_orders) {
      SCOPED_TRACE(std::string(to_string(order)) + " seed " + std::to_string(seed));
      const auto plan = preprocess(a, {.order = order, .blocks = true});
      ASSERT_TRUE(plan.ok()) << plan.status().to_string();
      EXPECT_EQ(plan->order, order == Order::automatic ? "btf+amd" : "btf+" + std::string(to_string(order)));
      EXPECT_TRUE(is_permutation(plan->p));
      EXPECT_TRUE(is_permutation(plan->q));
      const auto b = apply(*plan, a.view());
      EXPECT_EQ(magnitudes(b).diagonals, 60);
      const auto of_plan = strong_components(b);
      ASSERT_TRUE(of_plan.ok());
      EXPECT_EQ(of_plan->n_blocks(), components->n_blocks());
      std::vector<std::int32_t> block(60);
      for (std::int32_t s = 0; s < of_plan->n_blocks(); ++s)
        for (std::int32_t k = of_plan->block_ptr[s]; k < of_plan->block_ptr[s + 1]; ++k) block[of_plan->q[k]] = s;
      for (std::int32_t j = 0; j < 60; ++j)
        for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k)
          if (b.row_idx[k] < j) {
            EXPECT_EQ(block[b.row_idx[k]], block[j]);
          }
    }
  }
  EXPECT_GT(several, 20);
}

TEST(Preprocess, ReportsSingularAndUnusableInput) {
  auto a = random_matrix(3, {.n = 10, .density = 0.4, .full_rank = true});
  for (std::int64_t k = a.col_ptr[4]; k < a.col_ptr[5]; ++k) a.values[k] = 0;
  const auto singular = preprocess(a);
  EXPECT_EQ(singular.status().code, StatusCode::structurally_singular);
  EXPECT_EQ(singular.status().where.columns, std::vector<std::int32_t>{4});
  EXPECT_EQ(singular.status().where.rows.size(), 1);
  a.values[0] = std::numeric_limits<double>::infinity();
  for (const bool matching : {false, true})
    EXPECT_EQ(preprocess(a, {.matching = matching}).status().code, StatusCode::invalid_argument);
  CscMatrix<double> wide;
  wide.n_rows = 1, wide.n_cols = 2, wide.col_ptr = {0, 0, 0};
  EXPECT_EQ(preprocess(wide).status().code, StatusCode::invalid_argument);
}

TEST(Preprocess, SmallestMatrices) {
  const auto one =
      from_triplets<double>(1, 1, std::vector<std::int32_t>{0}, std::vector<std::int32_t>{0}, std::vector<double>{-8});
  for (const Order order : all_orders) {
    const auto none = preprocess(CscMatrix<double>{}, {.order = order});
    ASSERT_TRUE(none.ok()) << none.status().to_string();
    EXPECT_EQ(none->n(), 0);
    const auto plan = preprocess(one, {.order = order});
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    EXPECT_EQ(apply(*plan, one.view()).values, std::vector<double>{-1});
  }
}

TEST(Preprocess, TakesAnOrderOfTheCallers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto a = random_matrix(seed, {.n = 23, .density = 0.15, .full_rank = true});
    Permutation columns = identity_permutation(23);
    std::ranges::shuffle(columns, std::mt19937_64(seed));
    for (const bool matching : {true, false}) {
      const auto plan = preprocess(a, with_column_order({.matching = matching, .blocks = true}, columns));
      ASSERT_TRUE(plan.ok()) << plan.status().to_string();
      EXPECT_EQ(plan->q, columns);
      EXPECT_EQ(plan->order, "given");
      EXPECT_TRUE(matching || plan->p == columns);
      const auto other = preprocess(a, {.order = Order::amd, .matching = matching});
      ASSERT_TRUE(other.ok());
      EXPECT_EQ(compose(plan->p, inverse(plan->q)), compose(other->p, inverse(other->q)))
          << "the matching is that of A";
    }
  }
}

TEST(Preprocess, RefusesWhatIsNoOrder) {
  const auto a = random_matrix(1, {.n = 4, .density = 0.5, .full_rank = true});
  const auto message_of = [&](PreprocessOptions options) {
    const auto plan = preprocess(a, options);
    EXPECT_EQ(plan.status().code, StatusCode::invalid_argument);
    return plan.status().message;
  };
  EXPECT_EQ(message_of({.order = Order::given}), "the given order has 0 columns, but A has n = 4");
  EXPECT_EQ(message_of(with_column_order({}, {0, 1, 2, 3, 4})), "the given order has 5 columns, but A has n = 4");
  EXPECT_EQ(message_of(with_column_order({}, {0, 1, 1, 3})),
            "position 2 of the given order has column 1 a second time (counted from 0)");
  for (const std::int32_t column : {4, -1})
    EXPECT_EQ(
        message_of(with_column_order({}, {0, column, 1, 2})),
        fmt::format("position 1 of the given order has column {}; A has columns 0 to 3 (counted from 0)", column));
  PreprocessOptions split = with_column_order({}, {0, 1, 2, 3});
  split.blocks = true;
  EXPECT_EQ(message_of(split), "a given order of the columns is not split into blocks; leave out one of the two");
}

TEST(Order, NamesOfPlansGiveTheirOptionsBack) {
  for (const Order order : all_orders)
    for (const bool blocks : {false, true}) {
      const std::string name = (blocks ? "btf+" : "") + std::string(to_string(order));
      const auto options = with_order({.matching = false, .blocks = !blocks}, name);
      ASSERT_TRUE(options.ok()) << name;
      EXPECT_EQ(options->order, order);
      EXPECT_EQ(options->blocks, blocks);
      EXPECT_FALSE(options->matching);
    }
  for (const char* name : {"", "btf", "btf+", "btf+best", "btf+btf+amd", "best"}) {
    const auto unknown = with_order({}, name);
    EXPECT_EQ(unknown.status().code, StatusCode::invalid_argument) << name;
    EXPECT_NE(unknown.status().message.find("nd, each also with btf+"), std::string::npos) << unknown.status().message;
  }
}

TEST(Order, NamesParseBack) {
  for (const Order order : all_orders) {
    const auto parsed = parse_order(to_string(order));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, order);
  }
  const auto unknown = parse_order("best");
  EXPECT_EQ(unknown.status().code, StatusCode::invalid_argument);
  EXPECT_NE(unknown.status().message.find("metis"), std::string::npos);
}

}  // namespace
}  // namespace lulab
