#pragma once
// Lower bounds of the time of dense LU that distributes each column over several blocks.

#include <cstdint>

#include "core/scalar.h"
#include "model/limits.h"

namespace lulab {

/// One n x n matrix, or a batch of independent ones.
struct DenseShape {
  std::int32_t n = 0;
  std::int32_t batch = 1;
};

/// batch · 2/3 n^3, the usual count of dense benchmarks.
double dense_flops(const DenseShape& shape);

struct DenseBound {
  double ms = 0;
  Bound by = Bound::flops;
};

/// The largest of three bounds:
/// flops     flops / multiply-add rate; in f64 twice that rate, because tensor cores (capability 8.0, 9.0) double it.
/// bytes     every matrix is read once and written once, at the copy bandwidth.
/// chain     of one matrix: a pivot is known only when the column before is eliminated, and a column distributed over
///           blocks needs a flag from block to block: n hops. Without pivoting one block eliminates a diagonal tile
///           of 128 columns (128 KB in f64): n / 128 hops. A batch has no chain: a system fits one block. A kernel
///           that keeps a whole panel in one block or cluster can beat this bound.
///
/// Requires  pivots: whether the rung pivots.
DenseBound dense_bound(const DenseShape& shape, Scalar scalar, bool pivots, const DeviceConstants& constants);

}  // namespace lulab
