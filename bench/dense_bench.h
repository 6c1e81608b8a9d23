#pragma once
// --set dense as benchmarks of Google Benchmark. For the program only.

#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/dense_ladder.h"
#include "bench/measured_rows.h"
#include "core/simt/device.h"

namespace lulab::bench {

inline std::vector<Row> measure(const DenseCase& c, Session& session) {
  if (simt::machine() == simt::Machine::simulator)
    return rows_without_times(c, "skipped: performance not measured in the simulator");
  DenseMeasuring how;
  how.sampling.budget_s = session.options.min_time_s * static_cast<double>(c.rungs.size());
  return measure(c, session.constants, session.history, how);
}

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
    std::vector<Name> names;
    for (const std::string& rung : c.rungs) names.push_back(name_of(c, rung));
    MeasuredRows(session, fmt::format("{} {}", to_string(c.shape), to_string(c.scalar)), std::move(names), [&] {
      return measure(c, session);
    }).run(reporter);
  }
  if (cases->empty()) std::cout << "no dense GPU rung fits the options\n";
  return {};
}

}  // namespace lulab::bench
