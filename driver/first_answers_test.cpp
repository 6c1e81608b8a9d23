// A Solver that chooses its rung: the first answers by the shortest way, then all that is expected is prepared for.

#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "driver/analyze.h"
#include "driver/solver.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/matrices.h"
#include "testing/refused_memory.h"

namespace lulab {
namespace {

using testing::expect_solves, testing::other_values, testing::refined_to_the_end;

const Rung &cpu_rung = sparse_leftlooking::threads, &gpu_rung = sparse_leftlooking::reference;  // stands for one

Prospects of_test;  // what the choice below rests on
const RungChooser two_rungs(cpu_rung, gpu_rung,
                            [](const FilledPattern&, int, const Workload&, const KnownCosts&) { return of_test; });

/// A step on the CPU takes 10 us; preparing the GPU as long as `steps` of them.
SolverOptions gpu_after(double steps) {
  of_test = {.cpu_us = 10, .gpu_us = 1, .gpu_setup_us = 10 * steps};
  SolverOptions options = refined_to_the_end();
  options.preprocess.order = Order::amd;
  return options;
}

/// Another order after one step; no GPU is faster.
SolverOptions order_after_one_step() {
  of_test = {.cpu_us = 1e5, .gpu_us = 1e9};
  return refined_to_the_end();
}

bool says_when(const RungChoice& choice) { return choice.reason.find("chosen anew after") != std::string::npos; }

CscMatrix<double> grid() { return generate("grid2d", {.n = 2500, .seed = 1}).value(); }

template <class T>
class FirstAnswers : public ::testing::Test {
 protected:
  const CscMatrix<double> a_ = testing::random_dominant(20, 0.3, 2);

