#pragma once
// One run of lulab-bench: comparisons become benchmarks of Google Benchmark, their rows lines and JSON. For the program
// only: the library below it knows nothing of Google Benchmark.

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/harness.h"

namespace lulab::bench {

/// Prints one line a benchmark as soon as it is done and keeps the rows for the JSON file.
class Session : private benchmark::BenchmarkReporter {
 public:
  Session() { SetErrorStream(&silent_); }  // what --benchmark_filter leaves out of a comparison is no error

  const Report& report() const { return report_; }

  /// Shows what is being done, on a terminal only; finished() wipes the line again.
  void show(const std::string& text) {
    if (!terminal_) return;
    finished();
    std::fprintf(stderr, "%s ...", text.c_str());
    std::fflush(stderr);
  }
  void finished() {
    if (terminal_) std::fprintf(stderr, "\r\033[K");
  }

  /// The first of its benchmarks that runs measures all cases, then each reports its own row. What the cases hold is
  /// released in the end.
  void run(Comparison comparison) {
    rows_.clear();
    for (const Case& c : comparison.cases)
      for (const Row& row : c.rows) {
        const std::string name = to_string(row.name);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [this, &comparison](benchmark::State& state) { measure_once(state, comparison); })
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond)
            ->Iterations(1);
      }
    benchmark::RunSpecifiedBenchmarks(this);
    benchmark::ClearRegisteredBenchmarks();
  }

 private:
  void measure_once(benchmark::State& state, Comparison& comparison) {
    if (rows_.empty()) {
      show(comparison.title);
      for (Row& row : measure(comparison)) {
        std::string name = to_string(row.name);
        rows_.emplace(std::move(name), std::move(row));
      }
    }
    for ([[maybe_unused]] auto _ : state) state.SetIterationTime(1);  // the row has the time
  }

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto row = rows_.find(run.run_name.function_name);
      if (run.run_type != Run::RT_Iteration || row == rows_.end()) continue;
      report_.add(row->second);
      finished();
      std::cout << table_line(report_, report_.rows().back()) << std::endl;
    }
  }

  Report report_;
  std::map<std::string, Row> rows_;  // of the comparison that runs
  std::ostream silent_{nullptr};
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
};

}  // namespace lulab::bench
