#pragma once
// The dense rungs against each other and against cuSOLVER, on matrices that never leave the device; batches likewise.

#include <memory>
#include <string>
#include <vector>

#include "bench/cost_estimate.h"
#include "bench/harness.h"
#include "core/rung.h"
#include "model/dense_limits.h"

namespace lulab::bench {

/// One shape and precision with all that factor it.
struct DenseSet {
  DenseShape shape;
  Scalar scalar = Scalar::f64;
  std::vector<std::string> rungs;  // ids, the library's routine first

  bool batched() const { return shape.batch > 1; }
};

/// "n=4096", "batch=10000,n=64": the matrix of benchmark names.
std::string to_string(const DenseShape& shape);

struct DenseLadderOptions {
  std::vector<std::int32_t> sizes;  // empty: 1024, 2048, ..., 32768, and batches of 10000 systems of 16, 32, 64, 128
  std::vector<std::string> rungs;   // full ids; empty: all. The library's routine is measured whenever another one is.
  std::vector<std::string> precisions;  // empty: both
};

/// Matrices first, by size, f64 before f32, then batches. A rung whose max_n() is below n is not among them.
///
/// Errors    invalid_argument: a size outside 1..2^17.
Result<std::vector<DenseSet>> dense_sets(const DenseLadderOptions& options);

/// One factorization by a dense rung that would take longer is not started.
inline constexpr double max_dense_ms = 5000;

/// All rungs of the set, a case each. The matrix on the device is made when the first of them is prepared.
///
/// Requires  constants and history outlive the comparison.
/// Ensures   measuring it adds to `history` the sizes that were measured or tried.
Comparison dense_comparison(const DenseSet& set, const DeviceConstants& constants, CostHistory& history,
                            const Sampling& sampling = {}, double limit_ms = max_dense_ms);

/// What one run of a dense GPU rung would take, by trials on matrices made on the device. Unit ms; 0: unknown, because
/// the rung is no such rung or n is small.
///
/// Errors    those of the rung on a trial's size.
Result<double> estimate_dense_ms(const Rung& rung, Scalar scalar, std::int32_t n, double limit_ms,
                                 CostHistory& history);

}  // namespace lulab::bench
