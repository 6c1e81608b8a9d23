#include "app/explain.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/host/explain_events.h"
#include "app/host/explain_run.h"
#include "app/host/explain_steps.h"
#include "core/factorizer.h"
#include "core/simt/host/simulator_options.h"

namespace lulab::app {
namespace {

Result<const Explained*> find_algorithm(const std::string& name) {
  std::vector<std::string_view> ids;
  for (const Explained& algorithm : explained_algorithms()) ids.push_back(algorithm.about.name);
  LULAB_ASSIGN_OR_RETURN(const auto at, find_id(ids, name));
  return &explained_algorithms()[at];
}

/// What the sequential algorithm makes of the same values.
Result<std::vector<double>> right_values(const Analysis& analysis, std::span<const double> a_values) {
  LULAB_ASSIGN_OR_RETURN(const Rung* reference, find_rung(every_rung(), "sparse_hybrid/00_reference"));
  const auto factorizer = reference->make<double>();
  LULAB_RETURN_IF_ERROR(factorizer->analyze(analysis));
  LULAB_RETURN_IF_ERROR(factorizer->upload(a_values));
  LULAB_RETURN_IF_ERROR(factorizer->factor());
  LULAB_ASSIGN_OR_RETURN(auto factors, factorizer->download());
  return std::move(factors.values);
}

/// The last step: is L + U right?
ExplainStep result_step(const FilledPattern& f, std::span<const double> values, std::span<const double> right) {
  ExplainStep step;
  step.kind = ExplainStep::Kind::result;
  double largest = 0;
  for (const double v : right) largest = std::max(largest, std::abs(v));
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
      // Sums of at most 40 products, in another order.
      if (std::abs(values[p] - right[p]) <= 1e-12 * std::max(std::abs(right[p]), largest)) continue;
      step.written.push_back(p);
      step.details.push_back(
          fmt::format("({},{}) is {:.6g} instead of {:.6g}", f.row_idx[p] + 1, j + 1, values[p], right[p]));
    }
  step.text = step.written.empty() ? fmt::format("all {} entries of L + U are right", f.nnz())
                                   : fmt::format("{} of {} entries of L + U are wrong", step.written.size(), f.nnz());
  return step;
}

}  // namespace

std::span<const Explainable> explainables() {
  static const std::vector<Explainable> all = [] {
    std::vector<Explainable> list;
    for (const Explained& algorithm : explained_algorithms()) list.push_back(algorithm.about);
    return list;
  }();
  return all;
}

Result<Explanation> explain(const Analysis& analysis, std::span<const double> a_values, const ExplainOptions& options) {
  LULAB_ASSIGN_OR_RETURN(const Explained* algorithm, find_algorithm(options.algorithm));
  const FilledPattern& f = analysis.filled;
  Explanation e;
  e.algorithm = algorithm->about.name;
  e.start = start_values(analysis, a_values);
  e.is_fill.assign(f.row_idx.size(), 1);
  for (const std::int64_t p : analysis.a_to_filled) e.is_fill[p] = 0;

  simt::SimulatorOptions schedule = simt::host::simulator_options();
  schedule.seed = options.seed.value_or(schedule.seed);
  schedule.resident_blocks =
      options.resident.value_or(algorithm->resident > 0 ? algorithm->resident : schedule.resident_blocks);
  e.seed = schedule.seed;
  e.resident = schedule.resident_blocks;
  const simt::SimulatorScope scope(schedule);
  const simt::host::Trace trace;
  std::vector<double> values;
  e.outcome = algorithm->make()->run(analysis, a_values, values);
  if (e.outcome.code == StatusCode::out_of_memory) return e.outcome;
  e.steps = make_steps(trace, *algorithm, f, e.is_fill, e.start);
  if (options.with_events) e.events = events_to_json(trace, f);
  if (!e.outcome.ok()) return e;
  LULAB_ASSIGN_OR_RETURN(const auto right, right_values(analysis, a_values));
  e.steps.push_back(result_step(f, values, right));
  const auto race = std::ranges::find(e.steps, ExplainStep::Kind::race, &ExplainStep::kind);
  if (race != e.steps.end())
    e.outcome = Status::error(StatusCode::data_race, race->text.substr(std::string_view("race on ").size()));
  return e;
}

}  // namespace lulab::app
