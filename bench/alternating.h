#pragma once
// Times several contenders against each other in one process, one run of each in turn, so that a device that warms up
// or slows down does so for all of them.

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"

namespace lulab::bench {

class Contender {
 public:
  virtual ~Contender() = default;
  /// One timed run on input that is made anew from this seed.   Unit ms.
  virtual Result<double> run(std::uint64_t seed) = 0;
  /// Judges what the last run() left behind; what is shared between contenders still holds its result.
  virtual Status judge() = 0;
};

struct AlternatingOptions {
  int min_samples = 5;
  int max_samples = 100;
  double budget_s = 0.5;  // rounds go on until they took so long
  double slow_ms = 2000;  // whose warm-up took longer is sampled slow_samples times only
  int slow_samples = 2;
};

struct Samples {
  Status status;           // what ended the runs of this contender
  std::vector<double> ms;  // empty unless status.ok()
};

/// One warm-up round, then rounds that run every contender once on the round's own seed; the first of a round changes
/// from round to round. Each contender's last run is judged: one whose run or judgement fails has no times.
///
/// Shapes    result: one for each contender, in their order.
/// Requires  1 <= slow_samples <= min_samples <= max_samples.
std::vector<Samples> sample_alternating(std::span<Contender* const> contenders, const AlternatingOptions& options = {});

}  // namespace lulab::bench
