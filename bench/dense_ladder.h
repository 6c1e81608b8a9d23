#pragma once
// The dense rungs against each other and against cuSOLVER, on matrices that never leave the device; batches likewise.

#include <string>
#include <vector>

#include "bench/alternating.h"
#include "bench/cost_estimate.h"
#include "bench/dense_limits.h"
#include "bench/report.h"

namespace lulab::bench {

/// One shape and precision with all that factor it, who are measured in turn.
struct DenseCase {
  DenseShape shape;
  Scalar scalar = Scalar::f64;
  std::vector<std::string> rungs;  // ids, the library's routine first

  bool batched() const { return shape.batch > 1; }
};

/// "n=4096", "batch=10000,n=64": the matrix of benchmark names.
std::string to_string(const DenseShape& shape);
Name name_of(const DenseCase& c, const std::string& rung);

struct DenseLadderOptions {
  std::vector<std::int32_t> sizes;  // empty: 1024, 2048, ..., 32768, and batches of 10000 systems of 16, 32, 64, 128
  std::vector<std::string> rungs;   // full ids; empty: all. The library's routine is measured whenever another one is.
  std::vector<std::string> precisions;  // empty: both
};

/// Matrices first, by size, f64 before f32, then batches. A rung whose max_n() is below n is not among its contenders.
///
/// Errors    invalid_argument: a size outside 1..2^17.
Result<std::vector<DenseCase>> dense_cases(const DenseLadderOptions& options);

/// One factorization by a dense rung that would take longer is not started.
inline constexpr double max_dense_ms = 5000;

struct DenseMeasuring {
  double limit_ms = max_dense_ms;  // a rung whose estimate for one run exceeds this is skipped
  AlternatingOptions sampling;
};

/// Measures the contenders of one case alternating and judges each one's last timed result.
///
/// Shapes    result: one row for each of c.rungs, in order; row.error says why there is no time.
/// Ensures   `history` knows the sizes that were measured or tried.
std::vector<Row> measure(const DenseCase& c, const DeviceConstants& constants, CostHistory& history,
                         const DenseMeasuring& how = {});

/// The rows of a case that is not measured, for this reason.
std::vector<Row> rows_without_times(const DenseCase& c, const std::string& why);

/// What one run of a dense GPU rung would take, by trials on matrices made on the device. Unit ms; 0: unknown, because
/// the rung is no such rung or n is small.
///
/// Errors    those of the rung on a trial's size.
Result<double> estimate_dense_ms(const Rung& rung, Scalar scalar, std::int32_t n, double limit_ms,
                                 CostHistory& history);

}  // namespace lulab::bench
