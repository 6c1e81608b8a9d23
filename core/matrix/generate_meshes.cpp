#include "core/matrix/generate_families.h"

namespace lulab::families {

namespace {

/// An m^dimensions grid with random conductances along its edges and to the boundary, and a small one to ground at
/// every node. `flow` adds upwind convection of mean strength `flow` in a random direction; without it the two entries
/// of an edge differ by up to 10 %. Every row is diagonally dominant.
CscMatrix<double> grid(const GenerateOptions& options, int dimensions, double flow) {
  const std::int64_t m = largest(options.n, [&](std::int64_t k) {
    return k > 50000 ? std::int64_t(1) << 40 : (dimensions == 2 ? k * k : k * k * k);
  });
  const std::int64_t stride[3] = {1, m, m * m};
  Random random(options.seed);
  double wind[3];
  for (double& w : wind) w = flow * random.uniform(-1.0, 1.0);

  const std::int64_t n = dimensions == 2 ? m * m : m * m * m;
  Builder builder(n);
  for (std::int64_t here = 0; here < n; ++here) {
    double ground = random.uniform(0.001, 0.01);
    for (int d = 0; d < dimensions; ++d) {
      const std::int64_t position = here / stride[d] % m;
      if (position == 0) ground += random.uniform(0.5, 1.5);
      if (position + 1 == m) {
        ground += random.uniform(0.5, 1.5);
        continue;
      }
      const std::int64_t there = here + stride[d];
      const double g = random.uniform(0.5, 1.5);
      double in_here = flow > 0 ? 0.0 : -0.1 * g * random.uniform();
      double in_there = flow > 0 ? 0.0 : -0.1 * g * random.uniform();
      const double carried = wind[d] * random.uniform(0.5, 1.5);
      (carried > 0 ? in_there : in_here) += std::abs(carried);
      builder.add(here, here, g + std::max(0.0, in_here));
      builder.add(there, there, g + std::max(0.0, in_there));
      builder.add(here, there, -g - in_here);
      builder.add(there, here, -g - in_there);
    }
    builder.add(here, here, ground);
  }
  return builder.matrix();
}

}  // namespace

CscMatrix<double> grid2d(const GenerateOptions& options) { return grid(options, 2, 0.0); }
CscMatrix<double> grid3d(const GenerateOptions& options) { return grid(options, 3, 0.0); }
CscMatrix<double> convection2d(const GenerateOptions& options) { return grid(options, 2, 10.0); }
CscMatrix<double> convection3d(const GenerateOptions& options) { return grid(options, 3, 10.0); }

}  // namespace lulab::families