  /// New values, factored again and solved with; whether that prepared for all steps.
  bool next_step(Solver<T>& solver) {
    const bool was_cpu = solver.choice().rung == &cpu_rung;
    const auto a = other_values(a_, ++seed_);
    std::vector<double> x(a.n_cols, std::numeric_limits<double>::quiet_NaN());
    const std::vector<double> b(a.n_cols, 1.0);
    if (seed_ % 2 == 0) {
      EXPECT_TRUE(solver.step(a.values, b, x).ok());
    } else {
      EXPECT_TRUE(solver.refactor(a).ok());
      EXPECT_TRUE(solver.solve(b, x).ok());
    }
    EXPECT_TRUE(componentwise_backward_error(a, x, b) <= 1e-12);
    const bool prepared = solver.times().prepare > 0;
    EXPECT_EQ(prepared, was_cpu && solver.choice().rung == &gpu_rung);
    return prepared;
  }
  int seed_ = 0;
};
using FirstAnswerScalars = ::testing::Types<double, float>;
TYPED_TEST_SUITE(FirstAnswers, FirstAnswerScalars);

TYPED_TEST(FirstAnswers, ComeFromTheCpuUntilPreparingPays) {
  for (const double steps : {1.0, 2.5, 6.0}) {
    SCOPED_TRACE(steps);
    Solver<TypeParam> solver(two_rungs, gpu_after(steps));
    ASSERT_TRUE(solver.analyze(this->a_).ok());
    EXPECT_EQ(solver.choice().rung, &cpu_rung);
    const std::string when = fmt::format("chosen anew after {:.0f} step{}", std::ceil(steps), steps > 1 ? "s" : "");
    EXPECT_TRUE(solver.choice().reason.ends_with(when)) << solver.choice().reason;
    ASSERT_TRUE(solver.factor(this->a_).ok());
    expect_solves(solver, this->a_);
    int made = 1;
    while (made < 20 && !this->next_step(solver)) ++made;
    EXPECT_EQ(made, std::ceil(steps));
    EXPECT_FALSE(says_when(solver.choice())) << solver.choice().reason;
    for (int k = 0; k < 3; ++k) EXPECT_FALSE(this->next_step(solver));
    ASSERT_TRUE(solver.analyze(this->a_).ok());
    EXPECT_EQ(solver.choice().rung, &gpu_rung) << "a known pattern";
    ASSERT_TRUE(solver.analyze(testing::random_dominant(20, 0.3, 3)).ok());
    EXPECT_EQ(solver.choice().rung, &cpu_rung) << "another one";
  }
}

TYPED_TEST(FirstAnswers, AreCountedOverAnalysesOfOnePattern) {
  Solver<TypeParam> solver(two_rungs, gpu_after(3));
  for (int k = 0; k < 3; ++k) {
    const auto a = other_values(this->a_, 10 + k);
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    EXPECT_EQ(solver.choice().rung, &cpu_rung);
  }
  ASSERT_TRUE(solver.factor(this->a_).ok());
  EXPECT_EQ(solver.choice().rung, &gpu_rung);
  expect_solves(solver, this->a_);
}

TYPED_TEST(FirstAnswers, AreNotPutFirstWhereAllIsWantedOrGiven) {
  SolverOptions at_once = gpu_after(3), for_one = at_once, for_few = at_once, with_given_pivots = at_once;
  at_once.prepare_at_once = true;
  for_one.expected_steps = 1;
  for_few.expected_steps = 3;
  with_given_pivots.repivot = false;
  for (const auto& [options, rung] :
       {std::pair(at_once, &gpu_rung), {with_given_pivots, &gpu_rung}, {for_one, &cpu_rung}, {for_few, &cpu_rung}}) {
    Solver<TypeParam> solver(two_rungs, options);
    ASSERT_TRUE(solver.analyze(this->a_).ok());
    ASSERT_TRUE(solver.factor(this->a_).ok());
    for (int k = 0; k < 6; ++k) EXPECT_FALSE(this->next_step(solver));
    EXPECT_EQ(solver.choice().rung, rung);
    EXPECT_FALSE(says_when(solver.choice())) << solver.choice().reason;
  }
  SolverOptions options = gpu_after(3);
  Solver<TypeParam> given(two_rungs, options);
  ASSERT_TRUE(given.analyze(this->a_, analyze(this->a_).value()).ok());
  EXPECT_EQ(given.choice().rung, &gpu_rung);
  of_test.gpu_setup_us = 1;  // the GPU is the shortest way to the first answer, too
  Solver<TypeParam> soon(two_rungs, options);
  ASSERT_TRUE(soon.analyze(this->a_).ok());
  EXPECT_EQ(soon.choice().rung, &gpu_rung);
}

// Transposed, too: what was prepared for the first order is of no use for the other one.
TYPED_TEST(FirstAnswers, AreFollowedByAnotherOrder) {
  const auto a = grid(), next = other_values(a, 3);
  Solver<TypeParam> solver(two_rungs, order_after_one_step());
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.analysis().plan.q, analyze(a, {}, 1)->plan.q);
  ASSERT_TRUE(solver.factor(a).ok());
  expect_solves(solver, a, 2);
  expect_solves(solver, a, 1, true);
  ASSERT_TRUE(solver.refactor(next).ok());
  EXPECT_GT(solver.times().prepare, 0);
  EXPECT_EQ(solver.analysis().plan.q, analyze(next)->plan.q);
  EXPECT_NE(solver.analysis().plan.order, "amd");
  expect_solves(solver, next, 2);
  expect_solves(solver, next, 1, true);
  ASSERT_TRUE(solver.refactor(a).ok());
  EXPECT_EQ(solver.times().prepare, 0);
  expect_solves(solver, a);
}

TYPED_TEST(FirstAnswers, OnTheGpuAreFollowedByAnotherOrder) {
  const auto a = grid();
  of_test = {.cpu_us = 1e9, .gpu_us = 0};
  Solver<TypeParam> at_once(two_rungs, refined_to_the_end());
  ASSERT_TRUE(at_once.analyze(a).ok());
  EXPECT_EQ(at_once.analysis().plan.q, analyze(a)->plan.q) << "its steps take no time";
  of_test = {.cpu_us = 1e9, .gpu_us = 4000, .gpu_setup_us = 1};
  Solver<TypeParam> solver(two_rungs, refined_to_the_end());
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.choice().rung, &gpu_rung);
  EXPECT_TRUE(says_when(solver.choice())) << solver.choice().reason;
  EXPECT_EQ(solver.analysis().plan.q, analyze(a, {}, 1)->plan.q);
  ASSERT_TRUE(solver.factor(a).ok());
  expect_solves(solver, a);
  int made = 1;
  for (; made < 20 && solver.times().prepare == 0; ++made) {
    const auto next = other_values(a, made);
    ASSERT_TRUE(solver.refactor(next).ok());
    expect_solves(solver, next);
  }
  EXPECT_GT(made, 2);
  EXPECT_LT(made, 20);
  EXPECT_EQ(solver.choice().rung, &gpu_rung);
  EXPECT_FALSE(says_when(solver.choice())) << solver.choice().reason;
  EXPECT_EQ(solver.analysis().plan.q, analyze(a)->plan.q);
}

