#include "driver/chosen_rung.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace lulab {
namespace {

/// A few answers are seldom worth starting the GPU.
FillOn fill_on(const std::optional<RungChooser>& chooser, const Rung* rung, double expected_steps) {
  const bool may_use_gpu = chooser ? chooser->may_choose_gpu() : rung->facts.device == Device::gpu;
  if (!may_use_gpu || simt::machine() != simt::Machine::gpu) return FillOn::host;
  constexpr double few_steps = 100;
  return chooser && expected_steps < few_steps && simt::device_start_us() > 0 ? FillOn::large_on_gpu : FillOn::gpu;
}

bool may_put_off_preparing(const std::optional<RungChooser>& chooser, const SolverOptions& options) {
  return chooser && !options.prepare_at_once && options.expected_steps > 1 && options.solve == nullptr &&
         options.factor.perturb_pivots == 0 && options.repivot;
}

}  // namespace

ChosenRung::ChosenRung(std::optional<RungChooser> chooser, RungChoice named, const SolverOptions& options)
    : chooser_(chooser),
      choice_(std::move(named)),
      options_(options),
      sequence_(options.preprocess,
                {options.expected_steps, may_put_off_preparing(chooser, options), chooser.has_value()},
                fill_on(chooser, choice_.rung, options.expected_steps)) {}

FactorOptions ChosenRung::factor_options() const {
  return chooser_ ? options_.factor.only(facts().options) : options_.factor;
}

Result<AnalysisSequence::Next> ChosenRung::next_analysis(const CscView<double>& a, Analysis* earlier) {
  auto next = sequence_.next(a, earlier);
  if (next.ok() && next->anew && wants_order_for_all_steps(*next->anew))
    if (auto ordered = sequence_.order_for_all_steps(a); ordered.ok()) next->anew = std::move(*ordered);
  return next;
}

void ChosenRung::take_costs(const KnownCosts& costs, double put_off_us) {
  costs_ = costs;
  put_off_us_ = put_off_us;
}

void ChosenRung::forget_choice() {
  if (chooser_) choice_ = {};
}

Status ChosenRung::choose(const Analysis& analysis) {
  if (chooser_) LULAB_RETURN_IF_ERROR(chooser_->check_options(options_.factor));
  prepare_after_ = steps_before_preparing(analysis.filled, costs_, put_off_us_);
  if (has_put_off_order()) prepare_after_ = std::max(prepare_after_, 1.0);  // whatever new pivots cost, it is due
  if (chooser_) choice_ = choice_for(analysis);
  if (auto* first = sequence_.first_steps(); first && prepare_after_ == 0 && facts().device == Device::gpu)
    first->are_over = true;  // new pivots do not move it to the CPU
  fell_back_ = false;
  return {};
}

bool ChosenRung::fall_back(const Status& failed) {
  if (!chooser_) return false;
  RungChoice instead = chooser_->fall_back(choice_, failed);
  if (instead.rung == nullptr) return false;
  choice_ = std::move(instead);
  return fell_back_ = true;
}

void ChosenRung::drop_fronts_without_use(Analysis& analysis) {
  if (facts().device == Device::gpu || prepare_after_ > 0) return;
  analysis.fronts.reset();
  costs_.fronts = false;
}

bool ChosenRung::puts_off_preparing() {
  return may_put_off_preparing(chooser_, options_) && sequence_.first_steps() != nullptr && !steps_on_device_;
}

void ChosenRung::count_step() {
  if (prepare_after_ > 0) ++sequence_.first_steps()->made;
}

void ChosenRung::end_first_steps() {
  put_off_us_ = 0;
  sequence_.first_steps()->are_over = true;
}

bool ChosenRung::is_still_the_choice(const Analysis& analysis) const {
  const bool is_settled = !chooser_ || fell_back_ || options_.expected_steps <= 1 || options_.factor.perturb_pivots > 0;
  return is_settled || (prepare_after_ == 0 && choice_for(analysis).rung == choice_.rung);
}

double ChosenRung::steps_before_preparing(const FilledPattern& filled, const KnownCosts& known, double untried_us) {
  if (!puts_off_preparing() || sequence_.first_steps()->are_over) return 0;
  return chooser_->steps_before_preparing(filled, options_.factor, options_.expected_steps, known, untried_us);
}

bool ChosenRung::wants_order_for_all_steps(const CostedAnalysis& c) {
  return c.put_off_us > 0 && are_made(steps_before_preparing(c.analysis.filled, c.costs, c.put_off_us));
}

RungChoice ChosenRung::choice_for(const Analysis& analysis) const {
  Workload work = {.expected_steps = steps_prepared_for()};
  if (steps_on_device_) work.scalars_on_device = analysis.a.nnz() + 2 * std::int64_t{analysis.a.n_cols};
  RungChoice chosen = chooser_->choose(analysis.filled, options_.factor, work, costs_);
  if (const double steps = std::ceil(prepare_after_); steps > 0)
    chosen.reason += fmt::format("; chosen anew after {:.0f} step{}", steps, steps == 1 ? "" : "s");
  return chosen;
}

}  // namespace lulab
