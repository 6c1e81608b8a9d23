#include "bench/report.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lulab::bench {
namespace {

Row row(const std::string& rung, Phase phase, double ms) {
  Row r;
  r.name = {rung, "memplus", phase, Scalar::f64};
  r.time_ms = r.min_ms = r.max_ms = ms;
  r.samples = 5;
  return r;
}

TEST(Report, ComparesFactorizationsWithKluRefactorOfTheSameMatrix) {
  Report report;
  const Row ours = row("sparse_leftlooking/01_warp_per_column", Phase::refactor, 0.5);
  EXPECT_FALSE(report.speed(ours));
  report.add(row("sparse_leftlooking/90_klu", Phase::refactor, 2));
  EXPECT_DOUBLE_EQ(report.speed(ours).value(), 4);

  Row elsewhere = ours;
  elsewhere.name.matrix = "add20";
  EXPECT_FALSE(report.speed(elsewhere));
  EXPECT_FALSE(report.speed(row("x", Phase::upload, 0.5)));
  EXPECT_FALSE(report.speed(row("x", Phase::refactor, 0)));
}

TEST(Report, ComparesRungsOfSymbolicWithTheOneInUse) {
  Report report;
  report.add(row("symbolic/01_gilbert_peierls", Phase::symbolic, 2));
  report.add(row("sparse_leftlooking/90_klu", Phase::refactor, 8));
  EXPECT_DOUBLE_EQ(report.speed(row("symbolic/05_gsofa", Phase::symbolic, 0.5)).value(), 4);
  EXPECT_DOUBLE_EQ(report.speed(row("symbolic/07_sflu", Phase::symbolic_device, 0.25)).value(), 8);
  EXPECT_FALSE(report.speed(row("sparse_syncfree/01_sflu", Phase::symbolic, 0.5)));
  EXPECT_NE(table_header(Yardstick::fill).find("x 01 GP"), std::string::npos);
  const auto json = to_json(report, {})["benchmarks"][0];
  EXPECT_EQ(json["speed_against_gilbert_peierls"], 1);
  EXPECT_FALSE(json.contains("backward_error"));
}

TEST(Report, OfSearchesSaysHowFastTheyReadAndHowMuchMemoryTheyTake) {
  Row search = row("symbolic/05_gsofa", Phase::symbolic, 2);
  EXPECT_FALSE(edges_per_s(search));
  EXPECT_FALSE(to_json(Report(), {}).contains("entries_read"));
  search.fill = {.edges = 6'000'000,
                 .groups = 5,
                 .most_at_once = 33,
                 .workspace_bytes = 1500,
                 .six_arrays_bytes = 7000,
                 .pattern_bytes = 1000,
                 .moved_bytes = 80'000'000};
  EXPECT_DOUBLE_EQ(edges_per_s(search).value(), 3e9);
  EXPECT_FALSE(percent_of_copy_bandwidth(search));
  search.fill->bandwidth_bytes_per_s = 1e11;
  EXPECT_DOUBLE_EQ(percent_of_copy_bandwidth(search).value(), 40);
  Report report;
  report.add(search);
  const std::string line = table_line(report, search);
  for (const char* part : {"3 GTEPS", "40% of the copy bandwidth", "workspace 1.5 x the pattern", "5 groups", "33 col"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  const auto json = to_json(report, {})["benchmarks"][0];
  EXPECT_EQ(json["entries_read"], 6'000'000);
  EXPECT_EQ(json["entries_read_per_s"], 3e9);
  EXPECT_EQ(json["groups"], 5);
  EXPECT_EQ(json["columns_at_once"], 33);
  EXPECT_EQ(json["workspace_ratio"], 1.5);
  EXPECT_EQ(json["six_arrays_ratio"], 7);
  EXPECT_EQ(json["percent_of_copy_bandwidth"], 40);
  search.error = "another pattern";
  EXPECT_FALSE(edges_per_s(search));
  EXPECT_FALSE(percent_of_copy_bandwidth(search));
}

TEST(Report, IgnoresAFailedOrSinglePrecisionKluAsYardstick) {
  Report report;
  Row failed = row("sparse_leftlooking/90_klu", Phase::refactor, 2);
  failed.error = "singular";
  report.add(failed);
  Row single = row("sparse_leftlooking/90_klu", Phase::refactor, 2);
  single.name.scalar = Scalar::f32;
  report.add(single);
  EXPECT_FALSE(report.speed(row("x", Phase::refactor, 0.5)));
}

TEST(Report, PercentOfTheBoundNeedsBoundAndTime) {
  Row r = row("x", Phase::refactor, 2);
  EXPECT_FALSE(percent_of_bound(r));
  r.bound_ms = 0.5;
  EXPECT_DOUBLE_EQ(percent_of_bound(r).value(), 25);
  r.time_ms = 0;
  EXPECT_FALSE(percent_of_bound(r));
}

Row dense_row(const std::string& rung, const std::string& shape, double ms, Scalar scalar = Scalar::f64) {
  Row r = row(rung, Phase::factor, ms);
  r.name.matrix = shape;
  r.name.scalar = scalar;
  r.flops = 2e9;
  r.lu_residual = 0.25;
  r.growth = 12;
  return r;
}

TEST(Report, ComparesDenseMeasurementsWithTheLibraryOnTheSameShapeInTheSamePrecision) {
  Report report;
  report.add(dense_row("dense/90_cusolver", "n=4096", 10));
  report.add(dense_row("dense/90_cusolver", "n=4096", 6, Scalar::f32));
  report.add(dense_row("dense/92_cublas_batched", "batch=100,n=64", 3));
  EXPECT_DOUBLE_EQ(report.speed(dense_row("dense/07_lookahead", "n=4096", 5)).value(), 2);
  EXPECT_DOUBLE_EQ(report.speed(dense_row("dense/07_lookahead", "n=4096", 3, Scalar::f32)).value(), 2);
  EXPECT_DOUBLE_EQ(report.speed(dense_row("dense/08_batched", "batch=100,n=64", 1)).value(), 3);
  EXPECT_FALSE(report.speed(dense_row("dense/07_lookahead", "n=8192", 5)));
  EXPECT_FALSE(report.speed(dense_row("dense/08_batched", "batch=100,n=64", 1, Scalar::f32)));
  EXPECT_EQ(yardstick_of(dense_row("x", "n=4096", 1)), Yardstick::cusolver);
  EXPECT_EQ(yardstick_of(dense_row("x", "batch=100,n=64", 1)), Yardstick::cublas);
  EXPECT_EQ(yardstick_of(row("dense/90_cusolver", Phase::factor, 1)), Yardstick::klu) << "on a sparse matrix";
}

TEST(Report, DenseLinesAndJsonCarryTheRateTheRatioAndTheResidual) {
  Report report;
  report.add(dense_row("dense/90_cusolver", "n=4096", 10));
  const Row r = dense_row("dense/07_lookahead", "n=4096", 4);
  report.add(r);
  EXPECT_DOUBLE_EQ(gflops_per_s(r).value(), 500);
  const std::string line = table_line(report, r);
  for (const char* part : {"dense/07_lookahead|n=4096|factor|f64", " 4.0000 ", " 500.0 ", " 2.5 "})
    EXPECT_NE(line.find(part), std::string::npos) << line;
  EXPECT_NE(table_header(Yardstick::cusolver).find("x cuSOLVER"), std::string::npos);
  EXPECT_NE(table_header(Yardstick::cublas).find("x cuBLAS"), std::string::npos);
  EXPECT_NE(table_header(Yardstick::klu).find("x KLU"), std::string::npos);
  EXPECT_EQ(table_header(Yardstick::klu).find("GFLOP"), std::string::npos);

  const auto json = to_json(report, {})["benchmarks"][1];
  EXPECT_EQ(json["gflops"], 500);
  EXPECT_EQ(json["speed_against_cusolver"], 2.5);
  EXPECT_EQ(json["lu_residual"], 0.25);
  EXPECT_EQ(json["growth"], 12);
  EXPECT_FALSE(json.contains("backward_error"));
  EXPECT_FALSE(json.contains("speed_against_klu_refactor"));
  Row failed = r;
  failed.error = "wrong";
  EXPECT_FALSE(gflops_per_s(failed));
}

TEST(Report, SolvesOfTheAlternativesAreComparedWithTheHostsSolve) {
  Report report;
  report.add(row("sparse_leftlooking/90_klu", Phase::refactor, 8));
  report.add(row("solve/00_reference", Phase::solve, 2));
  Row gmres = row("alternatives/gmres_ilut", Phase::solve, 4);
  gmres.solver_iterations = 17;
  gmres.host_bytes = 3 << 20;
  gmres.device_bytes = 5 << 20;
  gmres.energy = Energy{.joules = 0.25, .watts = 125};
  gmres.backward_error = 1e-12;
  report.add(gmres);
  EXPECT_EQ(yardstick_of(gmres), Yardstick::host_solve);
  EXPECT_DOUBLE_EQ(report.speed(gmres).value(), 0.5);
  EXPECT_DOUBLE_EQ(report.speed(row("alternatives/gmres_ilut", Phase::end_to_end, 4)).value(), 2) << "refactor";
  EXPECT_FALSE(report.speed(row("alternatives/cusparse_spsv", Phase::schedule, 4)));
  EXPECT_FALSE(report.speed(row("sparse_leftlooking/90_klu", Phase::solve, 4))) << "only the alternatives' solves";
  const auto json = to_json(report, {})["benchmarks"][2];
  EXPECT_EQ(json["speed_against_host_solve"], 0.5);
  EXPECT_EQ(json["solver_iterations"], 17);
  EXPECT_EQ(json["solver_host_bytes"], 3 << 20);
  EXPECT_EQ(json["solver_device_bytes"], 5 << 20);
  EXPECT_EQ(json["gpu_energy_mj"], 250);
  EXPECT_EQ(json["gpu_watts"], 125);
  EXPECT_EQ(json["backward_error"], 1e-12);
  EXPECT_FALSE(to_json(report, {})["benchmarks"][0].contains("solver_iterations"));
}

TEST(Report, JsonNamesWhatARungChose) {
  Report report;
  Row r = row("auto", Phase::refactor, 1);
  r.chosen_rung = "sparse_leftlooking/07_threads";
  r.choice_reason = "no GPU";
  report.add(r);
  report.add(row("sparse_leftlooking/90_klu", Phase::refactor, 1));
  const auto json = to_json(report, {})["benchmarks"];
  EXPECT_EQ(json[0]["chosen_rung"], "sparse_leftlooking/07_threads");
  EXPECT_EQ(json[0]["choice_reason"], "no GPU");
  EXPECT_FALSE(json[1].contains("chosen_rung"));
}

TEST(Report, StepsAndFirstSolutionsAreComparedWithTheFasterOfTheTwoKlus) {
  Report report;
  report.add(row("sparse_leftlooking/90_klu", Phase::refactor, 8));
  Row ours = row("auto", Phase::step, 2);
  ours.parts = {{"upload", 0.25}, {"judge", 0}, {"solve", 1.5}};
  ours.threads = 3;
  ours.backward_error = 1e-16;
  EXPECT_FALSE(report.speed(ours)) << "klu_refactor is no step";
  EXPECT_EQ(report.why_no_klu(ours), "") << "KLU was not measured";
  Row defaults = row("peers/klu", Phase::step, 6), our_order = row("peers/klu_our_order", Phase::step, 4);
  our_order.backward_error = 1e-13;
  report.add(defaults);
  EXPECT_DOUBLE_EQ(report.speed(ours).value(), 3);
  report.add(our_order);
  EXPECT_DOUBLE_EQ(report.speed(ours).value(), 2);
  EXPECT_FALSE(report.speed(row("auto", Phase::first, 2))) << "another phase";
  report.add(row("peers/klu", Phase::first, 20));
  EXPECT_DOUBLE_EQ(report.speed(row("auto", Phase::first, 40)).value(), 0.5);
  EXPECT_FALSE(report.speed(defaults)) << "the other may be faster, and its line comes later";
  EXPECT_EQ(yardstick_of(ours), Yardstick::klu_step);
  EXPECT_EQ(yardstick_of(row("auto", Phase::first, 1)), Yardstick::klu_first);
  EXPECT_EQ(yardstick_of(row("auto", Phase::run, 1)), Yardstick::klu_run);

  report.add(ours);
  const auto json = to_json(report, {})["benchmarks"].back();
  EXPECT_EQ(json["speed_against_klu_step"], 2);
  EXPECT_FALSE(json.contains("speed_against_klu_refactor"));
  EXPECT_EQ(json["klu"], "peers/klu_our_order");
  EXPECT_EQ(json["klu_ms"], 4);
  EXPECT_EQ(json["klu_backward_error"], 1e-13);
  EXPECT_EQ(json["backward_error"], 1e-16);
  EXPECT_EQ(json["threads"], 3);
  EXPECT_EQ(json["split_ms"], (nlohmann::ordered_json{{"upload", 0.25}, {"judge", 0}, {"solve", 1.5}}));
  const std::string line = table_line(report, ours);
  for (const char* part : {" 3  upload 0.25 + solve 1.5, backward error 1.0e-16"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
}

TEST(Report, WhereKluFailsItsReasonStandsInsteadOfASpeed) {
  Report report;
  Row defaults = row("peers/klu", Phase::step, 0), our_order = row("peers/klu_our_order", Phase::step, 0);
  defaults.error = "inaccurate: backward error 2.0e-04 of x exceeds 1.5e-07";
  our_order.error = "numerically_singular: klu_factor found no nonzero pivot";
  const Row ours = row("auto", Phase::step, 2);
  report.add(defaults);
  report.add(our_order);
  report.add(ours);
  EXPECT_FALSE(report.speed(ours));
  const std::string why = "peers/klu: " + defaults.error + "; peers/klu_our_order: " + our_order.error;
  EXPECT_EQ(report.why_no_klu(ours), why);
  EXPECT_NE(table_line(report, ours).find("no speed: " + why), std::string::npos);
  const auto json = to_json(report, {})["benchmarks"];
  EXPECT_EQ(json[2]["no_klu"], why);
  EXPECT_FALSE(json[2].contains("speed_against_klu_step"));
  EXPECT_FALSE(json[2].contains("klu"));
  EXPECT_FALSE(json[0].contains("no_klu"));

  Report one_is_good;
  one_is_good.add(defaults);
  one_is_good.add(row("peers/klu_our_order", Phase::step, 5));
  EXPECT_DOUBLE_EQ(one_is_good.speed(ours).value(), 2.5);
  EXPECT_EQ(one_is_good.why_no_klu(ours), "");
}

TEST(Report, TheSpreadLeavesOutATenthOnEachSide) {
  Row r;
  std::vector<double> ms;
  for (int k = 20; k > 0; --k) ms.push_back(k);
  set_times(r, ms);
  EXPECT_EQ(r.p10_ms, 3);
  EXPECT_EQ(r.p90_ms, 18);
  set_times(r, {2, 9, 1});
  EXPECT_EQ(r.p10_ms, 1) << "of less than ten none is left out";
  EXPECT_EQ(r.p90_ms, 9);
  Report report;
  r.name = {"x", "memplus", Phase::refactor, Scalar::f64};
  report.add(r);
  EXPECT_NE(table_line(report, r).find(" 1 to 9 "), std::string::npos) << table_line(report, r);
  const auto json = to_json(report, {})["benchmarks"][0];
  EXPECT_EQ(json["p10_ms"], 1);
  EXPECT_EQ(json["p90_ms"], 9);
  EXPECT_EQ(json["samples_ms"], nlohmann::ordered_json({2, 9, 1})) << "as they came";
  EXPECT_EQ(json["threads"], 1);
  EXPECT_FALSE(json.contains("split_ms"));
}

TEST(Report, TimesAreTheMedianAndTheExtremes) {
  Row r;
  set_times(r, {5, 1, 2});
  EXPECT_EQ(r.time_ms, 2);
  EXPECT_EQ(r.min_ms, 1);
  EXPECT_EQ(r.max_ms, 5);
  EXPECT_EQ(r.samples, 3);
  set_times(r, {8, 2, 4, 1});
  EXPECT_EQ(r.time_ms, 3);
  std::vector<double> many;
  for (int k = 0; k < 100; ++k) many.push_back(k);
  set_times(r, many);
  ASSERT_EQ(r.some_ms.size(), 20u);
  for (int k = 0; k < 20; ++k) EXPECT_EQ(r.some_ms[k], 5 * k) << "spread over the whole run";
}

TEST(Report, TableLineShowsTimeBoundRatioAndNotes) {
  Report report;
  report.add(row("sparse_leftlooking/90_klu", Phase::refactor, 2));
  Row r = row("sparse_leftlooking/01_warp_per_column", Phase::refactor, 0.5);
  r.bound_ms = 0.1;
  r.bound_by = "chain";
  r.label = "cold L2";
  const std::string line = table_line(report, r);
  for (const char* part :
       {"sparse_leftlooking/01_warp_per_column|memplus|refactor|f64", "0.5000", "20% chain", " 4 ", "cold L2"}) {
    EXPECT_NE(line.find(part), std::string::npos) << line;
  }
  r.error = "performance not measured in the simulator";
  EXPECT_NE(table_line(report, r).find(r.error), std::string::npos);
}

TEST(Report, JsonIsValidWhateverTheFiguresAndTheText) {
  Report report;
  report.add(row("sparse_leftlooking/90_klu", Phase::refactor, 2));
  Row r = row("x", Phase::factor, 1);
  r.backward_error = std::numeric_limits<double>::quiet_NaN();
  r.max_ms = std::numeric_limits<double>::infinity();
  r.label = "quote \" backslash \\ newline \n";
  report.add(r);
  r.error = "failed: \"\t";
  report.add(r);

  const std::string text = to_json(report, {{"git_hash", "abc"}}).dump();
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << text;
  EXPECT_EQ(json["context"]["git_hash"], "abc");
  ASSERT_EQ(json["benchmarks"].size(), 3u);
  const auto& klu = json["benchmarks"][0];
  EXPECT_EQ(klu["name"], "sparse_leftlooking/90_klu|memplus|refactor|f64");
  EXPECT_EQ(klu["real_time"], 2);
  EXPECT_EQ(klu["time_unit"], "ms");
  EXPECT_EQ(klu["speed_against_klu_refactor"], 1);
  EXPECT_TRUE(json["benchmarks"][1]["backward_error"].is_null());
  EXPECT_TRUE(json["benchmarks"][1]["max_ms"].is_null());
  EXPECT_EQ(json["benchmarks"][2]["error_occurred"], true);
  EXPECT_FALSE(json["benchmarks"][2].contains("real_time"));
}

}  // namespace
}  // namespace lulab::bench
