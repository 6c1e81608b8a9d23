#include <limits>

#include <gtest/gtest.h>

#include "bench/rung_timing.h"
#include "core/matrix/generate.h"
#include "driver/analyze.h"
#include "testing/device.h"

namespace lulab::bench {
namespace {

template <class T>
void every_phase_is_timed_and_judged(const Rung& rung, const Problem& problem, bool cold) {
  auto timing = RungTiming<T>::create(rung, problem, {.cold = cold});
  ASSERT_TRUE(timing.ok()) << timing.status().to_string();
  EXPECT_EQ(timing->label().find("cold L2") != std::string::npos, cold);
  for (const Phase phase : phases) {
    if (is_pattern_phase(phase) || is_solver_phase(phase)) continue;
    const auto ms = timing->sample(phase);
    ASSERT_TRUE(ms.ok()) << to_string(phase) << ": " << ms.status().to_string();
    EXPECT_GE(*ms, 0) << to_string(phase);
    const auto error = timing->verify(phase);
    EXPECT_TRUE(error.ok()) << to_string(phase) << ": " << error.status().to_string();
  }
  EXPECT_GT(timing->peak_bytes(), 0);
}

TEST(RungTiming, TimesAndJudgesEveryPhaseOfEveryGpuRung) {
  LULAB_NEED_DEVICE();
  const auto load = [] {
    GenerateOptions options;
    options.n = 60;
    return generate("random_dominant", options);
  };
  const auto problem = load_problem({"random", load}, {.order = Order::amd}, builtin_constants("test"));
  ASSERT_TRUE(problem.ok()) << problem.status().to_string();
  for (const Rung* rung : all_rungs()) {
    if (rung->facts.device != Device::gpu) continue;
    SCOPED_TRACE(rung->facts.id);
    if (rung->supports<double>()) every_phase_is_timed_and_judged<double>(*rung, *problem, false);
    if (rung->supports<float>() && !simt::instrumented) every_phase_is_timed_and_judged<float>(*rung, *problem, true);
  }
}

TEST(RungTiming, GivesFixedPivotsThatVanishThoseOfTheReference) {
  LULAB_NEED_DEVICE();
  const auto load = [] {
    GenerateOptions options;
    options.n = 40;
    return generate("zero_diagonal", options);
  };
  auto problem = load_problem({"zero_diagonal", load}, {.order = Order::amd}, builtin_constants("test"));
  ASSERT_TRUE(problem.ok()) << problem.status().to_string();
  PreprocessOptions unmatched;  // leaves the zeros on the diagonal: fixed pivots must fail
  unmatched.matching = unmatched.scaling = false;
  auto analysis = analyze(problem->a, unmatched);
  ASSERT_TRUE(analysis.ok()) << analysis.status().to_string();
  problem->analysis = std::move(*analysis);
  for (const Rung* rung : all_rungs()) {
    if (rung->facts.device != Device::gpu || rung->facts.pivoting != Pivoting::fixed) continue;
    SCOPED_TRACE(rung->facts.id);
    auto timing = RungTiming<double>::create(*rung, *problem);
    ASSERT_TRUE(timing.ok()) << timing.status().to_string();
    EXPECT_NE(timing->label().find("pivots of sparse_leftlooking/00_reference"), std::string::npos) << timing->label();
    ASSERT_TRUE(timing->sample(Phase::refactor).ok());
    EXPECT_TRUE(timing->verify(Phase::refactor).ok());
  }
}

}  // namespace
}  // namespace lulab::bench
