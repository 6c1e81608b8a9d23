#include "bench/extra_phases.h"

#include <cmath>

#include "bench/auto_rung.h"
#include "core/matrix/generate.h"
#include "testing/device.h"

namespace lulab::bench {
namespace {

constexpr Sampling thrice = {.min_samples = 3, .max_samples = 3, .budget_s = 0};

Problem problem_of(std::string_view family, std::int32_t n, Order order = Order::amd) {
  const auto load = [family, n] { return generate(family, {.n = n}); };
  auto problem = load_problem({std::string(family), load}, {.order = order}, builtin_constants("test"));
  EXPECT_TRUE(problem.ok()) << problem.status().to_string();
  return std::move(*problem);
}

Row measured(Case c) {
  Comparison comparison = {.title = "test", .cases = {std::move(c)}, .sampling = thrice};
  return measure(comparison).front();
}

void expect_three_samples(const Row& row) {
  EXPECT_EQ(row.error, "") << to_string(row.name);
  EXPECT_EQ(row.samples, 3);
  EXPECT_TRUE(row.min_ms > 0 && std::isfinite(row.max_ms)) << row.min_ms << " " << row.max_ms;
}

TEST(BatchPhase, TimesAndJudgesEveryRungThatHasBatches) {
  LULAB_NEED_DEVICE();
  const Problem problem = problem_of("power_grid", 40);
  std::vector<const Rung*> rungs = {&auto_rung()};
  for (const Rung* rung : all_rungs())
    if (has_batch_phase<double>(*rung)) rungs.push_back(rung);
  EXPECT_GE(rungs.size(), 2u);
  for (const Rung* rung : rungs) {
    const Row row = measured(batch_case<double>(*rung, problem, 3));
    expect_three_samples(row);
    EXPECT_TRUE(row.backward_error > 0 && row.backward_error <= 1e-10) << row.backward_error;
    expect_three_samples(measured(batch_case<float>(*rung, problem, 2)));
    expect_three_samples(measured(batch_step_case<double>(*rung, problem, 3)));
    expect_three_samples(measured(batch_step_case<float>(*rung, problem, 2)));
  }
}

TEST(BatchPhase, RefusesFactorsAndSolutionsOfOtherValues) {
  LULAB_NEED_DEVICE();
  const auto rung = find_rung(all_rungs(), "10_supernode_panels");
  LULAB_ASSERT_OK(rung);
  for (const auto case_of : {batch_case<double>, batch_step_case<double>}) {
    Problem problem = problem_of("power_grid", 40);
    Case c = case_of(**rung, problem, 2, {});
    LULAB_ASSERT_OK(c.prepare());
    LULAB_ASSERT_OK(c.run(1));
    LULAB_ASSERT_OK(c.verify(c.rows));
    for (double& v : problem.a.values) v *= -3;
    problem.a.values[0] += 1;
    EXPECT_EQ(c.verify(c.rows).code, StatusCode::needs_repivot);
  }
}

}  // namespace
}  // namespace lulab::bench
