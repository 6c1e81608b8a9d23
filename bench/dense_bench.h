#pragma once
// --set dense as benchmarks of Google Benchmark. For the program only.

#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/dense_ladder.h"
#include "bench/session.h"
#include "core/simt/device.h"

namespace lulab::bench {

/// One case: the first of its benchmarks that runs measures all contenders in turn, then each reports its own samples.
class DenseBench {
 public:
  DenseBench(Session& session, DenseCase dense_case) : session_(session), case_(std::move(dense_case)) {}

  void register_benchmarks() {
    for (const std::string& rung : case_.rungs) {
      const std::string text = to_string(name_of(case_, rung));
      benchmark::RegisterBenchmark(text.c_str(), [this, text](benchmark::State& state) { run(state, text); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
  }

 private:
  void run(benchmark::State& state, const std::string& text) {
    if (rows_.empty()) measure_all();
    Row row = rows_.at(text);
    if (row.error.empty())
      for ([[maybe_unused]] auto _ : state) state.SetIterationTime(row.time_ms * 1e-3);
    hand_over(state, session_, std::move(row));
  }

  void measure_all() {
    session_.progress.show(fmt::format("{} {}", to_string(case_.shape), to_string(case_.scalar)));
    DenseMeasuring how;
    how.sampling.budget_s = session_.options.min_time_s * static_cast<double>(case_.rungs.size());
    const bool simulator = simt::machine() == simt::Machine::simulator;
    for (Row& row : simulator ? rows_without_times(case_, "skipped: performance not measured in the simulator")
                              : measure(case_, session_.constants, session_.history, how)) {
      const std::string name = to_string(row.name);
      rows_[name] = std::move(row);
    }
  }

  Session& session_;
  DenseCase case_;
  std::map<std::string, Row> rows_;
};

/// Every dense case, measured and reported.
inline Status run_dense(Session& session, Reporter& reporter, nlohmann::ordered_json& context) {
  const auto cases = dense_cases({session.options.sizes, session.options.rungs, session.options.precisions});
  if (!cases.ok()) return cases.status();
  std::optional<Yardstick> shown;
  for (const DenseCase& c : *cases) {
    const Yardstick yardstick = c.batched() ? Yardstick::cublas : Yardstick::cusolver;
    if (shown != yardstick) std::cout << table_header(yardstick) << '\n';
    shown = yardstick;
    context["matrices"][to_string(c.shape)] = {
        {"n", c.shape.n}, {"batch", c.shape.batch}, {"flops", dense_flops(c.shape)}};
    DenseBench bench(session, c);
    bench.register_benchmarks();
    benchmark::RunSpecifiedBenchmarks(&reporter);
    benchmark::ClearRegisteredBenchmarks();
  }
  if (cases->empty()) std::cout << "no dense GPU rung fits the options\n";
  return {};
}

}  // namespace lulab::bench
