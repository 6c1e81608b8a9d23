#pragma once
// Are pivots that were given beforehand good for these values? The one check of Solver and BatchSolver.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.h"
#include "core/status.h"
#include "solve/device_probe.h"
#include "solve/refine.h"

namespace lulab {

/// Would pivots chosen by value help?
inline bool asks_for_pivots(const Status& s) {
  return s.code == StatusCode::needs_repivot || s.code == StatusCode::numerically_singular;
}

/// Pivot growth costs digits: a float has fewer to lose. Where no probe solve follows, only max_growth · 2^-14.5 is
/// left for float.
template <class T>
double max_growth_without_probe(double max_growth);

/// Each check returns ok, or needs_repivot with what it found. T: the scalar of the factors.
template <class T>
class PivotCheck {
 public:
  /// rung: its id, for messages; must outlive this.
  PivotCheck(std::string_view rung, double max_growth) : rung_(rung), max_growth_(max_growth) {}

  /// Every entry of L and U is finite.   where.columns: the first that is not, in A's numbering.
  Status check_values(const FactorsView<T>& f) const;
  /// The same from the largest entries of L and U, which are NaN or infinite where an entry is.
  Status check_largest(double max_l, double max_u) const;
  /// The growth is at most max_growth. Where pivots were perturbed it is not judged: perturbing makes it.
  Status check_growth(double growth, std::int64_t perturbed_pivots) const;
  /// residual <= sqrt(eps) ||R·A·C||_1 ||C⁻¹ y||_1, which stable factors meet whatever the scaling and condition of A.
  Status check_probe(const ProbeResult& probe) const;
  /// Where pivots were perturbed: refinement of the probe solve converged.   Errors of the refinement are returned.
  Status check_refined_probe(const Result<Refinement>& refined) const;
  /// Each solution converged. Float factors that pass a probe may be too far off for that.
  Status check_solutions(std::span<const Refinement> solutions) const;

 private:
  Status unstable(std::int32_t column, std::string_view why) const;

  std::string_view rung_;
  double max_growth_;
};

/// On the host what DeviceProbe does: A y = b for b = A x, solved by the factors without refinement.
/// x: (n) the known solution   refiner: made for A   max_a stays 0   Errors as check_solvable().
template <class T>
Result<ProbeResult> probe_on_host(const CscView<double>& a, const FactorsView<T>& f, std::span<const double> x,
                                  HostRefiner<T>& refiner);
/// The same, refined.
template <class T>
Result<Refinement> refine_probe_on_host(const CscView<double>& a, const FactorsView<T>& f, std::span<const double> x,
                                        HostRefiner<T>& refiner);

/// A solution for probes that no matrix is made for: (n) values of size 0.5 to 1, always the same.
std::vector<double> probe_solution(std::int32_t n);

}  // namespace lulab
