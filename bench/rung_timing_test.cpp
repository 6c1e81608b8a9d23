#include "bench/rung_timing.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "bench/auto_rung.h"
#include "core/matrix/generate.h"

namespace lulab::bench {
namespace {

Problem problem_of(std::string_view family, std::int32_t n) {
  const auto load = [family, n] {
    GenerateOptions options;
    options.n = n;
    return generate(family, options);
  };
  auto problem = load_problem({std::string(family), load}, {.order = Order::amd}, builtin_constants("test"));
  EXPECT_TRUE(problem.ok()) << problem.status().to_string();
  return std::move(*problem);
}

template <class T>
void every_phase_is_timed_and_judged(const Rung& rung, const Problem& problem) {
  auto timing = RungTiming<T>::create(rung, problem);
  ASSERT_TRUE(timing.ok()) << timing.status().to_string();
  for (const Phase phase : phases) {
    if (is_pattern_phase(phase) || is_solver_phase(phase)) continue;
    for (int repetition = 0; repetition < 3; ++repetition) {
      const auto ms = timing->sample(phase);
      ASSERT_TRUE(ms.ok()) << to_string(phase) << ": " << ms.status().to_string();
      EXPECT_GE(*ms, 0) << to_string(phase);
      EXPECT_TRUE(std::isfinite(*ms)) << to_string(phase);
    }
    const auto error = timing->verify(phase);
    ASSERT_TRUE(error.ok()) << to_string(phase) << ": " << error.status().to_string();
    // The limit that verify() promises.
    EXPECT_LE(*error, 10 * std::sqrt(static_cast<double>(std::numeric_limits<T>::epsilon()))) << to_string(phase);
  }
}

TEST(RungTiming, TimesAndJudgesEveryPhaseOfEveryCpuRung) {
  const Problem problem = problem_of("random_dominant", 120);
  for (const Rung* rung : all_rungs()) {
    if (rung->facts.device != Device::cpu) continue;
    SCOPED_TRACE(rung->facts.id);
    if (rung->supports<double>()) every_phase_is_timed_and_judged<double>(*rung, problem);
    if (rung->supports<float>()) every_phase_is_timed_and_judged<float>(*rung, problem);
  }
}

// In a build for the GPU the choice may be either; whatever it is, it says so and the bound is its own.
TEST(RungTiming, AutoIsReportedWithWhatItChose) {
  const Problem problem = problem_of("random_dominant", 120);
  const auto automatic = find_timed_rung("auto"), reference = find_timed_rung("sparse_leftlooking/00_reference");
  ASSERT_TRUE(automatic.ok() && reference.ok());
  EXPECT_EQ(*automatic, &auto_rung());
  const auto timing = RungTiming<double>::create(**automatic, problem, {.factor = {.threads = 2}});
  ASSERT_TRUE(timing.ok()) << timing.status().to_string();
  const Rung& working = timing->working_rung();
  EXPECT_NE(&working, *automatic);
  EXPECT_EQ(timing->label(), "chose " + std::string(working.facts.id) + ", at most 2 threads");
  EXPECT_NE(timing->choice_reason().find(working.facts.id), std::string::npos) << timing->choice_reason();
  if (simt::machine() == simt::Machine::simulator) {
    EXPECT_EQ(working.facts.id, "sparse_leftlooking/07_threads");
    EXPECT_EQ(timing->peak_bytes(), 0);
  }
  EXPECT_LE(timing->threads(), 2);
  const auto plain = RungTiming<double>::create(**reference, problem);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(&plain->working_rung(), *reference);
  EXPECT_EQ(plain->choice_reason(), "");
  EXPECT_EQ(plain->label(), "");
}

TEST(RungTiming, CountsTheThreadsOfTheRung) {
  const Problem problem = problem_of("random_dominant", 120);
  const auto threads = find_rung(all_rungs(), "07_threads"),
             reference = find_rung(all_rungs(), "leftlooking/00_reference");
  ASSERT_TRUE(threads.ok() && reference.ok());
  for (const int given : {1, 3}) {
    auto timing = RungTiming<double>::create(**threads, problem, {.factor = {.threads = given}});
    ASSERT_TRUE(timing.ok()) << timing.status().to_string();
    EXPECT_EQ(timing->threads(), given);
    ASSERT_TRUE(timing->sample(Phase::refactor).ok());
    EXPECT_TRUE(timing->verify(Phase::refactor).ok());
  }
  EXPECT_EQ(RungTiming<double>::create(**reference, problem)->threads(), 1);
}

TEST(RungTiming, HostPhasesReproduceTheAnalysis) {
  Problem problem = problem_of("random_dominant", 150);
  EXPECT_TRUE(sample_host_phase(problem, Phase::preprocess).ok());
  EXPECT_TRUE(sample_host_phase(problem, Phase::symbolic).ok());
  problem.analysis.filled.row_idx.pop_back();
  EXPECT_FALSE(sample_host_phase(problem, Phase::symbolic).ok());
  std::swap(problem.analysis.plan.p[0], problem.analysis.plan.p[1]);
  EXPECT_FALSE(sample_host_phase(problem, Phase::preprocess).ok());
}

// A rung whose refactor() keeps the factors of the values before: fast, and wrong.
template <class T>
class StaleBackend final : public Backend<T> {
 public:
  StaleBackend() : inner_((*find_rung(all_rungs(), "sparse_leftlooking/00_reference"))->template make<T>()) {}
  Status prepare(const Analysis& analysis, std::int32_t) override { return inner_->analyze(analysis); }
  Status upload(std::span<const T> values) override { return uploads_++ == 0 ? inner_->upload(values) : Status{}; }
  Status enqueue(lulab::Phase phase) override { return phase == lulab::Phase::factor ? inner_->factor() : Status{}; }
  Status collect(std::span<Status>) override { return {}; }
  Result<Factors<T>> download(std::int32_t) override { return inner_->download(); }

 private:
  std::unique_ptr<Factorizer<T>> inner_;
  int uploads_ = 0;
};

template <class T>
void stale_factors_are_refused(const Rung& stale, const Problem& problem) {
  for (const Phase phase : {Phase::upload, Phase::factor, Phase::refactor, Phase::download, Phase::end_to_end}) {
    auto timing = RungTiming<T>::create(stale, problem);
    ASSERT_TRUE(timing.ok()) << timing.status().to_string();
    ASSERT_TRUE(timing->sample(phase).ok());
    EXPECT_EQ(timing->verify(phase).status().code, StatusCode::needs_repivot) << to_string(phase);
  }
}

TEST(RungTiming, RefusesTheTimeOfARungWhoseFactorsAreStale) {
  const Problem problem = problem_of("random_dominant", 120);
  const Rung stale = lulab::rung_of<StaleBackend>({.id = "test/stale", .pivoting = Pivoting::threshold});
  stale_factors_are_refused<double>(stale, problem);
  stale_factors_are_refused<float>(stale, problem);
}

}  // namespace
}  // namespace lulab::bench
