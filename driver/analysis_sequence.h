#pragma once
// Analyses of one matrix after another: what still holds of the one before is not made again.

#include <optional>
#include <string>

#include "core/plan.h"
#include "driver/analyze.h"
#include "preprocess/preprocess.h"

namespace lulab {

/// analyze() for the matrices of a sequence.
///
/// Of a pattern that was analyzed before, order, fill and maps are kept. So are rows and scalings, but for some of c,
/// where they serve the new values as well (kept_scalings()); else rows are matched anew. Only where these differ the
/// analysis is made anew.
class AnalysisSequence {
 public:
  AnalysisSequence(const PreprocessOptions& options, double expected_steps)
      : options_(options), expected_steps_(expected_steps) {}

  struct Next {
    std::optional<CostedAnalysis> anew;  // empty: the earlier analysis holds ...
    bool new_scales = false;             // ... with other scalings in its plan
  };
  /// earlier: what the last call returned or kept, perhaps with pivots that were chosen by value since; null: nothing.
  /// Ensures   a plan that keeps what preprocess() ensures. After an error `earlier` is as it was.
  /// Errors    as analyze().
  /// Cost      of a known pattern often that of comparing it, and of kept_scalings().
  Result<Next> next(const CscView<double>& a, Analysis* earlier);
  /// The next `earlier` is from elsewhere.
  void forget() { known_.reset(); }

 private:
  struct Known {
    MatchedRows rows;
    Permutation vertices;
    std::string order;

    Plan plan() const { return MatchedRows(rows).plan(vertices, order); }
  };
  Result<Next> fresh(const CscView<double>& a, MatchedRows rows);

  PreprocessOptions options_;
  double expected_steps_;
  std::optional<Known> known_;  // how `earlier` was ordered
};

}  // namespace lulab
