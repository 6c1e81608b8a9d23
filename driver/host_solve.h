#pragma once
// Solves, refinement and the probe on the host: what ResidentSolve does on the device.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "driver/flat_lu.h"
#include "driver/solution_trust.h"
#include "driver/solver.h"
#include "solve/device_probe.h"
#include "solve/refine.h"

namespace lulab {

/// For one matrix after another, of one pattern between two calls of forget().
///
/// a: the matrix, whose pattern stays where it is   f: its factors   Errors of all calls: throw std::bad_alloc.
template <class T>
class HostSolve {
 public:
  /// Requires that the options stay where they are.
  explicit HostSolve(const SolverOptions& options) : options_(options) {}

  /// Another pattern comes, or this one elsewhere.
  void forget();
  /// There are other factors.
  void drop_factors() { trust_.drop(); }

  /// (n) values without zeros.
  std::span<const double> known_solution(std::int32_t n);
  /// A solve for the known solution, unrefined or refined.   Errors as check_solvable().
  Result<ProbeResult> probe(const CscView<double>& a, const FactorsView<T>& f);
  Result<Refinement> refine_probe(const CscView<double>& a, const FactorsView<T>& f);

  struct RightSides {
    std::span<const double> b;      // (n, columns)
    std::span<double> x;            // (n, columns)
    std::span<Refinement> refined;  // (columns)
  };
  /// Is no entry of L larger than SolutionTrust::max_multiplier? With Refine::first that is asked once for the factors.
  using HasSmallMultipliers = std::function<bool()>;
  /// A x = b, or Aᵀ x = b, refined as the options say.   Requires check_solvable(f).
  void solve(const CscView<double>& a, const FactorsView<T>& f, const RightSides& sides, bool transposed,
             const HasSmallMultipliers& has_small_multipliers);
  /// A x = b by flat lists in place of f.   Requires FlatLu::is_stable().
  void solve(const CscView<double>& a, FlatLu& lists, const RightSides& sides,
             const HasSmallMultipliers& has_small_multipliers);

 private:
  HostRefiner<T>& refiner_for(const CscView<double>& a, bool transposed);
  template <class Unrefined>
  void solve_by(HostRefiner<T>& refiner, const Unrefined& solve, const CscView<double>& a, const RightSides& sides,
                const HasSmallMultipliers& has_small_multipliers);
  template <class Unrefined>
  bool finds_known_solution(HostRefiner<T>& refiner, const Unrefined& solve, const CscView<double>& a);

  const SolverOptions& options_;
  std::optional<HostRefiner<T>> refiner_, transposed_;  // made when they are first needed
  std::vector<double> known_solution_;                  // likewise
  SolutionTrust trust_;                                 // with Refine::first
};

}  // namespace lulab
