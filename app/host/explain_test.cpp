// What is explained is what the algorithm did: every entry gets its final value, columns finish in an order that the
// pattern allows, waits name the right column, races and deadlocks are there where they must be and nowhere else.

#include "app/explain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "app/explain_text.h"
#include "core/rung.h"
#include "core/simt/device.h"
#include "testing/contains.h"
#include "testing/device.h"
#include "testing/fixed_pivots.h"

namespace lulab::app {
namespace {

using Kind = ExplainStep::Kind;

struct SmallMatrix {
  CscMatrix<double> a;
  Analysis analysis = testing::analysis_for(a);
  std::vector<double> right = factors();

  std::vector<double> factors() const {
    const auto reference = find_rung(every_rung(), "sparse_hybrid/00_reference");
    const auto f = testing::factor_with<double>(**reference, analysis, a.values);
    EXPECT_TRUE(f.ok()) << f.status().to_string();
    return f.ok() ? f->values : std::vector<double>{};
  }
  std::int32_t column_of(std::int64_t p) const {
    const auto& ptr = analysis.filled.col_ptr;
    return static_cast<std::int32_t>(std::ranges::upper_bound(ptr, p) - ptr.begin()) - 1;
  }
  std::int32_t row_of(std::int64_t p) const { return analysis.filled.row_idx[p]; }
};

/// The example of GLU3.0: column 4, counted from 1, writes (6,7), which column 6 of the same level reads.
SmallMatrix peng_tan() { return {testing::matrix_that_fills_to<double>(testing::peng_tan_example(), 1)}; }
SmallMatrix random_case(std::uint64_t seed) { return {testing::random_unsymmetric<double>(14, 0.15, 30.0, seed)}; }

Explanation explained(const SmallMatrix& c, const char* algorithm, std::uint64_t seed,
                      std::optional<int> resident = {}) {
  auto e = explain(c.analysis, c.a.values, {.algorithm = algorithm, .seed = seed, .resident = resident});
  EXPECT_TRUE(e.ok()) << e.status().to_string();
  return e.ok() ? std::move(*e) : Explanation{};
}

int count(const Explanation& e, Kind kind) {
  return static_cast<int>(std::ranges::count(e.steps, kind, &ExplainStep::kind));
}

constexpr const char* sound[] = {"01_warp_per_column", "02_pipeline", "02_glu2", "01_sflu"};

TEST(Explain, ReplayedChangesEndInLAndU) {
  for (const char* algorithm : sound)
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      SCOPED_TRACE(std::string(algorithm) + ", seed " + std::to_string(seed));
      const SmallMatrix c = random_case(seed);
      const Explanation e = explained(c, algorithm, seed);
      EXPECT_TRUE(e.outcome.ok()) << e.outcome.to_string();
      std::vector<double> values = e.start;
      for (const ExplainStep& step : e.steps)
        for (const ChangedEntry& change : step.changed) values[change.position] = change.value;
      ASSERT_EQ(values.size(), c.right.size());
      for (std::size_t p = 0; p < values.size(); ++p)  // sums of at most 14 products, in another order
        EXPECT_TRUE(std::abs(values[p] - c.right[p]) <= 1e-13 * (1 + std::abs(c.right[p]))) << "entry " << p;
      EXPECT_EQ(e.steps.back().kind, Kind::result);
      EXPECT_TRUE(e.steps.back().written.empty()) << e.steps.back().text;
      EXPECT_EQ(count(e, Kind::race), 0);
    }
}

TEST(Explain, EveryUpdateIsThereOnceAndAfterItsColumnFinished) {
  for (const char* algorithm : sound)
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      SCOPED_TRACE(std::string(algorithm) + ", seed " + std::to_string(seed));
      const SmallMatrix c = random_case(seed + 100);
      const FilledPattern& f = c.analysis.filled;
      const bool right_looking = contains(algorithm, "glu2");
      const Explanation e = explained(c, algorithm, seed);
      std::map<std::pair<int, int>, std::set<std::int64_t>> updates, expected;  // by source and target
      std::set<std::int64_t> divided;
      std::vector<int> finished(f.n, 0);
      for (const ExplainStep& step : e.steps) {
        for (const std::int32_t j : step.finished) ++finished[j];
        if (step.kind == Kind::divides) divided.insert(step.written.begin(), step.written.end());
        if (step.kind != Kind::updates) continue;
        const int target = c.column_of(step.written.front());
        int source = -1;
        for (const std::int64_t p : step.read)
          if (c.column_of(p) != target) source = c.column_of(p);
        if (right_looking && source < 0) source = step.column;
        EXPECT_TRUE((updates[{source, target}].empty())) << "told twice: " << step.text;
        updates[{source, target}].insert(step.written.begin(), step.written.end());
        EXPECT_EQ(step.column, right_looking ? source : target) << step.text;
        EXPECT_EQ(finished[target], 0) << step.text;
        if (!right_looking) {
          EXPECT_EQ(finished[source], 1) << step.text;
        }
      }
      for (std::int32_t k = 0; k < f.n; ++k)
        for (std::int64_t u = f.col_ptr[k]; u < f.diag[k]; ++u)
          for (std::int64_t l = f.diag[c.row_of(u)] + 1; l < f.col_ptr[c.row_of(u) + 1]; ++l)
            expected[{c.row_of(u), k}].insert(
                std::lower_bound(f.row_idx.begin() + f.col_ptr[k], f.row_idx.begin() + f.col_ptr[k + 1], c.row_of(l)) -
                f.row_idx.begin());
      EXPECT_EQ(updates, expected);
      std::set<std::int64_t> below;
      for (std::int32_t j = 0; j < f.n; ++j)
        for (std::int64_t p = f.diag[j] + 1; p < f.col_ptr[j + 1]; ++p) below.insert(p);
      EXPECT_EQ(divided, below);
      EXPECT_EQ(finished, std::vector<int>(f.n, 1));
    }
}

