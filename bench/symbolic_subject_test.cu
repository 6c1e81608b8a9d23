#include "bench/symbolic_subject.h"

#include <cmath>

#include "core/matrix/generate.h"
#include "core/simt/test_device.h"
#include "symbolic/fill.h"

namespace lulab::bench {
namespace {

Problem problem_of(std::string_view family, std::int32_t n) {
  const auto load = [family, n] { return generate(family, {.n = n}); };
  auto problem = load_problem({std::string(family), load}, {.order = Order::natural}, builtin_constants("test"));
  EXPECT_TRUE(problem.ok()) << problem.status().to_string();
  return std::move(*problem);
}

TEST(SymbolicSubject, TimesTheSearchAndFindsTheReferencesPattern) {
  LULAB_NEED_DEVICE();
  const Problem problem = problem_of("power_grid", 60);
  const CscPattern b = permute(problem.a.pattern().view(), problem.analysis.plan.p, problem.analysis.plan.q);
  ASSERT_EQ(*fill_reference(b), problem.analysis.filled);
  ASSERT_GT(problem.analysis.filled.nnz(), 2 * problem.a.nnz());
  auto subject = SymbolicSubject::create(problem);
  LULAB_ASSERT_OK(subject);
  for (int repetition = 0; repetition < 3; ++repetition) {
    const auto ms = subject->sample();
    LULAB_ASSERT_OK(ms);
    EXPECT_GT(*ms, 0);
    EXPECT_TRUE(std::isfinite(*ms));
  }
  LULAB_ASSERT_OK(subject->verify());
}

TEST(SymbolicSubject, RefusesAPatternThatIsNotTheAnalysis) {
  LULAB_NEED_DEVICE();
  Problem problem = problem_of("arrow_first", 20);
  LULAB_ASSERT_OK(SymbolicSubject::create(problem));
  problem.analysis.filled.row_idx.back() = 0;
  EXPECT_EQ(SymbolicSubject::create(problem).status().code, StatusCode::invalid_argument);
}

TEST(SymbolicSubject, BelongsToARungThatThereIs) {
  int found = 0;
  for (const Rung* rung : all_rungs()) found += has_symbolic_phase(*rung);
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace lulab::bench
