#include "bench/batch_subject.h"

#include <cmath>

#include "core/matrix/generate.h"
#include "core/simt/test_device.h"

namespace lulab::bench {
namespace {

Problem problem_of(std::string_view family, std::int32_t n) {
  const auto load = [family, n] { return generate(family, {.n = n}); };
  auto problem = load_problem({std::string(family), load}, {.order = Order::amd}, builtin_constants("test"));
  EXPECT_TRUE(problem.ok()) << problem.status().to_string();
  return std::move(*problem);
}

TEST(BatchSubject, TimesAndJudgesEveryRungThatHasBatches) {
  LULAB_NEED_DEVICE();
  const Problem problem = problem_of("power_grid", 40);
  int found = 0;
  for (const Rung* rung : all_rungs()) {
    if (!has_batch_phase<double>(*rung)) continue;
    ++found;
    SCOPED_TRACE(rung->facts.id);
    auto subject = BatchSubject<double>::create(*rung, problem, 3);
    LULAB_ASSERT_OK(subject);
    const auto ms = subject->sample();
    LULAB_ASSERT_OK(ms);
    EXPECT_TRUE(*ms > 0 && std::isfinite(*ms));
    const auto error = subject->verify();
    LULAB_ASSERT_OK(error);
    EXPECT_TRUE(*error <= 1e-10) << *error;
    auto in_float = BatchSubject<float>::create(*rung, problem, 2);
    LULAB_ASSERT_OK(in_float);
    LULAB_ASSERT_OK(in_float->verify());
  }
  EXPECT_GE(found, 2);
}

TEST(BatchSubject, RefusesFactorsOfOtherValues) {
  LULAB_NEED_DEVICE();
  Problem problem = problem_of("power_grid", 40);
  const auto rung = find_rung(all_rungs(), "10_supernode_panels");
  LULAB_ASSERT_OK(rung);
  auto subject = BatchSubject<double>::create(**rung, problem, 2);
  LULAB_ASSERT_OK(subject);
  for (double& v : problem.a.values) v *= -3;
  problem.a.values[0] += 1;
  EXPECT_EQ(subject->verify().status().code, StatusCode::needs_repivot);
}

}  // namespace
}  // namespace lulab::bench
