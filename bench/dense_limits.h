#pragma once
// What an LU of full matrices that spreads a column over blocks cannot beat.

#include <cstdint>

#include "bench/limits.h"
#include "bench/name.h"

namespace lulab::bench {

/// One n x n matrix, or a batch of independent ones.
struct DenseShape {
  std::int32_t n = 0;
  std::int32_t batch = 1;
};

/// batch · 2/3 n^3, as the dense benchmarks of the field count.
double dense_flops(const DenseShape& shape);

struct DenseBound {
  double ms = 0;
  Bound by = Bound::flops;
};

/// The largest of three bounds:
/// flops     over the multiply-add rate, in f64 twice that: tensor cores of compute capability 8.0 and 9.0 double it.
/// bytes     every matrix read once and written once, over the copy bandwidth.
/// chain     of one matrix: the pivot of a column is known only when the column before is eliminated, and a column that
///           lies with several blocks takes a flag from one to another: n hops. Without pivoting a block eliminates a
///           diagonal tile of 128 columns by itself (128 KB in f64): n / 128 hops. A batch has none: a system fits one
///           block. Who keeps a whole panel in one block or cluster may beat the chain; it is the bound of panels that
///           are spread over the device.
///
/// Requires  pivots: whether the rung pivots.
DenseBound dense_bound(const DenseShape& shape, Scalar scalar, bool pivots, const DeviceConstants& constants);

}  // namespace lulab::bench
