#include "model/dense_limits.h"

#include <algorithm>

namespace lulab {

namespace {
constexpr double tile = 128;  // columns that one block eliminates without other blocks
}

double dense_flops(const DenseShape& shape) {
  const double n = shape.n;
  return shape.batch * (2.0 / 3.0 * n * n * n);
}

DenseBound dense_bound(const DenseShape& shape, Scalar scalar, bool pivots, const DeviceConstants& constants) {
  const double n = shape.n;
  const double scalar_bytes = scalar == Scalar::f64 ? 8 : 4;
  const double flops_per_s = scalar == Scalar::f64 ? 2 * constants.flops_f64_per_s : constants.flops_f32_per_s;
  const double hops = shape.batch > 1 ? 0 : pivots ? n : n / tile;
  const DenseBound bounds[] = {
      {dense_flops(shape) / flops_per_s * 1e3, Bound::flops},
      {2 * scalar_bytes * n * n * shape.batch / constants.bandwidth_bytes_per_s * 1e3, Bound::bytes},
      {hops * constants.flag_hop_us * 1e-3, Bound::chain},
  };
  return *std::max_element(std::begin(bounds), std::end(bounds),
                           [](const DenseBound& a, const DenseBound& b) { return a.ms < b.ms; });
}

}  // namespace lulab
