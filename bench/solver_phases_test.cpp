#include "bench/solver_phases.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/auto_rung.h"
#include "bench/gpu_meter.h"
#include "bench/host_memory.h"
#include "bench/sparse_cases.h"
#include "core/matrix/generate.h"
#include "testing/rungs.h"

namespace lulab::bench {
namespace {

constexpr Sampling thrice = {.min_samples = 3, .max_samples = 3, .budget_s = 0};

Problem problem_for_phases(std::string_view family, std::int32_t n) {
  const auto load = [family, n] { return generate(family, {.n = n, .seed = 5}); };
  auto problem = load_problem({std::string(family), load}, {}, builtin_constants("test"));
  EXPECT_TRUE(problem.ok()) << problem.status().to_string();
  return std::move(*problem);
}

std::vector<Contender> every_contender(const Problem& problem) {
  return {klu_contender(problem), klu_our_order_contender(problem), solver_contender<double>(auto_rung(), problem),
          solver_contender<float>(auto_rung(), problem),
          solver_contender<double>(**find_rung(all_rungs(), "leftlooking/00_reference"), problem)};
}

std::vector<Row> measured(const std::vector<Contender>& contenders, const Problem& problem, Phase phase,
                          bool energy = false) {
  Comparison comparison = {.title = "test",
                           .cases = solver_cases(contenders, problem, phase, energy),
                           .sampling = thrice,
                           .reason_to_skip = {}};
  return measure(comparison);
}

TEST(SolverPhases, EverySolverIsTimedDividedAndJudged) {
  const Problem problem = problem_for_phases("power_grid", 200);
  for (const Phase phase : solver_phases) {
    const auto rows = measured(every_contender(problem), problem, phase);
    ASSERT_EQ(rows.size(), 5u);
    for (const Row& row : rows) {
      SCOPED_TRACE(to_string(row.name));
      EXPECT_EQ(row.error, "");
      EXPECT_EQ(row.samples, 3);
      EXPECT_GT(row.min_ms, 0);
      EXPECT_GT(row.backward_error, 0);
      EXPECT_LE(row.backward_error, 1e-12);
      EXPECT_GE(row.threads, 1);
      std::vector<std::string> names;
      for (const Part& part : row.parts) names.push_back(part.name);
      const bool klu = row.name.rung.starts_with("peers/");
      const std::vector<std::string> of_step = {"pivots", "upload", "refactor", "judge", "download", "solve"};
      EXPECT_EQ(names, phase == Phase::first         ? std::vector<std::string>({"analyze", "factor", "solve"})
                       : phase == Phase::run         ? std::vector<std::string>({"first", "steps"})
                       : phase == Phase::step_device ? std::vector<std::string>({"step"})
                       : klu                         ? std::vector<std::string>({"refactor", "solve"})
                                                     : of_step);
      EXPECT_EQ(row.chosen_rung.empty(), row.name.rung != "auto");
    }
    EXPECT_EQ(rows[0].threads, 1);
    EXPECT_EQ(rows[0].label, "defaults");
    EXPECT_EQ(rows[1].label, "order " + problem.analysis.plan.order);
  }
}

TEST(SolverPhases, TheLineSaysHowManyThreadsWorkedAndWhatWasAskedFor) {
  const Problem problem = problem_for_phases("power_grid", 200);
  const auto rung = find_rung(all_rungs(), "07_threads");
  ASSERT_TRUE(rung.ok());
  for (const Phase phase : solver_phases) {
    const Row row = measured({solver_contender<double>(**rung, problem, {.threads = 3})}, problem, phase).front();
    EXPECT_EQ(row.error, "");
    EXPECT_EQ(row.threads, 3);
    EXPECT_EQ(row.label, "at most 3 threads");
  }
}

TEST(SolverPhases, ThePartsAddUpToAtMostTheWhole) {
  const Problem problem = problem_for_phases("random_dominant", 150);
  for (const Phase phase : solver_phases) {
    for (Case& c : solver_cases(every_contender(problem), problem, phase)) {
      ASSERT_TRUE(c.prepare().ok());
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto times = c.run(seed);
        ASSERT_TRUE(times.ok()) << times.status().to_string();
        ASSERT_EQ(times->size(), 1 + c.parts.size());
        for (const double ms : *times) EXPECT_GE(ms, 0);
        // The sum of a few doubles is rounded.
        EXPECT_LE(std::accumulate(times->begin() + 1, times->end(), 0.0), (*times)[0] * (1 + 1e-12));
      }
    }
  }
}

/// A solver whose x is changed before it is given back.
class Spoilt final : public TimedSolver {
 public:
  using Spoil = std::function<void(std::span<double> x, int run)>;
  Spoilt(std::unique_ptr<TimedSolver> solver, Spoil spoil, int& runs, bool on_host = true)
      : solver_(std::move(solver)), spoil_(std::move(spoil)), runs_(runs), on_host_(on_host) {}
  std::vector<std::string> parts(Phase phase) const override { return solver_->parts(phase); }
  Status prepare(const CscView<double>& a) override { return solver_->prepare(a); }
  Result<Times> step(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    auto times = solver_->step(values, b, x);
    spoil_(x, ++runs_);
    return times;
  }
  Result<Times> step_device(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    auto times = solver_->step_device(values, b, x);
    spoil_(x, ++runs_);
    return times;
  }
  Result<Times> first(const CscView<double>& a, std::span<const double> b, std::span<double> x) override {
    auto times = solver_->first(a, b, x);
    spoil_(x, ++runs_);
    return times;
  }

