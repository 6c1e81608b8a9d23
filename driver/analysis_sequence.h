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
/// where they serve the new values as well (kept_scalings()); else rows are matched anew.
///
/// The graph that was ordered (vertex j: column j and the row matched to it) may change in a few entries, by other
/// entries of A or other rows. The order is kept, and fill and maps are made anew, where
/// - no more than max_changed of its entries have come or gone since the order was chosen;
/// - a factorization is predicted to take at most max_slowdown times what it took then: on a GPU (panel_costs()) where
///   that chose the order, else on one core of a CPU (cpu_costs());
/// - an order inside blocks still takes one strongly connected block after the other (is_block_order()).
/// Otherwise the order is chosen as analyze() does.
class AnalysisSequence {
 public:
  static constexpr double max_changed = 0.05, max_slowdown = 1.25;

  AnalysisSequence(const PreprocessOptions& options, const Purpose& purpose, FillOn fill_on = FillOn::host)
      : options_(options), purpose_(purpose), fill_on_(fill_on) {}

  struct Next {
    std::optional<CostedAnalysis> anew;  // empty: the earlier analysis holds ...
    bool new_scales = false;             // ... with other scalings in its plan
  };
  /// earlier: what the last call returned or kept, perhaps with pivots that were chosen by value since; null: nothing.
  /// Ensures   a plan that keeps what preprocess() ensures. After an error `earlier` is as it was.
  /// Errors    as analyze().
  /// Cost      of a known pattern often that of comparing it, and of kept_scalings(); of one that differs little, that
  ///           of the fill.
  Result<Next> next(const CscView<double>& a, Analysis* earlier);
  /// The order for all expected steps, where that of the last matrix was chosen for a first answer.
  /// a: has its pattern.   Requires first_steps().   Errors as analyze(); then the order is what it was.
  Result<CostedAnalysis> order_for_all_steps(const CscView<double>& a);
  /// The next `earlier` is from elsewhere.
  void forget() { known_.reset(); }

  /// With this pattern and those that differed little from the one before, kept for the caller.
  struct FirstSteps {
    std::int64_t made = 0;
    bool are_over = false;  // all expected steps have been prepared for
  };
  /// Null: no order is known.
  FirstSteps* first_steps() { return known_ ? &known_->first_steps : nullptr; }

 private:
  struct Known {
    MatchedRows rows = {};  // without the graph
    Permutation vertices = {};
    std::string order = {};
    std::optional<double> gpu_us = {};  // predicted when it was chosen, where it was asked
    std::optional<double> cpu_us = {};  // likewise, once it was asked
    std::int64_t changed = 0;           // entries since then
    double put_off_us = 0;              // as of CostedAnalysis
    FirstSteps first_steps = {};

    Plan plan() const { return MatchedRows(rows).plan(vertices, order); }
    bool takes_longer(const KnownCosts& now) const;
  };
  std::optional<MatchedRows> kept_rows(const CscView<double>& a) const;
  Result<Next> with_scales(const CscView<double>& a, MatchedRows rows, Analysis& earlier);
  Result<Next> with_changes(const CscView<double>& a, MatchedRows rows, const Analysis& earlier);
  Result<std::optional<CostedAnalysis>> in_known_order(const CscView<double>& a, const MatchedRows& rows,
                                                       bool by_fronts) const;
  Result<CostedAnalysis> fresh(const CscView<double>& a, MatchedRows rows, const Purpose& purpose);

  PreprocessOptions options_;
  Purpose purpose_;
  FillOn fill_on_;
  std::optional<Known> known_;  // how `earlier` was ordered
};

}  // namespace lulab
