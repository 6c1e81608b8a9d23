#pragma once
// What a Solver has on the device beside a rung whose factors lie there: it looks at them and solves with them there.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/rung.h"
#include "solve/device_probe.h"
#include "solve/device_refine.h"
#include "solve/device_solver.h"

namespace lulab {

/// create() once an analysis, update() once a factorization, then look() and solve().
///
/// Errors of all calls: out_of_memory, device_error, deadlock, and those that are named.
template <class T>
class DeviceSide {
 public:
  /// probe: (n) the solution of the probe's system.   Requires  analysis and stream as long as the object lives.
  static Result<std::unique_ptr<DeviceSide>> create(const Analysis& analysis, std::span<const double> probe,
                                                    simt::Stream& stream);

  /// Enqueues a copy of A's values for T = float, whose rung has them only in float; otherwise does nothing.
  /// Shapes    a_values: (nnz(A)) in its own order. They may go on return.
  Status upload(std::span<const double> a_values);
  /// Enqueues what the rung has computed.
  Status update(const DeviceArrays<T>& arrays);

  struct Look {
    FactorMagnitudes factors;
    ProbeResult probe;
  };
  /// Sizes of what update() took and, with `probe`, an unrefined solve with a known solution.
  Result<Look> look(bool probe);
  /// The same solve, refined.   Requires  look(true).
  Result<Refinement> refine_probe();

  /// A x = b, or Aᵀ x = b, with refinement.   Shapes b, x: (n, columns) by columns on the host.
  /// Errors    numerically_singular (a pivot).
  Result<std::vector<Refinement>> solve(std::span<const double> b, std::span<double> x, std::int32_t columns,
                                        bool transposed);

  /// A's values to the host.   Shapes a_values: (nnz(A)).
  Status download_a(std::span<double> a_values);

 private:
  DeviceSide(const Analysis& analysis, simt::Stream& stream) : analysis_(analysis), stream_(stream) {}

  Status create_for(std::int32_t width, bool transposed);
  Status refresh();
  const double* d_a() const;

  const Analysis& analysis_;
  simt::Stream& stream_;
  DeviceArrays<T> arrays_;
  std::int32_t width_ = 0;  // right-hand sides at once
  bool widest_ = false;     // there is no memory for more
  std::optional<DeviceSolver<T>> solver_;
  std::optional<DeviceRefiner> refiner_, transposed_;  // transposed_ once it was asked for
  std::optional<DeviceProbe> probe_;
  simt::DeviceBuffer<double> d_b_, d_x_;   // (n, width)
  simt::DeviceBuffer<double> d_a_double_;  // (nnz(A)) T = float
};

}  // namespace lulab