  bool works_on_host() const override { return on_host_; }

 private:
  std::unique_ptr<TimedSolver> solver_;
  const Spoil spoil_;
  int& runs_;
  const bool on_host_;
};

Row measured_spoilt(Contender contender, const Problem& problem, Phase phase, const Spoilt::Spoil& spoil) {
  int runs = 0;
  contender.make = [make = contender.make, spoil, &runs] { return std::make_unique<Spoilt>(make(), spoil, runs); };
  return measured({contender}, problem, phase).front();
}

TEST(SolverPhases, AWrongSolutionHasNoTime) {
  const Problem problem = problem_for_phases("power_grid", 120);
  const std::vector<std::pair<const char*, Spoilt::Spoil>> ways = {
      {"one entry", [](std::span<double> x, int) { x[7] *= 1 + 1e-4; }},
      {"not a number", [](std::span<double> x, int) { x[7] = std::numeric_limits<double>::quiet_NaN(); }},
      {"infinite", [](std::span<double> x, int) { x[7] = std::numeric_limits<double>::infinity(); }},
      {"never written", [](std::span<double> x, int) { std::ranges::fill(x, std::nan("")); }},
      {"zero", [](std::span<double> x, int) { std::ranges::fill(x, 0); }},
      {"only in the second run", [](std::span<double> x, int run) { x[7] *= run == 2 ? 2 : 1; }},
  };
  for (const Phase phase : solver_phases) {
    for (const Contender& contender : every_contender(problem)) {
      for (const auto& [how, spoil] : ways) {
        const Row row = measured_spoilt(contender, problem, phase, spoil);
        EXPECT_NE(row.error.find("inaccurate: backward error"), std::string::npos)
            << to_string(row.name) << ", " << how << ": " << row.error;
        EXPECT_EQ(row.samples, 0) << how;
        EXPECT_EQ(row.time_ms, 0) << how;
        EXPECT_TRUE(row.parts.empty()) << how;
      }
      EXPECT_EQ(measured_spoilt(contender, problem, phase, [](std::span<double>, int) {}).error, "");
    }
  }
}

// Steps for the energy come after the timed ones: one to warm up, and three samples.
TEST(SolverPhases, AWrongSolutionWhileEnergyIsMeasuredHasNoTime) {
  const Problem problem = problem_for_phases("power_grid", 120);
  for (const bool on_host : {false, true})
    for (const bool spoilt : {false, true}) {
      int runs = 0;
      Contender contender = klu_contender(problem);
      contender.make = [&, make = contender.make] {
        const auto spoil = [spoilt](std::span<double> x, int run) { x[7] *= spoilt && run > 4 ? 2 : 1; };
        return std::make_unique<Spoilt>(make(), spoil, runs, on_host);
      };
      const Row row = measured({contender}, problem, Phase::step, true).front();
      EXPECT_EQ(row.error.empty(), on_host || !spoilt) << row.error;
      EXPECT_EQ(runs > 4, !on_host) << "the simulator tells no energy, but is asked for it";
      EXPECT_EQ(row.energy.has_value(), !on_host && !spoilt && gpu_joules().has_value());
    }
}

// The x of the run before solves another system: a solver that gives it back is found.
TEST(SolverPhases, AnOldSolutionHasNoTime) {
  const Problem problem = problem_for_phases("power_grid", 120);
  std::vector<double> old;
  const auto keep = [&](std::span<double> x, int run) {
    if (run == 1) old.assign(x.begin(), x.end());
    std::ranges::copy(old, x.begin());
  };
  const Row row = measured_spoilt(klu_contender(problem), problem, Phase::step, keep);
  EXPECT_NE(row.error.find("inaccurate"), std::string::npos) << row.error;
}

struct Seen {
  std::vector<double> value, b;  // the first of each run
  bool x_was_poisoned = true;
  int solvers = 0, reused = 0;  // made; asked for a first solution again
};

/// KLU that writes down what it is given.
class Witness final : public TimedSolver {
 public:
  Witness(std::unique_ptr<TimedSolver> klu, Seen& seen) : klu_(std::move(klu)), seen_(seen) { ++seen.solvers; }
  std::vector<std::string> parts(Phase phase) const override { return klu_->parts(phase); }
  Status prepare(const CscView<double>& a) override { return klu_->prepare(a); }
  Result<Times> step(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    look(values, b, x);
    return klu_->step(values, b, x);
  }
  Result<Times> step_device(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    look(values, b, x);
    return klu_->step_device(values, b, x);
  }
  Result<Times> first(const CscView<double>& a, std::span<const double> b, std::span<double> x) override {
    look(a.values, b, x);
    seen_.reused += std::exchange(used_, true);
    return klu_->first(a, b, x);
  }

