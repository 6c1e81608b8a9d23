#include "bench/fill_cases.h"

#include <algorithm>
#include <cmath>

#include "bench/sparse_cases.h"
#include "core/matrix/generate.h"
#include "symbolic/fill.h"
#include "testing/device.h"

namespace lulab::bench {
namespace {

Problem problem_to_fill(std::string_view family, std::int32_t n) {
  const auto load = [family, n] { return generate(family, {.n = n}); };
  auto problem = load_problem({std::string(family), load}, {.order = Order::natural}, builtin_constants("test"));
  EXPECT_TRUE(problem.ok()) << problem.status().to_string();
  return std::move(*problem);
}

std::vector<Row> measured_rows(Case c) {
  Comparison comparison = {
      .title = "test", .cases = {std::move(c)}, .sampling = {.min_samples = 3, .max_samples = 3, .budget_s = 0}};
  return measure(comparison);
}
Row measured_fill(Case c) { return measured_rows(std::move(c)).front(); }

bool is_within_an_eighth(const Case& c) { return c.rows[0].name.rung.ends_with("_eighth"); }

bool is_to_fronts(const Case& c) { return c.rows[0].name.rung.ends_with("_to_fronts"); }

/// Every case there is but those for larger matrices or another order: calls of all rungs, and searches on the device.
std::vector<Case> every_case(const Problem& problem) {
  std::vector<Case> cases = std::move(fill_comparison(problem, {}).cases);
  EXPECT_EQ(std::erase_if(cases, is_within_an_eighth), 1);
  EXPECT_EQ(std::erase_if(cases, is_to_fronts), 1);
  for (Case& c : cases) c.reason_to_skip = {};
  return cases;
}

TEST(FillCases, TimeEveryRungAndFindTheReferencesPattern) {
  LULAB_NEED_DEVICE();
  const Problem problem = problem_to_fill("power_grid", 60);
  const CscPattern b = permute(problem.a.pattern().view(), problem.analysis.plan.p, problem.analysis.plan.q);
  ASSERT_EQ(*fill_reference(b), problem.analysis.filled);
  ASSERT_GT(problem.analysis.filled.nnz(), 2 * problem.a.nnz());
  std::vector<Case> cases = every_case(problem);
  EXPECT_GE(cases.size(), every_fill_rung().size() + 2) << "07 and 08 can leave the pattern on the device";
  for (Case& c : cases) {
    const Row row = measured_fill(std::move(c));
    EXPECT_EQ(row.error, "") << to_string(row.name);
    EXPECT_EQ(row.samples, 3);
    EXPECT_TRUE(row.min_ms > 0 && std::isfinite(row.max_ms)) << row.min_ms << " " << row.max_ms;
    const auto rung = find_fill_rung(row.name.rung);
    LULAB_ASSERT_OK(rung);
    EXPECT_EQ(row.peak_bytes > 0, (*rung)->device == Device::gpu) << to_string(row.name);
  }
}

TEST(FillCases, ArePatternsOnTheDeviceBoundByACopy) {
  const Problem problem = problem_to_fill("power_grid", 60);
  const CscPattern b = pattern_to_fill(problem);
  const FilledPattern& f = problem.analysis.filled;
  const auto bytes = [](const auto& array) { return static_cast<double>(array.size() * sizeof(array[0])); };
  const double all = bytes(b.col_ptr) + bytes(b.row_idx) + bytes(f.col_ptr) + bytes(f.row_idx) + bytes(f.diag);
  int bound = 0;
  for (const Case& c : fill_comparison(problem, {.bandwidth_bytes_per_s = 1e9}).cases) {
    const Row& row = c.rows[0];
    if (row.name.phase != Phase::symbolic_device || is_to_fronts(c)) continue;
    EXPECT_NEAR(row.bound_ms, 1e-6 * all, 1e-12) << to_string(row.name);
    EXPECT_EQ(row.bound_by, "bytes");
    ++bound;
  }
  EXPECT_EQ(bound, 3) << "07, 08 and 08 within an eighth";
}

TEST(FillCases, TimeBitmapsWithinAnEighthOfTheirMemory) {
  LULAB_NEED_DEVICE();
  const auto load = [] { return generate("banded", {.n = 3600}); };
  const auto problem = load_problem({"banded", load}, {.order = Order::nd}, builtin_constants("test"));
  LULAB_ASSERT_OK(problem);
  int found = 0;
  for (Case& c : fill_comparison(*problem, {}).cases) {
    if (!is_within_an_eighth(c)) continue;
    c.reason_to_skip = {};
    const Row row = measured_fill(std::move(c));
    EXPECT_EQ(row.error, "");
    EXPECT_GE(row.samples, 1) << "3, or 1 on a machine so busy that one takes long";
    ++found;
  }
  EXPECT_EQ(found, 1);
}

TEST(FillCases, TimeTheWayToFronts) {
  LULAB_NEED_DEVICE();
  const auto load = [] { return generate("grid2d", {.n = 900}); };
  auto problem = load_problem({"grid2d", load}, {.order = Order::nd}, builtin_constants("test"));
  LULAB_ASSERT_OK(problem);
  const auto measured = [&] {
    std::vector<Case> cases = fill_comparison(*problem, {}).cases;
    std::erase_if(cases, [](const Case& c) { return !is_to_fronts(c); });
    EXPECT_EQ(cases.size(), 1u);
    cases.front().reason_to_skip = {};
    return measured_rows(std::move(cases.front()));
  };
  const std::vector<Row> rows = measured();
  ASSERT_EQ(rows.size(), 2u);
  for (const Row& row : rows) EXPECT_EQ(row.error, "");
  EXPECT_GT(rows[1].min_ms, 0);
  EXPECT_GT(rows[0].min_ms, rows[1].min_ms) << "from A on it is further than from L + U";
  problem->analysis.filled.row_idx.back() = 0;
  for (const Row& row : measured()) EXPECT_NE(row.error.find("another pattern"), std::string::npos);
}

TEST(FillCases, RefuseAPatternThatIsNotTheAnalysis) {
  LULAB_NEED_DEVICE();
  Problem problem = problem_to_fill("arrow_first", 20);
  std::vector<Case> cases = every_case(problem);
  problem.analysis.filled.row_idx.back() = 0;
  for (Case& c : cases) {
    const Row row = measured_fill(std::move(c));
    EXPECT_NE(row.error.find("another pattern"), std::string::npos) << to_string(row.name) << row.error;
    EXPECT_EQ(row.time_ms, 0);
  }
}

std::vector<std::string> fill_lines(const Problem& problem, const SparseOptions& options) {
  CostHistory history;
  std::vector<std::string> lines;
  for (const Comparison& comparison : sparse_comparisons(problem, options, builtin_constants("test"), history))
    for (const Case& c : comparison.cases) lines.push_back(to_string(c.rows[0].name));
  return lines;
}

TEST(FillCases, AreThoseThatPhasesAndRungsAskFor) {
  const Problem problem = problem_to_fill("power_grid", 60);
  const std::string yardstick = "symbolic/01_gilbert_peierls|power_grid|symbolic|f64";
  const auto symbolic = fill_lines(problem, {.phases = {"symbolic"}});
  // Beside them sparse_leftlooking/00_reference, and sparse_syncfree/01_sflu, which the simulator leaves out.
  const bool on_gpu = simt::machine() == simt::Machine::gpu;
  ASSERT_EQ(symbolic.size(), every_fill_rung().size() + 1 + on_gpu);
  EXPECT_EQ(symbolic[0], yardstick);
  for (const FillRung* rung : every_fill_rung())
    EXPECT_EQ(std::ranges::count(symbolic, std::string(rung->id) + "|power_grid|symbolic|f64"), 1) << rung->id;
  EXPECT_EQ(std::ranges::count(symbolic, "sparse_syncfree/01_sflu|power_grid|symbolic|f64"), on_gpu);

  EXPECT_EQ(fill_lines(problem, {.rungs = {"symbolic/02_fill1"}}),
            (std::vector<std::string>{yardstick, "symbolic/02_fill1|power_grid|symbolic|f64"}));
  EXPECT_EQ(fill_lines(problem, {.rungs = {"symbolic/07_sflu"}, .phases = {"symbolic_device"}}),
            (std::vector<std::string>{yardstick, "symbolic/07_sflu|power_grid|symbolic_device|f64"}));
  const std::vector<SparseOptions> without = {{},
                                              {.phases = {"schedule"}},
                                              {.phases = {"symbolic"}, .precisions = {"f32"}},
                                              {.rungs = {"sparse_leftlooking/00_reference"}, .phases = {"symbolic"}}};
  for (const SparseOptions& options : without)
    EXPECT_EQ(std::ranges::count(fill_lines(problem, options), yardstick), 0);
}

TEST(FillCases, SkipWhatIsSlowUnlessItIsNamed) {
  Problem problem = problem_to_fill("ladder", 50);
  problem.limits_f64.flops = 1e12;
  const auto reason = [&](const FillOptions& options, std::string_view rung) {
    for (const Case& c : fill_comparison(problem, options).cases)
      if (c.rows[0].name.rung == rung) return c.reason_to_skip ? c.reason_to_skip().value() : std::string();
    return std::string("it is not there");
  };
  EXPECT_EQ(reason({}, "symbolic/01_gilbert_peierls"), "");
  EXPECT_NE(reason({}, "symbolic/03_fill2").find("--rung symbolic/03_fill2"), std::string::npos);
  EXPECT_EQ(reason({.rungs = {"symbolic/03_fill2"}}, "symbolic/03_fill2"), "");
}

TEST(FindFillRung, TakesAPartThatOneIdHas) {
  EXPECT_EQ(*find_fill_rung("02_fill1"), &fill_rungs::fill1);
  EXPECT_EQ(*find_fill_rung("symbolic/05_gsofa"), &fill_rungs::gsofa);
  for (const char* name : {"gsofa", "", "nosuch"}) {
    const Status status = find_fill_rung(name).status();
    EXPECT_EQ(status.code, StatusCode::invalid_argument) << name;
    EXPECT_NE(status.message.find("symbolic/05_gsofa"), std::string::npos) << status.message;
  }
}

}  // namespace
}  // namespace lulab::bench
