#include "bench/gsofa_set.h"

#include <chrono>
#include <map>
#include <memory>

#include "core/matrix/generate.h"
#include "testing/device.h"

namespace lulab::bench {
namespace {

std::unique_ptr<const Problem> gsofa_problem(std::int32_t n = 60) {
  const auto load = [n] { return generate("power_grid", {.n = n}); };
  auto problem = load_problem({"power_grid", load}, {.order = Order::natural}, builtin_constants("test"));
  EXPECT_TRUE(problem.ok()) << problem.status().to_string();
  return std::make_unique<Problem>(std::move(*problem));
}

/// By the name of the rung, as if every rung had a time here.
std::map<std::string, Row> gsofa_rows(const Problem& problem, const GsofaOptions& options = {}) {
  auto comparisons = gsofa_comparisons(problem, options);
  EXPECT_TRUE(comparisons.ok()) << comparisons.status().to_string();
  std::map<std::string, Row> rows;
  for (Comparison& comparison : *comparisons) {
    for (Case& c : comparison.cases) c.reason_to_skip = {};
    comparison.sampling = {.min_samples = 1, .max_samples = 1, .budget_s = 0, .slow_samples = 1};
    for (Row& row : measure(comparison)) {
      EXPECT_EQ(row.name.phase, Phase::symbolic);
      const std::string rung = row.name.rung;
      EXPECT_TRUE(rows.emplace(rung, std::move(row)).second) << rung << " is there twice";
    }
  }
  return rows;
}

TEST(GsofaSet, VerifiesEachLineAndSaysWhatItTook) {
  LULAB_NEED_DEVICE();
  const auto problem = gsofa_problem();
  auto rows = gsofa_rows(*problem, {.bandwidth_bytes_per_s = 1e9});
  for (const auto& [rung, row] : rows) {
    EXPECT_EQ(row.error, "") << rung;
    EXPECT_GT(row.time_ms, 0) << rung;
    const bool searches = rung >= "symbolic/04" && rung.find("_share") == std::string::npos;
    ASSERT_EQ(row.fill.has_value(), searches) << rung;
    if (!searches) continue;
    EXPECT_GT(row.fill->edges, problem->a.nnz()) << rung;
    EXPECT_GT(row.fill->moved_bytes, 12 * row.fill->edges + 4 * problem->analysis.filled.nnz()) << rung;
    EXPECT_EQ(row.fill->pattern_bytes, 8 * (problem->a.n_cols + 1) + 4 * problem->a.nnz()) << rung;
    EXPECT_TRUE(percent_of_copy_bandwidth(row)) << rung;
  }
  const auto figures = [&](const std::string& rung) {
    EXPECT_TRUE(rows.contains("symbolic/" + rung)) << rung;
    return rows["symbolic/" + rung].fill.value_or(FillFigures());
  };
  EXPECT_TRUE(rows.contains("symbolic/01_gilbert_peierls"));
  EXPECT_TRUE(rows.contains("symbolic/03_fill2"));
  for (const std::string rung : {"05_gsofa", "06_gsofa_sources"}) {
    EXPECT_LE(figures(rung + "_eighth").workspace_bytes, figures(rung).workspace_bytes / 8) << rung;
    EXPECT_GT(figures(rung + "_eighth").groups, figures(rung).groups) << rung;
    EXPECT_FALSE(rows.contains("symbolic/" + rung + "_1GB")) << "more than it makes use of";
    EXPECT_GT(figures(rung + "_line_9.5").edges, 0) << rung;
  }
  const FillFigures eighth = figures("06_gsofa_sources_eighth");
  EXPECT_EQ(figures("06_gsofa_sources_eighth_clears_max_id").groups, eighth.groups);
  EXPECT_GE(figures("06_gsofa_sources_eighth_bubbles").groups, eighth.groups);
  EXPECT_GE(figures("06_gsofa_sources_eighth_one_size").groups, eighth.groups);
  for (const std::string shares : {"1_share", "2_shares", "8_shares", "32_shares"}) {
    const std::string rung = "symbolic/06_gsofa_sources_" + shares;
    ASSERT_TRUE(rows.contains(rung)) << rung;
    EXPECT_NE(rows[rung].label.find("x the mean"), std::string::npos) << rows[rung].label;
  }
  EXPECT_NE(rows["symbolic/06_gsofa_sources_1_share"].label.find("takes 1 x"), std::string::npos);
  EXPECT_GT(figures("06_gsofa_sources_bubbles").workspace_bytes, figures("06_gsofa_sources").workspace_bytes);
  const auto besides_edges = [](const FillFigures& f) { return f.moved_bytes - 12 * f.edges; };
  EXPECT_GT(besides_edges(figures("06_gsofa_sources_eighth_clears_max_id")), besides_edges(eighth));
}

TEST(GsofaSet, HasNumbersOfColumnsAtOnceThatMakeFewGroups) {
  LULAB_NEED_DEVICE();
  const auto names = [](std::int32_t n) {
    const auto problem = gsofa_problem(n);
    std::string all;
    const auto comparisons = gsofa_comparisons(*problem, {.rungs = {"symbolic/06_gsofa_sources"}});
    EXPECT_TRUE(comparisons.ok());
    for (const Case& c : comparisons->front().cases) all += c.rows[0].name.rung + " ";
    return all;
  };
  const std::string small = names(60), large = names(300);
  EXPECT_EQ(small.find("_columns"), std::string::npos) << small;
  for (const char* name : {"_64_columns", "_128_columns", "_256_columns"})
    EXPECT_NE(large.find(name), std::string::npos) << name << " in " << large;
  EXPECT_EQ(large.find("_1024_columns"), std::string::npos) << large;
  EXPECT_EQ(large.find("05_gsofa"), std::string::npos) << large;
}

TEST(GsofaSet, RefusesAPatternThatIsNotTheAnalysis) {
  LULAB_NEED_DEVICE();
  auto problem = gsofa_problem();
  Problem spoilt = *problem;
  spoilt.analysis.filled.row_idx.back() = 0;
  for (const auto& [rung, row] : gsofa_rows(spoilt))
    EXPECT_NE(row.error.find("another pattern"), std::string::npos) << rung << row.error;
}

TEST(GsofaSet, BeginsNothingAfterItsTime) {
  LULAB_NEED_DEVICE();
  const auto problem = gsofa_problem();
  for (const auto& [rung, row] : gsofa_rows(*problem, {.ends = Clock::now() - std::chrono::seconds(1)}))
    EXPECT_EQ(row.error.find("the time of the set is over") != std::string::npos, rung != "symbolic/01_gilbert_peierls")
        << rung << " " << row.error;
}

TEST(GsofaSet, LeavesOutWhatTheSimulatorCannotTimeAndWhatIsSlow) {
  LULAB_NEED_SIMULATOR();
  const auto problem = gsofa_problem();
  const auto comparisons = gsofa_comparisons(*problem, {});
  ASSERT_TRUE(comparisons.ok());
  ASSERT_EQ(comparisons->size(), 2);
  for (const Case& c : comparisons->at(1).cases) EXPECT_TRUE(c.reason_to_skip) << "shares";
  for (const Case& c : comparisons->front().cases) {
    const bool on_gpu = c.rows[0].name.rung >= "symbolic/04";
    ASSERT_EQ(bool(c.reason_to_skip), on_gpu);
    if (!on_gpu) continue;
    EXPECT_NE(c.reason_to_skip()->find("simulator"), std::string::npos);
  }
  EXPECT_TRUE(is_in_gsofa_set("symbolic/03_fill2"));
  EXPECT_FALSE(is_in_gsofa_set("symbolic/07_sflu"));
}

}  // namespace
}  // namespace lulab::bench
