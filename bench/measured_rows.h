#pragma once
// Rows that are measured together, as benchmarks of Google Benchmark. For the program only.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/session.h"

namespace lulab::bench {

/// The first of its benchmarks that runs measures all rows, then each reports its own.
class MeasuredRows {
 public:
  /// measure() gives a row for each name; `title` is what progress calls them.
  MeasuredRows(Session& session, std::string title, std::vector<Name> names, std::function<std::vector<Row>()> measure)
      : session_(session), title_(std::move(title)), names_(std::move(names)), measure_(std::move(measure)) {}

  /// Runs the benchmarks, which report to `reporter`.
  void run(Reporter& reporter) {
    for (const Name& name : names_) {
      const std::string text = to_string(name);
      benchmark::RegisterBenchmark(text.c_str(), [this, text](benchmark::State& state) { report(state, text); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
    benchmark::RunSpecifiedBenchmarks(&reporter);
    benchmark::ClearRegisteredBenchmarks();
  }

 private:
  void report(benchmark::State& state, const std::string& text) {
    if (rows_.empty()) {
      session_.progress.show(title_);
      for (Row& row : measure_()) {
        const std::string name = to_string(row.name);
        rows_[name] = std::move(row);
      }
    }
    Row row = rows_.at(text);
    if (row.error.empty())
      for ([[maybe_unused]] auto _ : state) state.SetIterationTime(row.time_ms * 1e-3);
    hand_over(state, session_, std::move(row));
  }

  Session& session_;
  std::string title_;
  std::vector<Name> names_;
  std::function<std::vector<Row>()> measure_;
  std::map<std::string, Row> rows_;
};

}  // namespace lulab::bench
