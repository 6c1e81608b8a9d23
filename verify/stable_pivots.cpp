#include "verify/stable_pivots.h"

#include <cmath>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/timing.h"
#include "symbolic/analyze_with_plan.h"
#include "verify/checks.h"
#include "verify/extended.h"

namespace lulab {

namespace {

template <class T>
Result<Factors<T>> factor_once(Factorizer<T>& factorizer, const Analysis& analysis, std::span<const double> values,
                               double& time_ms) {
  LULAB_RETURN_IF_ERROR(factorizer.analyze(analysis));
  const auto start = Clock::now();
  Status status = factorizer.upload(values);
  if (status.ok()) status = factorizer.factor();
  if (status.ok()) status = factorizer.wait();
  time_ms += ms_since(start);
  LULAB_RETURN_IF_ERROR(status);
  return factorizer.download();
}

Status unstable(std::string why) {
  return Status::error(StatusCode::needs_repivot, "the plan's pivots are not stable for these values: " + why);
}

template <class T>
Status check_fixed_pivots(const CscView<double>& a, const Factors<T>& f, double max_growth) {
  if (!check_sizes(a, f).ok()) return {};  // wrong, not unstable: judge() reports it, and NaN too
  if (const double growth = pivot_growth(a, f); growth > max_growth)
    return unstable(fmt::format("the pivot growth is {:.3g}", growth));
  const double size = factor_norm(f) / extended::norm1(scale(a, f.plan.r, f.plan.c).view());
  if (size > 1 / std::sqrt(unit_roundoff<T>()))
    return unstable(fmt::format("|| |L||U| ||_1 is {:.3g} times ||RAC||_1", size));
  return {};
}

}  // namespace

Result<SharedAnalyses> SharedAnalyses::create(const CscView<double>& a, const PreprocessOptions& options) {
  LULAB_ASSIGN_OR_RETURN(auto plan, preprocess(a, options));
  LULAB_ASSIGN_OR_RETURN(auto analysis, analyze_with_plan(a, std::move(plan)));
  SharedAnalyses analyses(a);
  analyses.planned_ = std::make_unique<const Analysis>(std::move(analysis));
  return analyses;
}

Result<Analysis> SharedAnalyses::pivot_by_value() const {
  LULAB_ASSIGN_OR_RETURN(const auto klu, find_rung(all_rungs(), "sparse_leftlooking/90_klu"));
  const auto factorizer = klu->make<double>({.pivot_tol = 0.1});
  double time_ms = 0;
  LULAB_ASSIGN_OR_RETURN(auto factors, factor_once<double>(*factorizer, *planned_, a_.values, time_ms));
  return analyze_with_plan(a_, std::move(factors.plan));
}

Result<const Analysis*> SharedAnalyses::pivoted() {
  if (!pivoted_ && no_pivots_.ok()) {
    auto made = pivot_by_value();
    no_pivots_ = made.status();
    if (made.ok()) pivoted_ = std::make_unique<const Analysis>(std::move(*made));
  }
  if (!pivoted_) return no_pivots_;
  return pivoted_.get();
}

template <class T>
StableFactors<T> factor_with_stable_pivots(const Rung& rung, SharedAnalyses& analyses,
                                           const StablePivotOptions& options) {
  StableFactors<T> result;
  const CscView<double>& a = analyses.a();
  const double max_growth = options.max_growth > 0 ? options.max_growth : stable_growth(a.n_cols);
  const auto factorizer = rung.make<T>(options.factor);
  if (!factorizer) {
    result.status = Status::error(StatusCode::not_implemented,
                                  fmt::format("{} does not factor {}", rung.facts.id, sizeof(T) == 4 ? "f32" : "f64"));
    return result;
  }
  const bool fixed = rung.facts.pivoting == Pivoting::fixed;
  const auto attempt = [&](const Analysis& analysis) {
    result.analysis = &analysis;
    auto factors = factor_once<T>(*factorizer, analysis, a.values, result.time_ms);
    result.status = factors.status();
    if (factors.ok() && fixed) result.status = check_fixed_pivots(a, *factors, max_growth);
    if (factors.ok()) result.factors = std::move(*factors);
  };
  attempt(analyses.planned());
  const StatusCode code = result.status.code;
  if (!fixed || !options.repivot || (code != StatusCode::needs_repivot && code != StatusCode::numerically_singular))
    return result;
  const auto pivoted = analyses.pivoted();
  if (!pivoted.ok()) {
    result.status = pivoted.status();
    return result;
  }
  result.repivot_cause = std::move(result.status);
  attempt(**pivoted);
  return result;
}

template StableFactors<float> factor_with_stable_pivots(const Rung&, SharedAnalyses&, const StablePivotOptions&);
template StableFactors<double> factor_with_stable_pivots(const Rung&, SharedAnalyses&, const StablePivotOptions&);

}  // namespace lulab
