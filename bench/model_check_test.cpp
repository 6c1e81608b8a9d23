#include "bench/model_check.h"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/matrix/generate.h"
#include "core/simt/device.h"
#include "driver/analyze.h"
#include "symbolic/levels.h"

namespace lulab::bench {
namespace {

Problem small_circuit() {
  Problem problem;
  problem.name = "power_grid";
  problem.a = generate("power_grid", {.n = 200, .seed = 2}).value();
  problem.analysis = analyze(problem.a, problem.preprocess).value();
  return problem;
}

ModelCheck check_of(double extended_ms, double published_ms, std::optional<double> measured_ms) {
  ModelCheck check;
  check.extended.ms = extended_ms;
  check.published.ms = published_ms;
  check.measured_ms = measured_ms;
  return check;
}

TEST(ModelCheck, MeanRelativeErrorIsTheMeanOverMeasuredMatrices) {
  const std::vector<ModelCheck> checks = {check_of(3, 1, 4.0), check_of(5, 12, 4.0), check_of(100, 100, {})};
  EXPECT_DOUBLE_EQ(checks[0].relative_error(checks[0].extended), 0.25);
  EXPECT_DOUBLE_EQ(*mean_relative_error(checks, PipelineModel::extended), 0.25);
  EXPECT_DOUBLE_EQ(*mean_relative_error(checks, PipelineModel::published), (0.75 + 2) / 2);
  EXPECT_FALSE(mean_relative_error({&checks[2], 1}, PipelineModel::extended));
}

TEST(ModelCheck, HoldsBothPredictionsAndWhatTheyAreOf) {
  const Problem problem = small_circuit();
  const DeviceConstants c = builtin_constants("NVIDIA H200");
  ModelCheck check = check_model(problem, c, 4, 3);
  EXPECT_EQ(check.matrix, "power_grid");
  EXPECT_EQ(check.nnz_lu, problem.analysis.filled.nnz());
  EXPECT_EQ(check.levels, levels_left_looking(problem.analysis.filled).n_levels());
  EXPECT_EQ(
      check.published.ms,
      predict_pipeline(problem.analysis, c, {.model = PipelineModel::published, .warps_per_sm = 3, .scalar_bytes = 4})
          .ms);
  EXPECT_EQ(check.extended.warp.value_bytes, 4);
  EXPECT_FALSE(to_json(check).contains("measured_ms"));
  check.measured_ms = 2 * check.extended.ms;
  EXPECT_EQ(to_json(check)["extended"]["relative_error"], 0.5);
}

TEST(ModelCheck, MeasuresNothingInTheSimulator) {
  if (simt::machine() == simt::Machine::gpu) GTEST_SKIP() << "this build measures";
  const auto rung = find_rung(all_rungs(), modelled_rung);
  ASSERT_TRUE(rung.ok()) << rung.status().to_string();
  const auto ms = measure_refactor<double>(**rung, small_circuit());
  EXPECT_EQ(ms.status().code, StatusCode::not_implemented);
}

}  // namespace
}  // namespace lulab::bench
