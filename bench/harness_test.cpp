#include "bench/harness.h"

#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace lulab::bench {
namespace {

using Log = std::vector<std::pair<std::string, std::uint64_t>>;  // what ran on which seed, "verify x" among them

struct Fake {
  Fake(std::string its_name, Log& its_log, double its_ms = 1) : name(std::move(its_name)), log(its_log), ms(its_ms) {}

  Case as_case() {
    Case c;
    c.rows = {{.name = {name, "m", Phase::factor, Scalar::f64}}};
    c.reason_to_skip = [this]() -> Result<std::string> { return skip; };
    c.prepare = [this] { return prepares ? Status{} : Status::error(StatusCode::out_of_memory, "no room"); };
    c.run = [this](std::uint64_t seed) -> Result<Times> {
      log.emplace_back(name, seed);
      if (++runs == failing_run) return Status::error(StatusCode::device_error, "fell over");
      if (runs == run_without_result) return Times{};
      return Times{ms + runs};
    };
    c.verify = [this](std::span<Row> rows) {
      log.emplace_back("verify " + name, 0);
      rows[0].label = "verified";
      if (run_without_result > 0) rows[0].error = "did not converge";
      return right ? Status{} : Status::error(StatusCode::needs_repivot, "wrong");
    };
    return c;
  }

  std::string name;
  Log& log;
  double ms;
  std::string skip;
  int runs = 0, failing_run = 0, run_without_result = 0;
  bool prepares = true, right = true;
};

constexpr Sampling no_budget = {.budget_s = 0};

template <class... Fakes>
std::vector<Row> rows_of(const Sampling& sampling, Fakes&... fakes) {
  Comparison comparison = {.title = "test", .cases = {fakes.as_case()...}, .sampling = sampling};
  return measure(comparison);
}

void expect_no_time(const Row& row, const std::string& error) {
  EXPECT_EQ(row.error, error);
  EXPECT_EQ(row.samples, 0);
  EXPECT_EQ(row.time_ms, 0);
  EXPECT_EQ(row.label, "");
}

TEST(Harness, RunsEveryCaseOnceARoundOnTheRoundsOwnSeed) {
  Log log;
  Fake a("a", log), b("b", log), c("c", log);
  const auto rows = rows_of(no_budget, a, b, c);

  ASSERT_EQ(log.size(), 3u + 5 * 3 + 3);
  for (std::size_t round = 0; round < 5; ++round) {  // the warm-up and the first four: the last one has verifications
    std::string names;
    for (std::size_t k = 0; k < 3; ++k) {
      names += log[3 * round + k].first;
      EXPECT_EQ(log[3 * round + k].second, round + 1);
    }
    EXPECT_TRUE(names == "abc" || names == "bca" || names == "cab") << names;
    if (round == 0) continue;
    EXPECT_NE(log[3 * round].first, log[3 * round - 3].first) << "the first of a round changes";
  }
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].name.rung, "b");
  for (const Row& row : rows) {  // 3, 4, 5, 6, 7: the warm-up, 2, is no sample
    EXPECT_EQ(row.error, "");
    EXPECT_EQ(row.label, "verified");
    EXPECT_EQ(row.samples, 5);
    EXPECT_EQ(row.min_ms, 3);
    EXPECT_EQ(row.time_ms, 5);
    EXPECT_EQ(row.max_ms, 7);
  }
}

TEST(Harness, VerifiesEveryCaseRightAfterItsLastRun) {
  Log log;
  Fake a("a", log), b("b", log);
  rows_of(no_budget, a, b);
  ASSERT_EQ(log.size(), 2u + 5 * 2 + 2);
  int verified = 0;
  for (std::size_t k = 0; k < log.size(); ++k) {
    if (!log[k].first.starts_with("verify ")) continue;
    EXPECT_EQ(log[k].first, "verify " + log[k - 1].first);
    EXPECT_EQ(log[k - 1].second, 6u);
    ++verified;
  }
  EXPECT_EQ(verified, 2);
}

TEST(Harness, GoesOnUntilTheBudgetIsSpentOrTheMostSamplesAreTaken) {
  Log log;
  Fake endless("endless", log), ends("ends", log, 100);
  EXPECT_EQ(rows_of({.max_samples = 40, .budget_s = 1e9}, endless)[0].samples, 40);
  EXPECT_EQ(endless.runs, 1 + 4 + 40) << "a tenth of it warms up";
  // Runs of 101, 102, ... ms: the second one warms up; ten samples from 103 ms on take a second, and one more is
  // verified.
  EXPECT_EQ(rows_of({.max_samples = 40, .budget_s = 1}, ends)[0].samples, 11);
  EXPECT_EQ(ends.runs, 1 + 1 + 11);
}