TEST(Explain, AWaitIsForAColumnThatIsNeededAndNotFinished) {
  int waits = 0;
  for (const char* algorithm : {"02_pipeline", "01_sflu"})
    for (const std::uint64_t seed : simt::all_schedule_seeds()) {
      SCOPED_TRACE(std::string(algorithm) + ", seed " + std::to_string(seed));
      const SmallMatrix c = peng_tan();
      const FilledPattern& f = c.analysis.filled;
      const Explanation e = explained(c, algorithm, seed);
      std::set<std::int32_t> finished;
      std::map<std::int32_t, std::int32_t> waiting;
      for (const ExplainStep& step : e.steps) {
        finished.insert(step.finished.begin(), step.finished.end());
        if (step.kind == Kind::waits) {
          ++waits;
          EXPECT_TRUE(std::binary_search(f.row_idx.begin() + f.col_ptr[step.column],
                                         f.row_idx.begin() + f.diag[step.column], step.waits_for))
              << step.text;
          EXPECT_FALSE(finished.contains(step.waits_for)) << step.text;
          EXPECT_TRUE(waiting.emplace(step.column, step.waits_for).second) << step.text;
          EXPECT_TRUE(contains(step.text, "waits for column " + std::to_string(step.waits_for + 1))) << step.text;
        } else if (step.kind == Kind::goes_on) {
          ASSERT_TRUE(waiting.contains(step.column)) << step.text;
          EXPECT_TRUE(finished.contains(waiting[step.column])) << step.text;
          waiting.erase(step.column);
        } else {
          // Thread 0 waits for the next column while others of its block still subtract the one before.
          for (const std::int64_t p : step.read)
            EXPECT_FALSE(waiting.contains(step.column) && waiting[step.column] == c.column_of(p)) << step.text;
        }
      }
      EXPECT_TRUE(waiting.empty());
    }
  EXPECT_GT(waits, 0);
}

TEST(Explain, Glu1sRaceHasBothColumnsAndTheirLinesAndSometimesWrongFactors) {
  if (simt::race_detection) GTEST_SKIP() << "one block of this size is resident there, so columns take turns";
  const SmallMatrix c = peng_tan();
  bool wrong = false, right = false;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    const Explanation e = explained(c, "01_glu1_racy", seed);
    EXPECT_EQ(e.outcome.code, StatusCode::data_race) << e.outcome.to_string();
    bool found = false;
    for (const ExplainStep& step : e.steps) {
      if (step.kind != Kind::race || !contains(step.text, "race on (6,7): columns 4 and 6 ")) continue;
      found = true;
      ASSERT_EQ(step.details.size(), 3u);
      const std::string both = step.details[0] + '\n' + step.details[1];
      EXPECT_TRUE(contains(both, "column 6 reads ")) << both;
      EXPECT_TRUE(contains(both, "column 4 adds ")) << both;
      EXPECT_TRUE(contains(both, "01_column_by_block.h:")) << both;
      EXPECT_TRUE(contains(both, "const T u = f.values[jk];")) << both;
      EXPECT_TRUE(contains(both, "atomicAdd(&f.values[p], -l * u);")) << both;
      EXPECT_NE(step.details[0].substr(0, 8), step.details[1].substr(0, 8)) << "two blocks";
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(e.steps.back().kind, Kind::result);
    (e.steps.back().written.empty() ? right : wrong) = true;
  }
  EXPECT_TRUE(right);
  EXPECT_TRUE(wrong);
}

