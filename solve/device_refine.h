#pragma once
// Iterative refinement on the device: solve/refine.h with A, b, x and the factors in device memory.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/matrix/csc.h"
#include "core/simt/device.h"
#include "solve/device_solver.h"
#include "solve/refine.h"

namespace lulab {

/// A by rows on the device, and room for residuals. create() once a pattern, update() for new values of A. One that is
/// created with `transposed` refines solutions of Aᵀ x = b.
///
/// One stream at a time: an object has one workspace.
class DeviceRefiner {
 public:
  /// Requires  a valid pattern, n x n; it is not needed afterwards. max_columns: most right-hand sides of one call.
  /// Errors    invalid_argument (A not square, max_columns outside 1 .. 65535), out_of_memory, device_error.
  /// Cost      O(n + nnz(A)) on the host.
  static Result<DeviceRefiner> create(CscPatternView a, std::int32_t max_columns, simt::Stream& stream,
                                      bool transposed = false);
  ~DeviceRefiner();
  DeviceRefiner(DeviceRefiner&&) noexcept;
  DeviceRefiner& operator=(DeviceRefiner&&) noexcept;

  /// Enqueues the copy of A's values by rows.
  ///
  /// Shapes    d_values: (nnz(A)) in A's own order, in device memory; not needed once the copy is done.
  /// Errors    device_error.
  Status update(const double* d_values, simt::Stream& stream);

  /// Improves each column of x as refine() does, by the same residual in twice double precision, the same backward
  /// errors and the same stopping rule, each column on its own: one that is done does not change any more.
  ///
  /// Shapes    d_b, d_x: (n, columns) by columns in device memory, not overlapping. d_x holds first solutions.
  ///           result: (columns).
  /// Requires  `solver` holds the factors of A or of a nearby matrix; for a refiner of the transpose it was made with
  ///           `transposed`.
  /// Errors    invalid_argument (columns, another n, no update() yet), numerically_singular (DeviceSolver: pivots),
  ///           device_error. A column that is not finite is no error: it does not converge and has omega NaN.
  /// Cost      a solve and O(nnz(A)) a step.
  /// Source    as refine().
  template <class T>
  Result<std::vector<Refinement>> refine(DeviceSolver<T>& solver, const double* d_b, double* d_x, std::int32_t columns,
                                         simt::Stream& stream, RefinementGoal goal = {});

  /// What refine() is made of, for callers that must not wait; arguments as there. begin() and correct() only enqueue
  /// and can be captured in a graph, together with the solve that made the first x.
  ///
  ///   begin()       judges the first x
  ///   correct()     a step of the columns that want one; where none does, it ends at once. is_last: x that has not
  ///                 become good is NaN then
  ///   wants_step(), results()    after the stream was waited for
  ///   finish()      waits, and makes the steps that are still wanted
  /// is_measured: one x, whose solve has raised d_x_max(); saves a launch
  Status begin(const double* d_b, const double* d_x, std::int32_t columns, simt::Stream& stream,
               RefinementGoal goal = {}, bool is_measured = false);
  template <class T>
  Status correct(DeviceSolver<T>& solver, const double* d_b, double* d_x, std::int32_t columns, simt::Stream& stream,
                 bool is_last = false);
  /// In device memory. 0 but between such a solve and begin().
  unsigned long long* d_x_max();
  /// After an error between two calls.
  Status forget(simt::Stream& stream);
  bool wants_step(std::int32_t columns) const;
  std::vector<Refinement> results(std::int32_t columns) const;
  template <class T>
  Result<std::vector<Refinement>> finish(DeviceSolver<T>& solver, const double* d_b, double* d_x, std::int32_t columns,
                                         simt::Stream& stream);

  /// b - A x in twice double precision, rounded once, and what refine() judges x by.
  ///
  /// Shapes    d_b, d_x, d_r: (n, columns) by columns in device memory, d_r apart from the others. result: (columns).
  /// Errors    invalid_argument (columns, no update() yet), device_error.
  Result<std::vector<BackwardErrors>> residual(const double* d_x, const double* d_b, double* d_r, std::int32_t columns,
                                               simt::Stream& stream);
  /// Only enqueues b - A x.   Shapes and errors as residual(); d_b null: -A x.
  Status enqueue_residual(const double* d_x, const double* d_b, double* d_r, std::int32_t columns,
                          simt::Stream& stream);

  /// Device memory held.
  std::int64_t bytes() const;

 private:
  struct Impl;
  explicit DeviceRefiner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
