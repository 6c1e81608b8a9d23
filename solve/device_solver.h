#pragma once
// A x = b and Aᵀ x = b on the device, from L and U that lie there.

#include <cstdint>
#include <memory>

#include "core/backend.h"
#include "core/plan.h"
#include "core/simt/device.h"
#include "solve/rungs.h"

namespace lulab {

struct DeviceSolverOptions {
  SolveMethod method = SolveMethod::sync_free;
  std::int32_t max_columns = 1;  // most right-hand sides of one call
  bool transposed = true;        // solve_transposed() will be called, too
  int warps_per_sm = 0;  // at most so many resident where rows wait without barriers, at least a block's; 0: 32,
                         // of narrow_middle one block's
  std::int32_t chunk_task_entries = 0;            // most entries of a task of a solve by chunks; 0: chosen
  const Fronts* fronts = nullptr;                 // of the pattern; null: they are found
  const RelaxedSupernodes* supernodes = nullptr;  // likewise, for fronts that are found
};

/// Of the entries of L below its diagonal, of U and of its diagonal. A largest one is NaN where an entry is.
struct FactorMagnitudes {
  double max_l = 0, max_u = 0;
  double max_pivot = 0, min_pivot = 0;
};

/// A solve that corrects a solution.
template <class S>
struct SolveAsCorrection {
  const std::int32_t* d_wanted = nullptr;  // where it is 0 nothing is done, and d_x stays as it was; null: it is done
  const S* d_onto = nullptr;               // (n, columns) d_x becomes the sum of it and the solution; null: of nothing
  unsigned long long* d_x_max = nullptr;   // of one right-hand side: raised to the bits of max |x|; null: not wanted
};

/// The parallel form of solve/triangular.h for factors in device memory. create() once a pattern, update() once a
/// factorization, then any number of solves; everything but create() and wait() is only enqueued and can be captured in
/// a graph. Sums are taken in an order that depends on the pattern alone (and on whether there is one right-hand side
/// or more): equal inputs give equal bits, and all methods that wait for rows give the same. By chunks a right-hand
/// side has the bits that it has alone, but where a solve starts from L⁻¹ b; the order depends on the device's
/// multiprocessors too, and on whether the values, others on the device or, of several right-hand sides, its shared
/// memory make it solve rows.
///
/// One stream at a time: an object has one workspace.
template <class T>
class DeviceSolver {
 public:
  /// Finds the levels of L, U and their transposes and uploads them.
  ///
  /// Requires  a valid FilledPattern; plan of length n. Neither is needed afterwards.
  /// Errors    invalid_argument (max_columns < 1, a plan of another size), out_of_memory, device_error.
  /// Cost      O(n + nnz) on the host.
  /// Source    Anderson & Saad 1989 (levels); Liu et al. 2016 (sync-free).
  static Result<DeviceSolver> create(const FilledPattern& filled, const Plan& plan, const DeviceSolverOptions& options,
                                     simt::Stream& stream);
  ~DeviceSolver();
  DeviceSolver(DeviceSolver&&) noexcept;
  DeviceSolver& operator=(DeviceSolver&&) noexcept;

  /// Other scalings in the plan; the rest of it is that of create(). Waits for the stream.   Errors device_error,
  /// out_of_memory.
  Status take_scales(const Plan& plan, simt::Stream& stream);

  /// Whether solves, but transposed ones, go along fronts: where it was made for them, and until use_chunks().
  bool has_fronts() const;
  /// From the next update() on solves go by chunks, as if `method` had been that; for a solver that was made by another
  /// method because its first solution must not wait.
  /// Requires  the pattern that the solver was made for.   Errors, cost as create().
  Status use_chunks(const FilledPattern& filled, simt::Stream& stream);

  /// Takes L and U: lays them out for its solves, checks the pivots and finds the largest entries.
  ///
  /// Shapes    d_values: (nnz(L+U)) on the filled pattern, rows sorted in each column (DeviceFactorsView::values).
  /// Requires  d_values stays as it is until the last solve with it, which may read it.
  /// Errors    device_error; those of the pivots are wait()'s.
  /// Cost      about 40 bytes of memory traffic an entry; by chunks also an inverse of each chunk's triangles.
  Status update(const T* d_values, simt::Stream& stream);
  /// The two halves of update(): the first can be done beside the factorization, too.
  Status forget_factors(simt::Stream& stream);
  Status take_factors(const T* d_values, simt::Stream& stream);

