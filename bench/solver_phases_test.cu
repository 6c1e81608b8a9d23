#include <gtest/gtest.h>

#include "bench/solver_phases.h"
#include "core/matrix/generate.h"
#include "testing/device.h"

namespace lulab::bench {
namespace {

template <class T>
void a_gpu_rung_is_judged_and_divided(const Problem& problem) {
  const auto rung = find_rung(all_rungs(), "10_supernode_panels");
  LULAB_ASSERT_OK(rung);
  for (const Phase phase : {Phase::step, Phase::step_device, Phase::first}) {
    Comparison comparison = {.title = "test",
                             .cases = solver_cases({solver_contender<T>(**rung, problem)}, problem, phase),
                             .sampling = {.min_samples = 2, .max_samples = 2, .budget_s = 0}};
    const Row row = measure(comparison).front();
    EXPECT_EQ(row.error, "") << to_string(row.name);
    EXPECT_EQ(row.threads, 1) << "those of the driver, or of the simulator, are not counted";
    EXPECT_TRUE(row.backward_error > 0 && row.backward_error <= 1e-12) << row.backward_error;
    ASSERT_EQ(row.parts.size(), phase == Phase::step ? 6u : phase == Phase::first ? 3u : 1u);
    for (const Part& part : row.parts) {
      if (part.name == "pivots" || part.name == "download")
        EXPECT_EQ(part.ms, 0) << part.name << ": the factors stay on the device";
      else
        EXPECT_GE(part.ms, 0) << part.name;
    }
    const Part& works = row.parts[phase == Phase::step_device ? 0 : 2];  // refactor, which has the solve; step; solve
    EXPECT_GT(works.ms, 0) << works.name;
  }
}

TEST(SolverPhases, ARungOfTheGpuIsJudgedAndDivided) {
  LULAB_NEED_DEVICE();
  const auto load = [] { return generate("power_grid", {.n = 60}); };
  const auto problem = load_problem({"power_grid", load}, {}, builtin_constants("test"));
  LULAB_ASSERT_OK(problem);
  a_gpu_rung_is_judged_and_divided<double>(*problem);
  a_gpu_rung_is_judged_and_divided<float>(*problem);
}

}  // namespace
}  // namespace lulab::bench