 private:
  void look(std::span<const double> values, std::span<const double> b, std::span<const double> x) {
    seen_.value.push_back(values[0]);
    seen_.b.push_back(b[0]);
    for (const double entry : x) seen_.x_was_poisoned &= std::isnan(entry);
  }
  std::unique_ptr<TimedSolver> klu_;
  Seen& seen_;
  bool used_ = false;
};

TEST(SolverPhases, EachRunHasOtherInputAPoisonedXAndForFirstAFreshSolver) {
  const Problem problem = problem_for_phases("power_grid", 60);
  for (const Phase phase : solver_phases) {
    Seen seen;
    Contender contender = klu_contender(problem);
    contender.make = [make = contender.make, &seen] { return std::make_unique<Witness>(make(), seen); };
    EXPECT_EQ(measured({contender}, problem, phase).front().error, "");
    const std::size_t answers = phase == Phase::run ? 100 : 1;
    ASSERT_EQ(seen.value.size(), 4 * answers) << "a run to warm up and three samples";
    for (std::size_t run = 1; run < seen.value.size(); ++run) {
      EXPECT_NE(seen.value[run], seen.value[run - 1]);
      EXPECT_NE(seen.b[run], seen.b[run - 1]);
    }
    EXPECT_TRUE(seen.x_was_poisoned);
    EXPECT_EQ(seen.reused, 0);
    const int for_names = phase == Phase::run ? 0 : 1;
    EXPECT_EQ(seen.solvers, (phase == Phase::first || phase == Phase::run ? 4 : 1) + for_names);
  }
}

TEST(SolverPhases, AStepOfASequenceHasItsValuesAndItsRightHandSide) {
  Problem problem = problem_for_phases("power_grid", 60);
  for (const double times : {2.0, 3.0}) {
    std::vector<double> values = problem.a.values, b(problem.a.n_rows, times);
    for (double& v : values) v *= times;
    problem.sequence.push_back({values, b});
  }
  Seen seen;
  Contender contender = klu_contender(problem);
  contender.make = [make = contender.make, &seen] { return std::make_unique<Witness>(make(), seen); };
  EXPECT_EQ(measured({contender}, problem, Phase::step).front().error, "");
  EXPECT_EQ(seen.b, (std::vector<double>{3, 2, 3, 2}));
  const double first = problem.a.values[0];
  EXPECT_EQ(seen.value, (std::vector<double>{3 * first, 2 * first, 3 * first, 2 * first}));
}

TEST(SolverPhases, AFirstAnswerSaysItsMemory) {
  if (!HostMemoryWatch().most_bytes()) GTEST_SKIP() << "the system does not tell the largest resident size";
  const Problem problem = problem_for_phases("grid2d", 10000);
  const Row klu = measured({klu_contender(problem)}, problem, Phase::first).front();
  ASSERT_EQ(klu.error, "");
  EXPECT_GE(klu.host_bytes, 12 * problem.analysis.filled.nnz()) << "L and U";
  EXPECT_LE(klu.host_bytes, 1000 * problem.analysis.filled.nnz());
  EXPECT_EQ(measured({klu_contender(problem)}, problem, Phase::step).front().host_bytes, 0);
}

// Refined solutions are held to more digits than KLU's.
TEST(SolverPhases, ARefinedSolutionIsHeldToItsPromise) {
  const Problem problem = problem_for_phases("power_grid", 120);
  const auto slightly = [](std::span<double> x, int) { x[7] *= 1 + 1e-9; };
  EXPECT_EQ(measured_spoilt(klu_contender(problem), problem, Phase::step, slightly).error, "");
  const Contender ours = solver_contender<double>(auto_rung(), problem);
  EXPECT_NE(measured_spoilt(ours, problem, Phase::step, slightly).error.find("exceeds 1.0e-12"), std::string::npos);
}

TEST(SolverPhases, ASingularMatrixHasNoTimeAndNoSpeed) {
  Problem problem = problem_for_phases("random_dominant", 40);
  CscMatrix<double>& a = problem.a;
  std::fill(a.values.begin() + a.col_ptr[7], a.values.begin() + a.col_ptr[8], 0.0);  // perturbing leaves it zero
  for (const Phase phase : solver_phases) {
    Report report;
    for (const Row& row : measured(every_contender(problem), problem, phase)) {
      EXPECT_NE(row.error.find("singular"), std::string::npos) << to_string(row.name) << ": " << row.error;
      EXPECT_EQ(row.time_ms, 0);
      report.add(row);
    }
    Row ours = {.name = {"auto", problem.name, phase, Scalar::f64}};
    set_times(ours, {1.0});
    EXPECT_FALSE(report.speed(ours));
    EXPECT_NE(report.why_no_klu(ours).find("peers/klu_our_order: "), std::string::npos) << report.why_no_klu(ours);
  }
}

TEST(SolverPhases, JudgeRefusesWhatIsNoNumber) {
  const auto a = testing::from_rows<double>({{2, 1}, {0, 4}});
  const std::vector<double> b = {4, 8}, x = {1, 2};
  EXPECT_EQ(judge_solution(a, x, b, 1e-12).value(), 0);
  EXPECT_FALSE(judge_solution(a, {{1, 2.001}}, b, 1e-12).ok());
  EXPECT_TRUE(judge_solution(a, {{1, 2.001}}, b, 1e-2).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(judge_solution(a, {{1, nan}}, b, 1e300).ok());
  EXPECT_FALSE(judge_solution(a, x, {{4, nan}}, 1e300).ok());
}

std::vector<std::string> lines_of(const Problem& problem, const SparseOptions& options) {
  CostHistory history;
  std::vector<std::string> lines;
  for (const Comparison& comparison : sparse_comparisons(problem, options, builtin_constants("test"), history)) {
    lines.emplace_back("together:");
    for (const Case& c : comparison.cases) lines.push_back(to_string(c.rows[0].name));
  }
  return lines;
}

TEST(SolverPhases, AreThoseOfAutoBesideKluUnlessRungsAreNamed) {
  const Problem problem = problem_for_phases("power_grid", 60);
  EXPECT_EQ(lines_of(problem, {.phases = {"step"}, .precisions = {"f64"}}),
            (std::vector<std::string>{"together:", "peers/klu|power_grid|step|f64",
                                      "peers/klu_our_order|power_grid|step|f64", "auto|power_grid|step|f64"}));
  EXPECT_EQ(
      lines_of(problem, {.rungs = {"sparse_leftlooking/90_klu", "sparse_leftlooking/07_threads"}, .phases = {"first"}}),
      (std::vector<std::string>{
          "together:", "peers/klu|power_grid|first|f64", "peers/klu_our_order|power_grid|first|f64",
          "sparse_leftlooking/07_threads|power_grid|first|f64", "sparse_leftlooking/07_threads|power_grid|first|f32",
          "sparse_leftlooking/90_klu|power_grid|first|f64"}));
  EXPECT_TRUE(
      lines_of(problem, {.rungs = {"sparse_leftlooking/90_klu"}, .phases = {"step"}, .precisions = {"f32"}}).empty());
  const auto all = lines_of(problem, {});
  ASSERT_GT(all.size(), 12u);
  EXPECT_EQ(all[1], "sparse_leftlooking/90_klu|power_grid|refactor|f64") << "the yardstick of the others";
  EXPECT_EQ(std::ranges::count(all, "auto|power_grid|step|f64"), 1);
  EXPECT_EQ(std::ranges::count(all, "auto|power_grid|first|f32"), 1);
}

}  // namespace
}  // namespace lulab::bench
