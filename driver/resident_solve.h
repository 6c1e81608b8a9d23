#pragma once
// GPU-resident solve path of Solver: triangular solves, refinement and the numbers of the pivot check, with L and U
// where the rung left them in device memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/factorizer.h"
#include "solve/device_probe.h"
#include "solve/device_refine.h"
#include "solve/device_solver.h"

namespace lulab {

/// create() once an analysis, update() once a factorization, then measure() and solve().
///
/// Errors of all calls: out_of_memory, device_error, deadlock, and those that the call names.
template <class T>
class ResidentSolve {
 public:
  /// probe: (n) the solution of the probe's system
  /// method: of all solves; none: large factors go along fronts, others by rows, and by chunks once steps are prepared
  /// expected_steps: as of SolverOptions; 1: a first answer
  /// puts_off_chunks: until fronts have cost as much more than chunks as preparing these takes. Meanwhile, and for a
  ///                  first answer, solves go along the fronts of the analysis where it has them
  /// Requires  analysis, and the factorizer's stream, as long as the object lives; DeviceArrays::lu of the factorizer.
  static Result<std::unique_ptr<ResidentSolve>> create(const Analysis& analysis, Factorizer<T>& factorizer,
                                                       std::span<const double> probe, std::optional<SolveMethod> method,
                                                       double expected_steps, bool puts_off_chunks);

  /// Other scalings in the analysis of create(). What is prepared for solves and steps is kept, but no recorded step.
  Status take_scales();

  /// Enqueues a copy of A's values where the rung has none in double; otherwise does nothing.
  /// Shapes    a_values: (nnz(A)) in its own order. Not needed after the call.
  Status upload(std::span<const double> a_values);
  /// Enqueues taking the factors that the rung has computed.
  Status update(const DeviceArrays<T>& arrays);

  struct Measured {
    FactorMagnitudes factors;
    ProbeResult probe;
  };
  /// Sizes of what update() took and, with `probe`, an unrefined solve with a known solution.
  Result<Measured> measure(bool probe);

  /// Are steps prepared? From the second factorization on, if something was solved before.
  bool steps() const { return steps_; }
  /// Is it worth preparing them, or chunks, by now?
  bool is_due() const { return solves_ > 0 && !steps_are_ready(); }
  Status prepare_if_due() { return is_due() ? start_steps() : Status{}; }
  /// From so many entries of L and U on the factorization carries b along in steps in device memory: half of a solve is
  /// spared, but b comes first (H200, 13659pegase .162 -> .152 ms, hykkt .440 -> .414, mna5_A .0756 -> .0765; rajat19
  /// .074 -> .089). With b on the host, which would come before A then, most steps take longer.
  static constexpr std::int64_t least_entries_to_carry_b = 200'000;
  /// All at once, with what steps from device memory want of the factorizer.
  /// Requires  the last factorization is over.   Errors  the factorizer may be of no use any more.
  Status prepare_steps_on_device(Factorizer<T>& factorizer, std::int64_t least_entries = least_entries_to_carry_b);
  /// May their values come from device memory?
  bool steps_from_device() const { return takes_from_device_; }
  /// Enqueues a whole step: A's values and b to the device, refactorization, x, its errors, and the way back; what
  /// needs no factors on a stream of its own. Then Factorizer::wait(), measured(), finish_step(). For page-locked
  /// arrays that come a second time it is recorded as a graph, which later calls launch.
  ///
  /// Shapes    a_values: (nnz(A)), b, x: (n) on the host, as they are until the stream was waited for.
  /// Requires  steps(); the factorizer's stream and arrays are those of the last update().
  Status enqueue_step(Factorizer<T>& factorizer, std::span<const double> a_values, std::span<const double> b,
                      std::span<double> x, RefinementGoal goal);
  /// The same with all three in device memory and in the order of the caller's stream; up to max_corrections are made
  /// there where x wants them, and an x that is not good then is NaN; without any it stays as it is. Recorded likewise,
  /// unless the caller records a graph. Then
  /// Factorizer::wait(), measured(), finish_step_on_device().
  /// Shapes    d_a_values: (nnz(A)), d_b, d_x: (n), not overlapping.
  /// Requires  steps(), steps_from_device(); otherwise as enqueue_step().
  Status enqueue_step_on_device(Factorizer<T>& factorizer, const double* d_a_values, const double* d_b, double* d_x,
                                RefinementGoal goal, simt::Stream& stream);
  /// After an error of the two above: no copy touches the caller's memory any more, nothing recorded is used again, and
  /// the next call takes the factors anew.
  void recover();
  /// What measure() returns, without a probe, after the stream was waited for.
  Result<Measured> measured();
  /// Refines further where that is still wanted.   Errors as solve().
  Result<Refinement> finish_step(std::span<double> x);
  Result<Refinement> finish_step_on_device();
  /// The same solve, refined.   Requires  measure(true).
  Result<Refinement> refine_probe();

