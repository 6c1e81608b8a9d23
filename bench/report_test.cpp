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
  EXPECT_FALSE(report.speed_against_klu(ours));
  report.add(row("sparse_leftlooking/90_klu", Phase::refactor, 2));
  EXPECT_DOUBLE_EQ(report.speed_against_klu(ours).value(), 4);

  Row elsewhere = ours;
  elsewhere.name.matrix = "add20";
  EXPECT_FALSE(report.speed_against_klu(elsewhere));
  EXPECT_FALSE(report.speed_against_klu(row("x", Phase::upload, 0.5)));
  EXPECT_FALSE(report.speed_against_klu(row("x", Phase::refactor, 0)));
}

TEST(Report, IgnoresAFailedOrSinglePrecisionKluAsYardstick) {
  Report report;
  Row failed = row("sparse_leftlooking/90_klu", Phase::refactor, 2);
  failed.error = "singular";
  report.add(failed);
  Row single = row("sparse_leftlooking/90_klu", Phase::refactor, 2);
  single.name.scalar = Scalar::f32;
  report.add(single);
  EXPECT_FALSE(report.speed_against_klu(row("x", Phase::refactor, 0.5)));
}

TEST(Report, PercentOfTheBoundNeedsBoundAndTime) {
  Row r = row("x", Phase::refactor, 2);
  EXPECT_FALSE(percent_of_bound(r));
  r.bound_ms = 0.5;
  EXPECT_DOUBLE_EQ(percent_of_bound(r).value(), 25);
  r.time_ms = 0;
  EXPECT_FALSE(percent_of_bound(r));
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
