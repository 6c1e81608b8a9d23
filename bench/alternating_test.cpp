#include "bench/alternating.h"

#include <limits>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace lulab::bench {
namespace {

using Log = std::vector<std::pair<std::string, std::uint64_t>>;  // who ran on which seed, "judge x" among them

class Fake final : public Contender {
 public:
  Fake(std::string name, Log& log, double ms = 1) : name_(std::move(name)), log_(&log), ms_(ms) {}
  Result<double> run(std::uint64_t seed) override {
    log_->emplace_back(name_, seed);
    if (++runs == failing_run) return Status::error(StatusCode::device_error, "fell over");
    return ms_ + runs;
  }
  Status judge() override {
    log_->emplace_back("judge " + name_, 0);
    return right ? Status{} : Status::error(StatusCode::needs_repivot, "wrong");
  }

  int runs = 0;
  int failing_run = 0;
  bool right = true;

 private:
  std::string name_;
  Log* log_;
  double ms_;
};

constexpr AlternatingOptions no_budget = {.budget_s = 0};

TEST(Alternating, RunsEveryContenderOnceARoundOnTheRoundsOwnSeed) {
  Log log;
  Fake a("a", log), b("b", log), c("c", log);
  Contender* const all[] = {&a, &b, &c};
  const auto samples = sample_alternating(all, no_budget);

  ASSERT_EQ(log.size(), 3u + 5 * 3 + 3);
  for (std::size_t round = 0; round < 5; ++round) {  // the warm-up and the first four: the last one has judgements
    std::string names;
    for (std::size_t k = 0; k < 3; ++k) {
      names += log[3 * round + k].first;
      EXPECT_EQ(log[3 * round + k].second, round + 1);
    }
    EXPECT_TRUE(names == "abc" || names == "bca" || names == "cab") << names;
    if (round == 0) continue;
    EXPECT_NE(log[3 * round].first, log[3 * round - 3].first) << "the first of a round changes";
  }
  for (const Samples& s : samples) {
    EXPECT_TRUE(s.status.ok());
    EXPECT_EQ(s.ms, (std::vector<double>{3, 4, 5, 6, 7}));  // the warm-up, 2, is no sample
  }
}

TEST(Alternating, JudgesEveryContenderRightAfterItsLastRun) {
  Log log;
  Fake a("a", log), b("b", log);
  Contender* const all[] = {&a, &b};
  sample_alternating(all, no_budget);
  ASSERT_EQ(log.size(), 2u + 5 * 2 + 2);
  int judged = 0;
  for (std::size_t k = 0; k < log.size(); ++k) {
    if (!log[k].first.starts_with("judge ")) continue;
    EXPECT_EQ(log[k].first, "judge " + log[k - 1].first);
    EXPECT_EQ(log[k - 1].second, 6u);
    ++judged;
  }
  EXPECT_EQ(judged, 2);
}

TEST(Alternating, GoesOnUntilTheBudgetIsSpentOrTheMostSamplesAreTaken) {
  Log log;
  Fake a("a", log);
  Contender* const all[] = {&a};
  const auto samples = sample_alternating(all, {.max_samples = 40, .budget_s = 1e9});
  EXPECT_EQ(samples[0].ms.size(), 40u);
}

TEST(Alternating, SamplesASlowContenderLessAndJudgesItThen) {
  Log log;
  Fake fast("fast", log), slow("slow", log, 5000);
  Contender* const all[] = {&fast, &slow};
  const auto samples = sample_alternating(all, no_budget);
  EXPECT_EQ(samples[0].ms.size(), 5u);
  EXPECT_EQ(samples[1].ms.size(), 2u);
  EXPECT_EQ(slow.runs, 3);
  int judged = 0;
  for (const auto& entry : log) judged += entry.first == "judge slow";
  EXPECT_EQ(judged, 1);
}

TEST(Alternating, GivesNoTimesToAContenderThatFailsAndLetsTheOthersGoOn) {
  for (const int failing_run : {1, 2, 4, 6}) {
    Log log;
    Fake good("good", log), bad("bad", log);
    bad.failing_run = failing_run;
    Contender* const all[] = {&bad, &good};
    const auto samples = sample_alternating(all, no_budget);
    EXPECT_EQ(samples[0].status.code, StatusCode::device_error);
    EXPECT_TRUE(samples[0].ms.empty());
    EXPECT_EQ(bad.runs, failing_run);
    EXPECT_EQ(samples[1].ms.size(), 5u);
  }
}

TEST(Alternating, GivesNoTimesToAContenderThatIsWrong) {
  Log log;
  Fake good("good", log), bad("bad", log);
  bad.right = false;
  Contender* const all[] = {&bad, &good};
  const auto samples = sample_alternating(all, no_budget);
  EXPECT_EQ(samples[0].status.code, StatusCode::needs_repivot);
  EXPECT_TRUE(samples[0].ms.empty());
  EXPECT_TRUE(samples[1].status.ok());
}

TEST(Alternating, OfNobodyEnds) { EXPECT_TRUE(sample_alternating({}, no_budget).empty()); }

}  // namespace
}  // namespace lulab::bench
