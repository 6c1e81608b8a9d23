#include "driver/solution_trust.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace lulab {
namespace {

constexpr Refinement good = {.backward_error = 1e-16, .omega = 1e-16, .converged = true};
constexpr Refinement corrected = {.iterations = 1, .backward_error = 1e-16, .omega = 1e-16, .converged = true};
constexpr Refinement less_good = {.backward_error = 1e-13, .omega = 1e-13, .converged = true};
constexpr Refinement of_zero_b = {.converged = true};

TEST(SolutionTrust, StartsWithASolutionThatIsGoodAtOnce) {
  SolutionTrust trust;
  const std::vector<double> x = {1, 2, 3};
  for (const Refinement& no_start :
       {corrected, less_good, of_zero_b, Refinement{.omega = std::numeric_limits<double>::quiet_NaN()}}) {
    trust.take({&no_start, 1}, x);
    EXPECT_FALSE(trust.check_is_due());
  }
  trust.take({&good, 1}, x);
  EXPECT_TRUE(trust.check_is_due());
  EXPECT_FALSE(trust.is_full());
}

TEST(SolutionTrust, WantsAKnownSolutionWhereTheGoodOneHasZeros) {
  const std::vector<Refinement> refined = {less_good, good};
  for (const bool has_zeros : {false, true}) {
    SolutionTrust trust;
    trust.take(refined, std::vector<double>{0, 0, 3, has_zeros ? 0.0 : 4.0});
    EXPECT_TRUE(trust.check_is_due());
    EXPECT_EQ(trust.wants_known_solution(), has_zeros);
  }
}

TEST(SolutionTrust, HoldsUntilThereAreOtherFactors) {
  for (const bool passed : {false, true}) {
    SolutionTrust trust;
    trust.take({&good, 1}, std::vector<double>{1, 2});
    trust.settle(passed);
    EXPECT_FALSE(trust.check_is_due());
    EXPECT_EQ(trust.is_full(), passed);
    EXPECT_EQ(trust.is_refused(), !passed);
    trust.drop();
    EXPECT_FALSE(trust.is_full());
    EXPECT_FALSE(trust.is_refused());
  }
}

}  // namespace
}  // namespace lulab