TEST(Harness, SamplesASlowCaseLessAndVerifiesItThen) {
  for (const int slow_samples : {1, 2}) {
    Log log;
    Fake fast("fast", log), slow("slow", log, 5000);
    const auto rows = rows_of({.budget_s = 0, .slow_samples = slow_samples}, fast, slow);
    EXPECT_EQ(rows[0].samples, 5);
    EXPECT_EQ(rows[1].samples, slow_samples) << "the first run is one of them";
    EXPECT_EQ(rows[1].min_ms, 5001);
    EXPECT_EQ(slow.runs, slow_samples);
    int verified = 0;
    for (std::size_t k = 0; k < log.size(); ++k)
      if (log[k].first == "verify slow") {
        EXPECT_EQ(log[k - 1].first, "slow");
        ++verified;
      }
    EXPECT_EQ(verified, 1);
  }
}

TEST(Harness, GivesNoTimeToACaseThatFailsAndLetsTheOthersGoOn) {
  for (const int failing_run : {1, 2, 4, 6}) {
    Log log;
    Fake good("good", log), bad("bad", log);
    bad.failing_run = failing_run;
    const auto rows = rows_of(no_budget, bad, good);
    expect_no_time(rows[0], "device_error: fell over");
    EXPECT_EQ(bad.runs, failing_run);
    EXPECT_EQ(rows[1].samples, 5);
  }
}

TEST(Harness, GivesNoTimeToACaseThatIsWrong) {
  Log log;
  Fake good("good", log), bad("bad", log);
  bad.right = false;
  const auto rows = rows_of(no_budget, bad, good);
  expect_no_time(rows[0], "needs_repivot: wrong");
  EXPECT_EQ(rows[1].error, "");
}

TEST(Harness, ARunWithoutAResultEndsTheCaseWithWhatVerifySays) {
  Log log;
  Fake bad("bad", log);
  bad.run_without_result = 2;
  expect_no_time(rows_of(no_budget, bad)[0], "did not converge");
  EXPECT_EQ(bad.runs, 2);
}

TEST(Harness, DoesNotStartWhatIsSkippedOrCannotBePrepared) {
  Log log;
  Fake good("good", log), skipped("skipped", log), unprepared("unprepared", log);
  skipped.skip = "would take too long";
  skipped.prepares = false;  // never asked
  unprepared.prepares = false;
  const auto rows = rows_of(no_budget, skipped, good, unprepared);
  expect_no_time(rows[0], "would take too long");
  EXPECT_EQ(rows[1].samples, 5);
  expect_no_time(rows[2], "out_of_memory: no room");
  EXPECT_EQ(skipped.runs + unprepared.runs, 0);
}

TEST(Harness, WithoutTimesEveryRowSaysWhy) {
  Log log;
  Fake a("a", log), b("b", log);
  Comparison comparison = {.title = "t", .cases = {a.as_case(), b.as_case()}, .reason_to_skip = "no GPU"};
  comparison.cases[1].rows[0].flops = 7;
  const auto rows = measure(comparison);
  ASSERT_EQ(rows.size(), 2u);
  for (const Row& row : rows) expect_no_time(row, "no GPU");
  EXPECT_EQ(rows[1].flops, 7);
  EXPECT_TRUE(log.empty());
}

TEST(Harness, ACaseMayHaveSeveralTimes) {
  Case c;
  for (const Phase phase : {Phase::factor, Phase::solve}) c.rows.push_back({.name = {"x", "m", phase, Scalar::f64}});
  double ms = 0;
  c.run = [&](std::uint64_t) -> Result<Times> { return ++ms, Times{ms, 10 * ms}; };
  Comparison comparison = {.title = "t", .cases = {c}, .sampling = no_budget};
  const auto rows = measure(comparison);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].time_ms, 4);
  EXPECT_EQ(rows[1].time_ms, 40);
}

TEST(Harness, TheTimeOfACaseMayHaveParts) {
  Case c;
  c.rows = {{.name = {"x", "m", Phase::step, Scalar::f64}}};
  c.parts = {"upload", "solve"};
  double ms = 0;
  c.run = [&](std::uint64_t) -> Result<Times> { return ++ms, Times{10 * ms, ms, 2 * ms}; };
  for (const bool right : {true, false}) {
    ms = 0;
    c.verify = [right](std::span<Row>) { return right ? Status{} : Status::error(StatusCode::needs_repivot, "wrong"); };
    Comparison comparison = {.title = "t", .cases = {c}, .sampling = no_budget};
    const auto rows = measure(comparison);
    ASSERT_EQ(rows.size(), 1u);
    ASSERT_EQ(rows[0].parts.size(), right ? 2u : 0u);
    if (!right) continue;
    EXPECT_EQ(rows[0].time_ms, 40);  // of the runs 2 to 6
    EXPECT_EQ(rows[0].parts[0].name, "upload");
    EXPECT_EQ(rows[0].parts[0].ms, 4);
    EXPECT_EQ(rows[0].parts[1].ms, 8);
  }
}

TEST(Harness, OfNothingEnds) {
  Comparison nothing = {.title = "t", .cases = {}, .sampling = no_budget};
  EXPECT_TRUE(measure(nothing).empty());
}

}  // namespace
}  // namespace lulab::bench
