#include "verify/stable_pivots.h"

#include <cmath>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/timing.h"
#include "symbolic/analyze_with_plan.h"
#include "verify/checks.h"
#include "verify/extended.h"
#include "verify/rebuild.h"

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
  const auto size =
      static_cast<double>(factor_norm(f) / extended::norm1(rebuild::scaled(a, f.plan.r, f.plan.c).view()));
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

Result<Analysis> SharedAnalyses::pivot_by_value(ByValue by) const {
  LULAB_ASSIGN_OR_RETURN(const auto klu, find_rung(all_rungs(), "sparse_leftlooking/90_klu"));
  const auto factorizer = klu->make<double>({.pivot_tol = 0.1});
  double time_ms = 0;
  if (by == ByValue::column) {
    LULAB_ASSIGN_OR_RETURN(auto factors, factor_once<double>(*factorizer, *planned_, a_.values, time_ms));
    return analyze_with_plan(a_, std::move(factors.plan));
  }
  const CscMatrix<double> at = transpose(a_);
  LULAB_ASSIGN_OR_RETURN(const auto of_transpose, analyze_with_plan(at, planned_->plan.transposed()));
  LULAB_ASSIGN_OR_RETURN(const auto factors, factor_once<double>(*factorizer, of_transpose, at.values, time_ms));
  return analyze_with_plan(a_, factors.plan.transposed());
}

Result<const Analysis*> SharedAnalyses::pivoted(ByValue by) {
  Pivoted& known = pivoted_[by == ByValue::row];
  if (!known.analysis && known.why_not.ok()) {
    auto made = pivot_by_value(by);
    known.why_not = made.status();
    if (made.ok()) known.analysis = std::make_unique<const Analysis>(std::move(*made));
  }
  if (!known.analysis) return known.why_not;
  return known.analysis.get();
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
  const auto wants_pivots = [&] {
    return result.status.code == StatusCode::needs_repivot || result.status.code == StatusCode::numerically_singular;
  };
  attempt(analyses.planned());
  if (!fixed || !options.repivot || !wants_pivots()) return result;
  result.repivot_cause = result.status;
  for (const ByValue by : {ByValue::column, ByValue::row}) {
    const auto pivoted = analyses.pivoted(by);
    if (!pivoted.ok()) {
      if (by == ByValue::column) result.status = pivoted.status();  // else the answer under pivots by column stands
      return result;
    }
    attempt(**pivoted);
    if (!wants_pivots()) return result;
  }
  return result;
}

template StableFactors<float> factor_with_stable_pivots(const Rung&, SharedAnalyses&, const StablePivotOptions&);
template StableFactors<double> factor_with_stable_pivots(const Rung&, SharedAnalyses&, const StablePivotOptions&);

}  // namespace lulab
