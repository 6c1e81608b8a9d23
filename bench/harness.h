#pragma once
// The one way of measuring: what is compared takes turns in one process, so that a device that warms up or slows down
// does so for all of it, and no time stands without a verified result.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/report.h"
#include "core/status.h"

namespace lulab::bench {

using Times = std::vector<double>;  // ms

/// Something that is timed: a rung in one phase, a library's routine, an iterative solver. Only `rows` and `run` must
/// be there.
struct Case {
  std::vector<Row> rows;                                // what the times of a run are called
  std::vector<std::string> parts;                       // of the time of rows[0]: more times of a run
  std::function<Result<std::string>()> reason_to_skip;  // asked before anything is prepared; empty: it may start
  std::function<Status()> prepare;                      // workspace, first analysis: not timed
  /// One timed run, on input made from the seed where it can be: (rows + parts) times, or none: verify() says why.
  std::function<Result<Times>(std::uint64_t seed)> run;
  /// Judges what the last run left behind; what cases share still holds its result. Fills in labels, bounds and
  /// counters of the rows, whose times are known, or their `error`.
  std::function<Status(std::span<Row> rows)> verify;
};

/// A Case's run that has one time.
Result<Times> one_time(const Result<double>& ms);

struct Sampling {
  int min_samples = 5;
  int max_samples = 100;
  double budget_s = 0.5;  // rounds go on until the samples add up to this; a tenth of it warms up
  double slow_ms = 2000;  // a case whose first run takes longer has slow_samples samples, that run among them
  int slow_samples = 2;
};

/// Cases that are measured against each other.
struct Comparison {
  std::string title;  // shown as progress while it is measured
  std::vector<Case> cases;
  Sampling sampling = {};
  std::string reason_to_skip = {};  // not empty: no case is measured, every row says this
};

/// Warm-up rounds, then rounds that run every case once on the round's own seed; the first of a round changes from
/// round to round. Each case is verified right after its last run: one whose preparation, run or verification fails has
/// no times, and its rows say why.
///
/// Shapes    result: the rows of all cases, in order.
/// Requires  1 <= slow_samples <= min_samples <= max_samples.
std::vector<Row> measure(Comparison& comparison);

}  // namespace lulab::bench
