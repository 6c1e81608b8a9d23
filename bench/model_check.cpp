#include "bench/model_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/harness.h"
#include "bench/rung_timing.h"
#include "symbolic/levels.h"

namespace lulab::bench {

double ModelCheck::relative_error(const Prediction& prediction) const {
  return std::abs(prediction.ms - *measured_ms) / *measured_ms;
}

ModelCheck check_model(const Problem& problem, const DeviceConstants& constants, int scalar_bytes, int warps_per_sm) {
  const Analysis& analysis = problem.analysis;
  const auto predict = [&](PipelineModel model) {
    return predict_pipeline(analysis, constants,
                            {.model = model, .warps_per_sm = warps_per_sm, .scalar_bytes = scalar_bytes});
  };
  return {.matrix = problem.name,
          .order = analysis.plan.order,
          .n = analysis.filled.n,
          .levels = levels_left_looking(analysis.filled).n_levels(),
          .nnz = analysis.a.nnz(),
          .nnz_lu = analysis.filled.nnz(),
          .published = predict(PipelineModel::published),
          .extended = predict(PipelineModel::extended),
          .measured_ms = {}};
}

template <class T>
Result<double> measure_refactor(const Rung& rung, const Problem& problem, const FactorOptions& options) {
  if (simt::machine() == simt::Machine::simulator)
    return Status::error(StatusCode::not_implemented, "the simulator measures no time; build for a GPU to measure");
  LULAB_ASSIGN_OR_RETURN(auto timing, RungTiming<T>::create(rung, problem, {.factor = options}));
  if (timing.repivoted())
    return Status::error(StatusCode::needs_repivot,
                         "the planned pivots are not stable for " + problem.name + ": other ones would be measured");
  Comparison comparison = {.title = problem.name, .cases = {}, .sampling = {.min_samples = 11, .max_samples = 11}};
  Case& c = comparison.cases.emplace_back();
  c.rows = {{.name = {std::string(rung.facts.id), problem.name, Phase::refactor, scalar_of<T>()}}};
  Status status;
  c.run = [&](std::uint64_t) {
    const auto ms = timing.sample(Phase::refactor);
    status = ms.status();
    return one_time(ms);
  };
  c.verify = [&](std::span<Row>) { return status = timing.verify(Phase::refactor).status(); };
  const double ms = measure(comparison).front().time_ms;
  if (!status.ok()) return status;
  return ms;
}
template Result<double> measure_refactor<float>(const Rung&, const Problem&, const FactorOptions&);
template Result<double> measure_refactor<double>(const Rung&, const Problem&, const FactorOptions&);

std::optional<double> mean_relative_error(std::span<const ModelCheck> checks, PipelineModel model) {
  double sum = 0;
  int measured = 0;
  for (const ModelCheck& check : checks) {
    if (!check.measured_ms) continue;
    sum += check.relative_error(model == PipelineModel::published ? check.published : check.extended);
    ++measured;
  }
  if (measured == 0) return {};
  return sum / measured;
}

nlohmann::ordered_json to_json(const ModelCheck& check) {
  nlohmann::ordered_json json = {{"matrix", check.matrix}, {"n", check.n},           {"nnz", check.nnz},
                                 {"order", check.order},   {"nnz_lu", check.nnz_lu}, {"levels", check.levels}};
  for (const auto& [name, prediction] : {std::pair{"extended", check.extended}, {"published", check.published}}) {
    json[name] = nlohmann::ordered_json::parse(to_json(prediction));
    if (check.measured_ms) json[name]["relative_error"] = check.relative_error(prediction);
  }
  if (check.measured_ms) json["measured_ms"] = *check.measured_ms;
  return json;
}

}  // namespace lulab::bench
