#include "driver/pivot_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/factors.h"
#include "core/scalar.h"

namespace lulab {

template <class T>
double max_growth_without_probe(double max_growth) {
  return max_growth * std::sqrt(std::numeric_limits<double>::epsilon() / std::numeric_limits<T>::epsilon());
}

template <class T>
Status PivotCheck<T>::check_values(const FactorsView<T>& f) const {
  for (std::int32_t j = 0; j < f.filled.n; ++j)
    for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k)
      if (!std::isfinite(f.values[k])) return unstable(f.plan.q[j], fmt::format("the factors hold {}", f.values[k]));
  return {};
}

template <class T>
Status PivotCheck<T>::check_largest(double max_l, double max_u) const {
  if (std::isfinite(max_l) && std::isfinite(max_u)) return {};
  return unstable(-1, "the factors are not finite");
}

template <class T>
Status PivotCheck<T>::check_growth(double growth, std::int64_t perturbed_pivots) const {
  if (perturbed_pivots > 0 || !(growth > max_growth_)) return {};  // NaN: A is zero
  return unstable(-1, fmt::format("the pivot growth is {:.3g}", growth));
}

template <class T>
Status PivotCheck<T>::check_probe(const ProbeResult& probe) const {
  const double limit = std::sqrt(std::numeric_limits<T>::epsilon() / 2.0), scale = probe.norm1_a * probe.solution;
  if (std::isfinite(probe.residual) && probe.residual <= limit * scale) return {};  // not infinity <= infinity
  return unstable(-1, fmt::format("a probe solve leaves the residual {:.3g} after scaling", probe.residual / scale));
}

template <class T>
Status PivotCheck<T>::check_refined_probe(const Result<Refinement>& refined) const {
  if (!refined.ok()) return refined.status();
  if (refined->converged) return {};
  return unstable(-1, fmt::format("pivots were perturbed, and refinement of a probe solve stops at the backward error "
                                  "{:.3g}",
                                  refined->omega));
}

template <class T>
Status PivotCheck<T>::check_solutions(std::span<const Refinement> solutions) const {
  const auto bad = std::ranges::find_if(solutions, [](const Refinement& r) { return !r.converged; });
  if (bad == solutions.end()) return {};
  return unstable(-1, fmt::format("refinement of x stops at the backward error {:.3g}", bad->omega));
}

template <class T>
Status PivotCheck<T>::unstable(std::int32_t column, std::string_view why) const {
  Where where;
  if (column >= 0) where.columns = {column};
  return Status::error(StatusCode::needs_repivot,
                       fmt::format("{}: the given pivots are not stable for these values: {}", rung_, why),
                       std::move(where));
}

namespace {

/// ||R·A·C||_1
double norm1_scaled(const CscView<double>& a, const Plan& plan) {
  double norm = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    double sum = 0;
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      sum += std::abs(plan.r[a.row_idx[k]] * a.values[k] * plan.c[j]);
    norm = larger_or_nan(norm, sum);
  }
  return norm;
}

}  // namespace

template <class T>
Result<ProbeResult> probe_on_host(const CscView<double>& a, const FactorsView<T>& f, std::span<const double> x,
                                  HostRefiner<T>& refiner) {
  LULAB_RETURN_IF_ERROR(check_solvable<T>(f));
  std::vector<double> b(x.size()), y(x.size());
  multiply<double>(a, x, b);
  refiner.solve_unrefined(f, b, y);
  refiner.residual(a.values, y, b, b);
  ProbeResult sums;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums.residual += std::abs(f.plan.r[i] * b[i]);
    sums.solution += std::abs(y[i] / f.plan.c[i]);
  }
  sums.norm1_a = norm1_scaled(a, f.plan);
  return sums;
}

template <class T>
Result<Refinement> refine_probe_on_host(const CscView<double>& a, const FactorsView<T>& f, std::span<const double> x,
                                        HostRefiner<T>& refiner) {
  LULAB_RETURN_IF_ERROR(check_solvable<T>(f));
  std::vector<double> b(x.size()), y(x.size());
  multiply<double>(a, x, b);
  return refiner.solve(a.values, f, b, y, RefinementRule::eps);
}

// SplitMix64 (Steele, Lea & Flood 2014): the top bits of a hash of i make the size, the last one the sign.
std::vector<double> probe_solution(std::int32_t n) {
  std::vector<double> x(n);
  std::uint64_t state = 1;
  for (double& v : x) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    const double size = 0.5 + 0.5 * static_cast<double>(z >> 11) * 0x1p-53;
    v = z % 2 != 0 ? size : -size;
  }
  return x;
}

#define LULAB_INSTANTIATE(T)                                                                                         \
  template double max_growth_without_probe<T>(double);                                                               \
  template class PivotCheck<T>;                                                                                      \
  template Result<ProbeResult> probe_on_host(const CscView<double>&, const FactorsView<T>&, std::span<const double>, \
                                             HostRefiner<T>&);                                                       \
  template Result<Refinement> refine_probe_on_host(const CscView<double>&, const FactorsView<T>&,                    \
                                                   std::span<const double>, HostRefiner<T>&);
LULAB_FOR_EACH_SCALAR(LULAB_INSTANTIATE)
#undef LULAB_INSTANTIATE

}  // namespace lulab