TEST(Explain, ADeadlockNamesWhoWaitsForWhomAndTheBlocksThatCannotStart) {
  const SmallMatrix c = peng_tan();
  int deadlocks = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const Explanation e = explained(c, "deadlock", seed, 1);
    if (e.outcome.ok()) continue;  // blocks came in the order of their columns
    ++deadlocks;
    ASSERT_EQ(e.outcome.code, StatusCode::deadlock) << e.outcome.to_string();
    const ExplainStep& last = e.steps.back();
    ASSERT_EQ(last.kind, Kind::deadlock);
    ASSERT_EQ(last.details.size(), 2u);
    EXPECT_TRUE(contains(last.details[0], ", waits for column ")) << last.details[0];
    EXPECT_TRUE(contains(last.details[0], ", which no block has taken")) << last.details[0];
    EXPECT_TRUE(contains(last.details[1], "cannot start")) << last.details[1];
    EXPECT_TRUE(explained(c, "deadlock", seed, 0).outcome.ok());
    EXPECT_TRUE(explained(c, "01_sflu", seed, 1).outcome.ok());
  }
  EXPECT_GT(deadlocks, 0);
}

TEST(Explain, EventsNameThreadEntryValueAndLine) {
  const SmallMatrix c = peng_tan();
  const auto e = explain(c.analysis, c.a.values, {.algorithm = "01_sflu", .seed = 1, .with_events = true});
  LULAB_ASSERT_OK(e);
  std::map<std::pair<int, int>, double> last;
  for (const auto& event : e->events) {
    if (event.at("event") != "write") continue;
    EXPECT_EQ(event.at("file"), "01_sflu_kernel.h");
    EXPECT_EQ(event.at("column"), event.at("of_column")) << "a block writes its own column";
    for (const auto& from : event.at("from")) EXPECT_EQ(e->events.at(from.get<std::size_t>()).at("event"), "read");
    last[{event.at("row"), event.at("of_column")}] = event.at("value");
  }
  ASSERT_FALSE(last.empty());
  for (const auto& [entry, value] : last) {
    const FilledPattern& f = c.analysis.filled;
    const auto j = entry.second - 1;
    const auto p =
        std::lower_bound(f.row_idx.begin() + f.col_ptr[j], f.row_idx.begin() + f.col_ptr[j + 1], entry.first - 1) -
        f.row_idx.begin();
    EXPECT_TRUE(std::abs(value - c.right[p]) <= 1e-14) << entry.first << "," << entry.second;
  }
}

TEST(Explain, TheTextOfAStepShowsWhatWasWrittenAndRead) {
  const SmallMatrix c = peng_tan();
  const Explanation e = explained(c, "01_sflu", 1);
  const auto step = std::ranges::find_if(e.steps, [](const ExplainStep& s) {
    return s.kind == Kind::updates && contains(s.text, "subtracts L(:,4)·U(4,7)");
  });
  ASSERT_NE(step, e.steps.end());
  const std::string text = step_as_text(e, c.analysis.filled, static_cast<std::size_t>(step - e.steps.begin()) + 1);
  EXPECT_TRUE(contains(text, "writes (6,7) fill, (8,7)")) << text;
  EXPECT_EQ(std::ranges::count(text, '['), 3) << text;  // (6,7), (8,7), and the legend
  EXPECT_TRUE(contains(text, "\n4 .  .  .  U  .  . (x) . ")) << text;
  EXPECT_TRUE(contains(text, "(L)")) << text;
}

TEST(Explain, RefusesWhatItDoesNotKnow) {
  const SmallMatrix c = peng_tan();
  const auto e = explain(c.analysis, c.a.values, {.algorithm = "nosuch"});
  EXPECT_EQ(e.status().code, StatusCode::invalid_argument);
  EXPECT_TRUE(contains(e.status().message, "sparse_hybrid/01_glu1_racy")) << e.status().message;
}

}  // namespace
}  // namespace lulab::app