  /// A x = b, or Aᵀ x = b, refined until omega <= goal.enough (RefinementRule).
  /// Shapes    b, x: (n, columns) by columns on the host.
  /// Errors    numerically_singular (a pivot).
  Result<std::vector<Refinement>> solve(std::span<const double> b, std::span<double> x, std::int32_t columns,
                                        bool transposed, RefinementGoal goal);

  /// A's values to the host.   Shapes a_values: (nnz(A)).
  Status download_a(std::span<double> a_values);

 private:
  ResidentSolve(const Analysis& analysis, bool keeps_a, bool takes_from_device, std::optional<SolveMethod> method,
                double expected_steps, bool puts_off_chunks, simt::Stream& stream)
      : analysis_(analysis),
        keeps_a_(keeps_a),
        takes_from_device_(takes_from_device),
        method_(method),
        expected_steps_(expected_steps),
        puts_off_chunks_(puts_off_chunks),
        stream_(stream) {}

  Status create_for(std::int32_t width, bool transposed);
  /// Do steps from device memory?
  bool carries_b() const { return arrays_.y != nullptr && solver_->starts_from_y(); }
  bool steps_are_ready() const { return steps_ && (by_chunks_ || !prefers_chunks()); }
  bool goes_along_known_fronts() const;
  /// For steps.
  bool prefers_chunks() const;
  Status start_steps();
  Status refresh();
  /// work() with the last factorization, in memory that no error left anything in.   Returns what work() returns.
  template <class Work>
  auto when_fresh(const Work& work) -> decltype(work());
  /// Nothing is fresh from here on. Where nothing was: forgets sizes of x that a refinement raised before it failed.
  Status begin_anew();
  Status update_transposed();
  Result<std::vector<Refinement>> solve_in_parts(std::span<const double> b, std::span<double> x, std::int32_t columns,
                                                 bool transposed, RefinementGoal goal);
  Status give_values(Factorizer<T>& factorizer, std::span<const double> a_values);
  Status create_sides();
  Status start_refactor(Factorizer<T>& factorizer);
  /// A's values, b and x of a step.
  struct StepArrays {
    bool on_device = false;
    const double *values = nullptr, *b = nullptr;
    double* x = nullptr;

    bool operator==(const StepArrays&) const = default;
  };
  Status solve_after_refactor(Factorizer<T>& factorizer, const StepArrays& on_device);
  Status refactor_with_b(Factorizer<T>& factorizer, const StepArrays& on_device);
  Status keep_a(const double* d_a_values, simt::Stream& stream);
  struct KnownStep {
    StepArrays arrays;
    std::optional<simt::Graph> recorded;  // from the second time on
  };
  static constexpr std::size_t max_known_steps = 4;  // a caller may fill one set of arrays while another is solved
  // Corrections of x that are enqueued beforehand. The first x of float factors is never good, two make most good.
  static constexpr bool is_double = sizeof(T) == sizeof(double);
  static constexpr int corrections = is_double ? 0 : 2;  // then the host decides
  static constexpr int max_corrections = is_double ? 1 : 4;

  Status enqueue_on_host(Factorizer<T>& factorizer, std::span<const double> a_values, std::span<const double> b,
                         std::span<double> x, RefinementGoal goal);
  Status enqueue_on_device(Factorizer<T>& factorizer, const StepArrays& on_device, RefinementGoal goal);
  template <class Enqueue>
  simt::Graph* recorded_step(const StepArrays& arrays, const Enqueue& enqueue);
  void forget_recorded();
  const double* d_a() const;

  const Analysis& analysis_;
  const bool keeps_a_, takes_from_device_;
  const std::optional<SolveMethod> method_;
  const double expected_steps_;
  bool puts_off_chunks_;
  simt::Stream& stream_;
  std::optional<simt::Stream> side_, other_side_;  // what a step does beside the rung
  std::vector<KnownStep> known_steps_;             // the latest last
  bool cannot_record_ = false;                     // launches of the rung
  DeviceArrays<T> arrays_;
  std::int32_t width_ = 0;         // right-hand sides at once
  bool is_widest_ = false;         // the device has no memory for more
  bool steps_ = false;             // solves are those of steps ...
  bool by_chunks_ = false;         // ... by chunks, where the device has memory for them
  bool tried_right_side_ = false;  // of the factorizer
  bool is_fresh_ = false;          // solver_, refiner_ and transposed_ have the last factorization, and nothing failed
  std::int64_t solves_ = 0;
  std::optional<DeviceSolver<T>> solver_;
  std::optional<DeviceRefiner> refiner_, transposed_;  // transposed_: from the first transposed solve on
  std::optional<DeviceProbe> probe_;
  simt::DeviceBuffer<double> d_b_, d_x_;  // (n, width)
  simt::DeviceBuffer<double> d_own_a_;    // (nnz(A)) if keeps_a_
};

}  // namespace lulab
