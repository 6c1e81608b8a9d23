#include "driver/host_solve.h"

#include <algorithm>
#include <limits>

#include "core/scalar.h"
#include "driver/pivot_check.h"

namespace lulab {

template <class T>
void HostSolve<T>::forget() {
  refiner_.reset();
  transposed_.reset();
}

template <class T>
std::span<const double> HostSolve<T>::known_solution(std::int32_t n) {
  if (std::ssize(known_solution_) != n) known_solution_ = probe_solution(n);
  return known_solution_;
}

template <class T>
HostRefiner<T>& HostSolve<T>::refiner_for(const CscView<double>& a, bool transposed) {
  auto& made = transposed ? transposed_ : refiner_;
  if (!made) made.emplace(a, transposed);
  return *made;
}

template <class T>
Result<ProbeResult> HostSolve<T>::probe(const CscView<double>& a, const FactorsView<T>& f) {
  return probe_on_host<T>(a, f, known_solution(a.n_cols), refiner_for(a, false));
}

template <class T>
Result<Refinement> HostSolve<T>::refine_probe(const CscView<double>& a, const FactorsView<T>& f) {
  return refine_probe_on_host<T>(a, f, known_solution(a.n_cols), refiner_for(a, false));
}

template <class T>
void HostSolve<T>::solve(const CscView<double>& a, const FactorsView<T>& f, const RightSides& sides, bool transposed,
                         const HasSmallMultipliers& has_small_multipliers) {
  HostRefiner<T>& refiner = refiner_for(a, transposed);
  const auto solve = [&refiner, &f](std::span<const double> b, std::span<double> x) {
    refiner.solve_unrefined(f, b, x, static_cast<std::int32_t>(b.size() / f.filled.n));
  };
  solve_by(refiner, solve, a, sides, has_small_multipliers);
}

template <class T>
void HostSolve<T>::solve(const CscView<double>& a, FlatLu& lists, const RightSides& sides,
                         const HasSmallMultipliers& has_small_multipliers) {
  const auto solve = [&lists](std::span<const double> b, std::span<double> x) { lists.solve(b, x); };
  solve_by(refiner_for(a, false), solve, a, sides, has_small_multipliers);
}

/// solve: of one or more right-hand sides, without refinement.
template <class T>
template <class Unrefined>
void HostSolve<T>::solve_by(HostRefiner<T>& refiner, const Unrefined& solve, const CscView<double>& a,
                            const RightSides& sides, const HasSmallMultipliers& has_small_multipliers) {
  constexpr std::size_t at_once = 8;
  const auto& [b, x, all] = sides;
  const RefinementGoal goal = refinement_goal<T>(options_);
  const std::size_t n = a.n_cols;
  if (n > 0) solve(b, x);
  for (std::size_t c = 0; c < all.size();) {
    if (trust_.check_is_due())  // one good solution may be luck where a multiplier is large
      trust_.settle(has_small_multipliers() &&
                    (!trust_.wants_known_solution() || finds_known_solution(refiner, solve, a)));
    if (trust_.is_full()) {
      constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
      all[c++] = {.backward_error = unknown, .omega = unknown, .converged = true};
      continue;
    }
    // Float factors find (1, 1, ...) exactly by luck, and the next x no better than a float.
    const bool may_trust = sizeof(T) == sizeof(double) && options_.refine == Refine::first && !trust_.is_refused();
    const std::size_t some = may_trust && c == 0 ? 1 : std::min(at_once, all.size() - c);
    const auto refined = all.subspan(c, some);
    const auto to = x.subspan(n * c, n * some);
    const auto from = b.subspan(n * c, n * some);
    if (some == 1)  // which allocates nothing
      refined[0] = refiner.refine_by(solve, a.values, from, to, goal);
    else
      refiner.refine_by(solve, a.values, from, to, goal, refined);
    c += some;
    if (may_trust) trust_.take(refined, to);
  }
}

template <class T>
template <class Unrefined>
bool HostSolve<T>::finds_known_solution(HostRefiner<T>& refiner, const Unrefined& solve, const CscView<double>& a) {
  const std::span<const double> known = known_solution(a.n_cols);
  std::vector<double> b(known.size()), x(known.size());
  refiner.residual(a.values, known, b, b);  // -A x
  return SolutionTrust::is_good_at_once(refiner.solve_by(solve, a.values, b, x, refinement_goal<T>(options_)));
}

#define LULAB_INSTANTIATE(T) template class HostSolve<T>;
LULAB_FOR_EACH_SCALAR(LULAB_INSTANTIATE)
#undef LULAB_INSTANTIATE

}  // namespace lulab