TYPED_TEST(FirstAnswers, ValuesThatAllowNoOrderLeaveItToALaterStep) {
  const auto a = grid();
  auto bad = a;
  bad.values[5] = std::numeric_limits<double>::quiet_NaN();
  Solver<TypeParam> solver(two_rungs, order_after_one_step());
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  for (int k = 0; k < 2; ++k) EXPECT_FALSE(solver.refactor(bad).ok());
  EXPECT_EQ(solver.analysis().plan.order, "amd");
  ASSERT_TRUE(solver.refactor(a).ok());
  EXPECT_GT(solver.times().prepare, 0);
  EXPECT_EQ(solver.analysis().plan.q, analyze(a)->plan.q);
  expect_solves(solver, a);
}

TYPED_TEST(FirstAnswers, APatternThatChangesALittleIsPreparedForOnce) {
  Solver<TypeParam> solver(two_rungs, gpu_after(2));
  std::vector<CscMatrix<double>> similar;
  for (std::int32_t k = 0; k < 12; ++k) {  // one entry more, each time elsewhere: the order is chosen anew in between
    auto a = testing::grid_matrix(8, 1);
    std::vector<std::int32_t> rows = a.row_idx, columns;
    for (std::int32_t j = 0; j < a.n_cols; ++j) columns.insert(columns.end(), a.col_ptr[j + 1] - a.col_ptr[j], j);
    rows.push_back(63 - k), columns.push_back(k), a.values.push_back(0.01);
    similar.push_back(from_triplets<double>(64, 64, rows, columns, a.values));
  }
  int made = 0;
  for (const auto& a : similar) {
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    EXPECT_EQ(solver.choice().rung, ++made > 2 ? &gpu_rung : &cpu_rung) << made;
    expect_solves(solver, a);
  }
}

TEST(FirstAnswersInDouble, NoHostMemoryToPrepareIsAStatus) {
  const auto a = generate("grid2d", {.n = 49, .seed = 1}).value(), next = other_values(a, 3);
  for (const bool orders : {false, true}) {
    int failed = 0, prepared = 0;
    bool was_refused = true;
    for (std::int64_t k = 0; was_refused; ++k) {
      SCOPED_TRACE(::testing::Message() << (orders ? "an order, " : "a rung, ") << k << " allocations");
      Solver<double> solver(two_rungs, orders ? order_after_one_step() : gpu_after(1));
      ASSERT_TRUE(solver.analyze(a).ok());
      ASSERT_TRUE(solver.factor(a).ok());
      Status refused;
      was_refused = testing::without_memory_after(k, [&] {
        try {
          refused = solver.refactor(next);
        } catch (const std::bad_alloc&) {  // for the message
          refused.code = StatusCode::out_of_memory;
        }
      });
      failed += !refused.ok();
      if (!refused.ok()) {
        EXPECT_EQ(refused.code, StatusCode::out_of_memory);
        std::vector<double> x(a.n_cols, 1.0);
        EXPECT_FALSE(solver.solve(std::vector<double>(a.n_cols, 1.0), x).ok());
        ASSERT_TRUE(solver.refactor(next).ok());
      }
      expect_solves(solver, next);
      ASSERT_TRUE(solver.refactor(a).ok());
      expect_solves(solver, a);
      EXPECT_FALSE(says_when(solver.choice())) << solver.choice().reason;
      prepared += orders ? solver.analysis().plan.q == analyze(next)->plan.q : solver.choice().rung == &gpu_rung;
    }
    EXPECT_GT(failed, 5);
    EXPECT_GT(prepared, 5);
  }
}

}  // namespace
}  // namespace lulab
