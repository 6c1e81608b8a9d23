#pragma once
// What the benchmarks of one run of lulab-bench share, and how Google Benchmark is told of their rows. For the program
// only: the library below it knows nothing of Google Benchmark.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/cost_estimate.h"
#include "bench/report.h"
#include "core/rung.h"

namespace lulab::bench {

struct Options {
  std::string set = "quick";
  std::vector<std::string> matrices, rungs, phases, precisions;
  std::vector<std::int32_t> sizes;
  std::string order = "auto", json, constants;
  double min_time_s = 0.05;
  FactorOptions factor;
  std::int32_t batch = 64;  // systems of the phase batch
  bool save = false, cold = false;
};

/// Shows which benchmark runs, on a terminal only, and wipes the line again.
class Progress {
 public:
  void show(const std::string& text) {
    if (!terminal_) return;
    clear();
    std::fprintf(stderr, "%s ...", text.c_str());
    std::fflush(stderr);
  }
  void clear() {
    if (terminal_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

/// What all benchmarks of this run share.
struct Session {
  Session(const Options& o, const DeviceConstants& c) : options(o), constants(c) {}

  const Options& options;
  const DeviceConstants& constants;
  Report report;
  std::map<std::string, Row> pending;  // filled by a benchmark, taken by the reporter
  Progress progress;
  CostHistory history;  // of the dense rungs
};

/// Answers Google Benchmark for the row and leaves it to the reporter.
inline void hand_over(benchmark::State& state, Session& session, Row row) {
  if (!row.error.empty()) {
    state.SkipWithError(row.error.c_str());
  } else {
    state.SetLabel(row.label);
    state.counters["median_ms"] = row.time_ms;
    if (row.bound_ms > 0) state.counters["bound_ms"] = row.bound_ms;
  }
  const std::string name = to_string(row.name);
  session.pending[name] = std::move(row);
}

/// Prints one line a benchmark as soon as it is done and keeps the rows for the JSON file.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  explicit Reporter(Session& session) : session_(session) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto row = session_.pending.find(run.run_name.function_name);
      if (run.run_type != Run::RT_Iteration || row == session_.pending.end()) continue;
      session_.report.add(std::move(row->second));
      session_.pending.erase(row);
      session_.progress.clear();
      std::cout << table_line(session_.report, session_.report.rows().back()) << std::endl;
    }
  }

 private:
  Session& session_;
};

}  // namespace lulab::bench
