#pragma once
// --set alternatives as benchmarks of Google Benchmark. For the program only.

#include "bench/alternatives.h"
#include "bench/measured_rows.h"

namespace lulab::bench {

/// The alternatives on one matrix, measured and reported.
inline void run_alternatives(Session& session, Reporter& reporter, const Problem& problem) {
  const auto measure = [&] {
    return measure_alternatives(
        problem,
        {.gmres = {}, .budget_s = session.options.min_time_s, .warps_per_sm = session.options.factor.warps_per_sm});
  };
  MeasuredRows(session, problem.name, alternative_names(problem.name), measure).run(reporter);
}

/// Errors    invalid_argument: options that choose among rungs, which this set does not have.
inline Status check_alternatives(const Options& options) {
  if (options.rungs.empty() && options.phases.empty() && options.precisions.empty() && !options.cold) return {};
  return Status::error(StatusCode::invalid_argument,
                       "--set alternatives has lines of its own: leave out --rung, --phase, --precision and --cold");
}

}  // namespace lulab::bench
