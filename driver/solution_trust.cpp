#include "driver/solution_trust.h"

#include <algorithm>

namespace lulab {
namespace {

bool shows_good_factors(const Refinement& r) {
  return SolutionTrust::is_good_at_once(r) && r.omega > 0;  // b = 0 does not
}

}  // namespace

void SolutionTrust::take(std::span<const Refinement> refined, std::span<const double> x) {
  const auto good = std::ranges::find_if(refined, shows_good_factors);
  if (good == refined.end()) return;
  const std::size_t n = x.size() / refined.size();
  const auto of_good = x.subspan(n * (good - refined.begin()), n);
  // Where x is zero, the row of A and its pivot may not have been asked for anything.
  state_ = std::ranges::find(of_good, 0.0) == of_good.end() ? State::after_solution : State::after_zeros;
}

}  // namespace lulab
