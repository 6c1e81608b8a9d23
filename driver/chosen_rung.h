#pragma once
// The rung that a Solver works with: the one for the first answers, and when it is time for the one for all steps.

#include <optional>

#include "core/plan.h"
#include "core/rung.h"
#include "core/status.h"
#include "driver/analysis_sequence.h"
#include "driver/choose_rung.h"
#include "driver/solver.h"

namespace lulab {

/// Which analysis and which rung come next. While preparing for all steps is put off (SolverOptions::prepare_at_once),
/// both are those of the shortest way to an answer, and the steps that they give are counted.
class ChosenRung {
 public:
  /// chooser: none: `named` is the rung.   Requires that the options stay where they are.
  ChosenRung(std::optional<RungChooser> chooser, RungChoice named, const SolverOptions& options);

  const RungChoice& choice() const { return choice_; }
  const RungFacts& facts() const { return choice_.rung->facts; }
  /// Those of the caller that the rung knows.
  FactorOptions factor_options() const;

  /// The next analysis, as AnalysisSequence::next(); for all steps where it is time for that.
  Result<AnalysisSequence::Next> next_analysis(const CscView<double>& a, Analysis* earlier);
  /// The caller gave an analysis: the next one does not continue this sequence.
  void forget_analysis() { sequence_.forget(); }
  /// What is known of the analysis that is taken: its costs, and what trying more orders is predicted to take.
  void take_costs(const KnownCosts& costs, double put_off_us);
  void take_costs(const KnownCosts& costs) { costs_ = costs; }
  void forget_choice();

  /// Chooses the rung for the analysis, and whether preparing is put off.   Errors as RungChooser::check_options().
  Status choose(const Analysis& analysis);
  /// Chooses another one after this one failed to prepare.   Returns whether there is one.
  bool fall_back(const Status& failed);
  /// The rung is not the first choice.
  bool fell_back() const { return fell_back_; }
  /// Takes the fronts out of an analysis where no rung will want them.
  void drop_fronts_without_use(Analysis& analysis);

  /// May preparing be put off by now? Not where the analysis was given.
  bool puts_off_preparing();
  /// Is the next step to prepare for all?
  bool is_to_prepare() { return prepare_after_ > 0 && (steps_on_device_ || are_made(prepare_after_)); }
  void count_step();
  /// Is an order for all steps due, too?
  bool has_put_off_order() const { return put_off_us_ > 0; }
  Result<CostedAnalysis> order_for_all_steps(const CscView<double>& a) { return sequence_.order_for_all_steps(a); }
  /// From now on steps count as those that all was prepared for.
  void end_first_steps();
  /// What the rung is prepared for: 1 or all.
  double steps_prepared_for() const { return prepare_after_ > 0 ? 1 : options_.expected_steps; }

  /// Steps are in device memory, or are not.
  void put_steps_on_device(bool are_there) { steps_on_device_ = are_there; }
  bool steps_are_on_device() const { return steps_on_device_; }
  /// Would the same rung be chosen now?
  bool is_still_the_choice(const Analysis& analysis) const;

 private:
  /// After how many steps; 0: preparing is not put off.
  double steps_before_preparing(const FilledPattern& filled, const KnownCosts& known, double untried_us);
  /// Instead of the one for a first answer.
  bool wants_order_for_all_steps(const CostedAnalysis& c);
  bool are_made(double steps) { return static_cast<double>(sequence_.first_steps()->made) >= steps; }
  RungChoice choice_for(const Analysis& analysis) const;

  const std::optional<RungChooser> chooser_;  // none: the caller named the rung
  RungChoice choice_;                         // no rung: none was chosen yet
  bool fell_back_ = false;
  const SolverOptions& options_;
  AnalysisSequence sequence_;
  KnownCosts costs_;              // of the analysis
  double put_off_us_ = 0;         // likewise: as of CostedAnalysis
  double prepare_after_ = 0;      // steps; 0: the rung is the one for all expected steps
  bool steps_on_device_ = false;  // step_device() was called
};

}  // namespace lulab
