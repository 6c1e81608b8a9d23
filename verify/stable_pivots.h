#pragma once
// How verify/ factors: one fixed policy for every rung, so that a rung is judged under pivots that are good for A.

#include <memory>

#include "core/rung.h"
#include "preprocess/preprocess.h"

namespace lulab {

/// How pivots are chosen by value. Those by column may grow where those by row do not, as in Wilkinson's matrix.
enum class ByValue { column, row };

/// The analyses of one matrix that all rungs share: under the plan, and under pivots chosen by value.
class SharedAnalyses {
 public:
  /// A must outlive the result. Order::automatic means amd.   Errors as preprocess(), analyze_with_plan().
  static Result<SharedAnalyses> create(const CscView<double>& a, const PreprocessOptions& options = {});

  const CscView<double>& a() const { return a_; }
  const Analysis& planned() const { return *planned_; }
  /// Under the pivots that KLU picks with threshold 0.1, in A or, by row, in Aᵀ; made by the first call.
  /// Errors    numerically_singular (KLU finds no pivot either), those of KLU and of analyze_with_plan().
  Result<const Analysis*> pivoted(ByValue by);

 private:
  /// Rungs refer to the analysis.
  struct Pivoted {
    std::unique_ptr<const Analysis> analysis;
    Status why_not;
  };

  explicit SharedAnalyses(const CscView<double>& a) : a_(a) {}
  Result<Analysis> pivot_by_value(ByValue by) const;

  CscView<double> a_;
  std::unique_ptr<const Analysis> planned_;
  Pivoted pivoted_[2];  // by column, by row
};

struct StablePivotOptions {
  FactorOptions factor;
  bool repivot = true;
  double max_growth = 0;  // 0: stable_growth(n) of verify/checks.h
};

template <class T>
struct StableFactors {
  Status status;  // not ok: there are no factors
  Factors<T> factors;
  const Analysis* analysis = nullptr;  // the one of SharedAnalyses that was used last
  Status repivot_cause;                // not ok: the plan's pivots were given up for this reason
  double time_ms = 0;                  // upload and factorization, all attempts
};

/// Factors A under the plan; where that needs other pivots and the rung's are fixed, again under pivots chosen by
/// value: by column and, where these do not help either, by row.
///
/// Fixed pivots are stable when max|U| <= max_growth · max|PRACQ| and || |L||U| ||_1 <= ||RAC||_1 / sqrt(eps).
/// Errors    in result.status: needs_repivot (repivot is off, or did not help), not_implemented (no such scalar type),
///           those of the rung and of SharedAnalyses::pivoted().
template <class T>
StableFactors<T> factor_with_stable_pivots(const Rung& rung, SharedAnalyses& analyses,
                                           const StablePivotOptions& options = {});

}  // namespace lulab
