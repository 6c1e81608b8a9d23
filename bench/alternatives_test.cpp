#include "bench/alternatives.h"

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "core/simt/device.h"

namespace lulab::bench {
namespace {

Problem problem_for_peers(const char* family, std::int32_t n) {
  const ProblemSource source = {family, [=] { return generate(family, {.n = n, .seed = 2}); }};
  auto problem = load_problem(source, {.order = Order::automatic}, builtin_constants("test"));
  EXPECT_TRUE(problem.ok()) << problem.status().to_string();
  return std::move(*problem);
}

AlternativesOptions quickly() { return {.gmres = {}, .budget_s = 0, .warps_per_sm = 4}; }

std::vector<Row> measured(const Problem& problem, const AlternativesOptions& options) {
  std::vector<Row> rows;
  for (Comparison& c : alternatives(problem, options))
    for (Row& row : measure(c)) rows.push_back(std::move(row));
  return rows;
}

std::vector<Name> names_of(const Problem& problem) {
  std::vector<Name> names;
  for (const Comparison& comparison : alternatives(problem))
    for (const Case& c : comparison.cases)
      for (const Row& row : c.rows) names.push_back(row.name);
  return names;
}

bool on_device(const Row& row) {
  return !row.name.rung.starts_with("sparse_") && row.name.rung != "solve/00_reference" &&
         row.name.rung != "alternatives/gmres_ilut";
}

TEST(Alternatives, HasTheNamesThatToolsParse) {
  std::vector<std::string> names;
  Problem problem = problem_for_peers("power_grid", 30);
  problem.name = "add20";
  for (const Name& name : names_of(problem)) {
    names.push_back(to_string(name));
    const auto parsed = parse_name(names.back());
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    EXPECT_EQ(*parsed, name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"sparse_leftlooking/90_klu|add20|refactor|f64",
                                             "solve/00_reference|add20|solve|f64",
                                             "alternatives/gmres_ilut|add20|factor|f64",
                                             "alternatives/gmres_ilut|add20|solve|f64",
                                             "alternatives/gmres_ilut|add20|end_to_end|f64",
                                             "alternatives/cusparse_spsv|add20|schedule|f64",
                                             "alternatives/cusparse_spsv|add20|solve|f64",
                                             "solve/01_level_set|add20|schedule|f64",
                                             "solve/01_level_set|add20|solve|f64",
                                             "solve/02_sync_free|add20|schedule|f64",
                                             "solve/02_sync_free|add20|solve|f64",
                                             "solve/03_narrow_middle|add20|schedule|f64",
                                             "solve/03_narrow_middle|add20|solve|f64",
                                             "solve/04_chunks|add20|schedule|f64",
                                             "solve/04_chunks|add20|solve|f64",
                                             "solve/05_fronts|add20|schedule|f64",
                                             "solve/05_fronts|add20|solve|f64",
                                             "alternatives/cusparse_spsv_transposed|add20|solve|f64",
                                             "solve/01_level_set_transposed|add20|solve|f64",
                                             "solve/02_sync_free_transposed|add20|solve|f64",
                                             "solve/03_narrow_middle_transposed|add20|solve|f64",
                                             "solve/04_chunks_transposed|add20|solve|f64",
                                             "alternatives/cusparse_spsm_x32|add20|solve|f64",
                                             "solve/01_level_set_x32|add20|solve|f64",
                                             "solve/02_sync_free_x32|add20|solve|f64",
                                             "solve/03_narrow_middle_x32|add20|solve|f64",
                                             "solve/04_chunks_x32|add20|solve|f64",
                                             "solve/05_fronts_x32|add20|solve|f64",
                                             "alternatives/refined|add20|solve|f64"}));
}

TEST(Alternatives, ThoseOfAnIdAreChosen) {
  const Problem problem = problem_for_peers("power_grid", 30);
  std::vector<std::string> ids;
  for (const Name& name : names_of(problem))
    if (std::ranges::find(ids, name.rung) == ids.end()) ids.push_back(name.rung);
  EXPECT_EQ(alternative_ids(), ids);
  for (const std::string& id : ids)
    for (const Comparison& comparison : alternatives(problem, {.ids = {id}}))
      EXPECT_TRUE(comparison.cases[0].rows[0].name.rung.starts_with(id));
  EXPECT_EQ(alternatives(problem, {.ids = {"02_sync_free_", "klu"}}).size(), 3u);
}

TEST(Alternatives, MeasuresAndJudgesEveryRowThatThisBuildHas) {
  const Problem problem = problem_for_peers("power_grid", 300);
  const auto rows = measured(problem, quickly());
  const auto names = names_of(problem);
  ASSERT_EQ(rows.size(), names.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Row& row = rows[k];
    EXPECT_EQ(row.name, names[k]);
    if (on_device(row) && (simt::machine() == simt::Machine::simulator || !simt::device_properties().ok())) {
      const bool library = row.name.rung.starts_with("alternatives/cusparse");
      if (simt::machine() == simt::Machine::simulator) {  // ours are judged there, too
        EXPECT_EQ(row.error, library ? "not_implemented: cuSPARSE needs a build for the GPU"
                                     : "not_implemented: performance not measured in the simulator")
            << to_string(row.name);
      }
      EXPECT_FALSE(row.error.empty());
      EXPECT_EQ(row.samples, 0);
      EXPECT_EQ(row.time_ms, 0);
      continue;
    }
    EXPECT_EQ(row.error, "") << to_string(row.name);
    EXPECT_GE(row.samples, 3) << to_string(row.name);
    EXPECT_GT(row.time_ms, 0) << to_string(row.name);
    EXPECT_TRUE(row.backward_error > 0 && row.backward_error <= 1e-7) << to_string(row.name) << row.backward_error;
    EXPECT_EQ(row.solver_iterations > 0, row.name.rung == "alternatives/gmres_ilut") << to_string(row.name);
  }
}

TEST(Alternatives, GmresThatDoesNotConvergeHasNoTimeAndTheOthersDo) {
  const Problem problem = problem_for_peers("grid2d", 400);
  AlternativesOptions options = quickly();
  options.gmres = {.drop_tolerance = 0.9, .fill_factor = 1, .restart = 2, .max_iterations = 3};
  for (const Row& row : measured(problem, options)) {
    if (row.name.rung == "alternatives/gmres_ilut") {
      EXPECT_TRUE(row.error.starts_with("did not converge: ")) << row.error;
      EXPECT_EQ(row.samples, 0);
      EXPECT_EQ(row.time_ms, 0);
    } else if (!on_device(row)) {
      EXPECT_EQ(row.error, "") << to_string(row.name);
    }
  }
}

/// A loose tolerance is met, but the solution is not one.
TEST(Alternatives, AnInaccurateSolutionHasNoTime) {
  const Problem problem = problem_for_peers("grid2d", 400);
  AlternativesOptions options = quickly();
  options.gmres.drop_tolerance = 0.5;
  options.gmres.fill_factor = 1;
  options.gmres.tolerance = 1e-2;
  const auto rows = measured(problem, options);
  EXPECT_TRUE(rows[2].error.starts_with("inaccurate: backward error ")) << rows[2].error;
  EXPECT_EQ(rows[2].samples, 0);
}

}  // namespace
}  // namespace lulab::bench