  /// A x = b:  x = C Q U⁻¹ L⁻¹ P R b for each right-hand side, brought to size 1 by a power of two first.
  ///
  /// Shapes    d_b, d_x: (n, columns) by columns in device memory; they may be the same. S: T or double.
  /// Errors    invalid_argument (columns outside 1 .. max_columns, no update() yet), device_error; those of the values
  ///           are wait()'s.
  /// Cost      2 nnz(L+U) flops a right-hand side; a hop for each level of L and of U.
  template <class S>
  Status solve(const S* d_b, S* d_x, std::int32_t columns, simt::Stream& stream, const SolveAsCorrection<S>& how = {});
  /// Aᵀ x = b:  x = R Pᵀ L⁻ᵀ U⁻ᵀ Qᵀ C b.   Shapes, errors and cost as solve(); invalid_argument when `transposed` was
  /// not asked for.
  template <class S>
  Status solve_transposed(const S* d_b, S* d_x, std::int32_t columns, simt::Stream& stream,
                          const SolveAsCorrection<S>& how = {});
  /// The two halves of solve(): the first needs no factors, so that another stream can do it while they are computed.
  /// d_x_max: as of SolveAsCorrection (core/magnitude.h)
  template <class S>
  Status take_right_sides(const S* d_b, std::int32_t columns, simt::Stream& stream);
  template <class S>
  Status solve_taken(S* d_x, std::int32_t columns, simt::Stream& stream, unsigned long long* d_x_max = nullptr);

  /// For factors that come with L⁻¹ of a right-hand side (RightSide): solves of one go by chunks, and can start there.
  bool starts_from_y() const;
  /// What take_right_sides() has taken.
  RightSide right_side() const;
  /// take_factors() as far as solve_from() wants them; a solve that wants more takes the rest first.
  Status take_upper_factors(const T* d_values, simt::Stream& stream);
  /// The sizes that take_factors() finds, and take_upper_factors() does not.   Requires forget_factors() before it.
  Status find_lower_sizes(const T* d_values, simt::Stream& stream);
  /// Says that a graph, launched again, has done this, or take_factors().
  void note_factors(const T* d_values, bool all);
  /// solve_taken() of one right-hand side.   d_y: (n) L⁻¹ of what was taken, brought to size 1 as it is there
  Status solve_from(const T* d_y, double* d_x, simt::Stream& stream, unsigned long long* d_x_max = nullptr);

  /// Waits for the stream and returns the errors of the last update() and the last solve.
  ///
  /// Errors    numerically_singular: a pivot that is zero or not finite, or else a solution that is not finite
  ///           (where.columns in A's numbering; of a transposed solve where.rows); invalid_argument: b is not finite;
  ///           device_error, deadlock.
  Status wait(simt::Stream& stream);
  /// Enqueues the copy of what the last update() found to the host. The two calls below need it; where it was not made,
  /// they make it.
  Status download_findings(simt::Stream& stream);
  /// wait(), as far as the pivots go.
  Status wait_for_pivots(simt::Stream& stream);
  /// Waits for the stream. The sizes of the entries that the last update() took; no error where they are not finite.
  /// Errors    device_error, deadlock.
  Result<FactorMagnitudes> magnitudes(simt::Stream& stream);

  std::int32_t n() const;
  std::int32_t max_columns() const;
  /// Levels of L and of U, of fronts their parts on the longest path: a solve takes at least so many hops.
  std::int64_t levels() const;
  /// Levels of Uᵀ and of Lᵀ; 0 without `transposed`.
  std::int64_t levels_transposed() const;
  /// Of a solve by chunks; 0: it goes by rows or fronts.
  std::int32_t chunk_tasks() const;
  /// Device memory held.
  std::int64_t bytes() const;

 private:
  struct Impl;
  explicit DeviceSolver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
