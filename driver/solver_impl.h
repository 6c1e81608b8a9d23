#pragma once
// The state of a Solver, and its phases: each is a file solver_*.cpp, which instantiates Impl for the part it defines,
// as GCC and Clang accept.

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/factorizer.h"
#include "core/factors.h"
#include "core/scalar.h"
#include "driver/chosen_rung.h"
#include "driver/flat_stand_in.h"
#include "driver/host_factors.h"
#include "driver/host_solve.h"
#include "driver/pivot_check.h"
#include "driver/resident_solve.h"
#include "driver/solver.h"

namespace lulab {

template <class T>
struct Solver<T>::Impl {
  Impl(std::optional<RungChooser> chooser, RungChoice choice, SolverOptions the_options)
      : options(std::move(the_options)), chosen(chooser, std::move(choice), options) {}
  Impl(const Impl&) = delete;  // parts refer to others

  const SolverOptions options;
  ChosenRung chosen;

  // What analyze() takes.
  std::vector<double> a_values;        // of the matrix analyzed, as last factored if has_values
  bool has_values = false;             // false: the values are on the device alone
  std::unique_ptr<Analysis> analysis;  // its address stays: the factorizer refers to it
  std::unique_ptr<Factorizer<T>> factorizer;
  std::unique_ptr<ResidentSolve<T>> resident;  // refers to both; null: the host checks pivots and solves
  bool device_path_unavailable = false;        // the device has no memory for it

  // What numeric phases leave.
  bool factored = false;      // the last one succeeded
  bool was_tried = false;     // factor() was called
  bool was_factored = false;  // and succeeded
  HostFactors<T> on_host;
  HostSolve<T> host_solve{options};
  FlatStandIn flat;
  enum class Probe {
    done,      // or not asked for
    replaced,  // put off, and a solve has converged since
    due,       // put off
  } put_off = Probe::done;
  bool pivots_were_given = false;         // to the last factorization
  bool new_pivots_are_no_better = false;  // an x by float factors did not converge by them either
  Statistics statistics;
  Status state = Status::error(StatusCode::invalid_argument, "solver: call analyze() first");
  Status cause;  // of the last re-pivoting
  StepTimes times;
  bool in_flight = false;  // a step_device() of which nothing is known yet
  Result<Refinement> last_step = Status::error(StatusCode::invalid_argument, "solver: call step_device() first");

  const Factors<T> no_factors;
  const Analysis no_analysis;

  CscView<double> a() const { return {analysis->a, a_values}; }
  const RungFacts& facts() const { return chosen.facts(); }
  PivotCheck<T> check() const { return {facts().id, options.max_growth}; }
  RefinementGoal goal() const { return refinement_goal<T>(options); }
  FactorsView<T> where_they_lie() const { return on_host.view(*analysis); }

  // solver_analyze.cpp: from A to a rung that is ready to factor it.
  Status analyze(const CscView<double>& from);
  Status take_analysis(const CscView<double>& from, CostedAnalysis of_a);
  /// The analysis is that of these values, too, and with it the factorizer, unless it may be of no use.
  Status keep_analysis(const CscView<double>& from, bool new_scales);
  Status take_scales();
  Status forget(Status s);
  /// What there is of numeric phases goes; the analysis stays.
  Status start_over(Status s);
  void drop_factorizer();
  /// The chosen rung for the analysis; the CPU's where the GPU has no room.
  Status make_factorizer();
  /// After an error there is none: the next numeric phase tries again.
  Status make_factorizer_or_none();
  Status prepare_rung();
  Status take_other_analysis(Analysis other);
  void take_analysis_alone(Analysis other, const KnownCosts& of_other);
  /// For all expected steps. Where there is no memory for another order, the one there is stays; where these values
  /// allow none, a later step prepares.
  Status prepare(std::span<const double> values);
  Status check_pattern(const CscView<double>& from) const;
  Status check_size(std::span<const double> values) const;

  // solver_factor.cpp: factorizations and refactorizations, by the rung or by flat lists.
  /// When the probe of given pivots is solved.
  enum class ProbeTime { now, later };
  /// wrong: what is wrong with the matrix given.
  Status factor(Status wrong, std::span<const double> values);
  Status refactor(Status wrong, std::span<const double> values);
  Status numeric_or_no_memory(std::span<const double> values, bool again);
  Status numeric(std::span<const double> values, bool again);
  /// Factors, and checks the pivots where they were given beforehand.
  Status attempt(std::span<const double> values, bool again, bool given_pivots, ProbeTime probe_time);
  Status run(std::span<const double> values, bool again);
  /// Makes `resident` where the rung leaves its factors on the device and its pivots are fixed.
  Status prepare_device_path();
  /// Do flat lists stand in for refactorizations of the rung and the solves after them? A rung that is given threads
  /// uses them.
  bool refactors_flat();
  /// Are its factors usable? Otherwise the rung says what is wrong.
  bool refactor_flat(std::span<const double> values);
  /// The last values factored by the rung, too.
  Status catch_up();
  /// An error of a numeric phase is also the error of later calls of solve().
  Status settle(Status s);
  void drop_factors();
  /// Allocates nothing: there may be no memory for the message of an error either.
  void lose_factors();
  void take_values(std::span<const double> values);

  // solver_pivots.cpp: are the pivots good? Otherwise others.
  Status check_on_host(ProbeTime probe_time);
  /// The growth, where no entry of L and U is so large, is not looked at more closely.
  Status check_growth();
  /// May the first solve show what the probe would?
  bool may_put_off(ProbeTime probe_time) const;
  Status solve_probe();
  /// The probe that a factorization put off; new pivots for the same values where it fails.
  Status make_up_for_probe();
  /// What there is to know of the factors is known once their pivots have been judged.
  Status judged();
  Status judged_or_out_of_memory();
  Status check_on_device(std::span<const double> values, ProbeTime probe_time);
  /// The sizes of what was factored on the device.
  Status judge(const typename ResidentSolve<T>::Measured& measured);
  Status judge_device_probe(const ProbeResult& probed);
  /// The downloaded factors say which value it is.
  Status name_not_finite(Status known) const;
  Status repivot(std::span<const double> values, Status unstable_pivots);
  /// Pivots chosen by value, and the rung prepared for them.
  Status take_pivots(double pivot_tol, bool by_row = false);
  /// why: what is wrong with them.
  Status replace_pivots(Status why);
  /// The old ones again where a float finds no others that are stable.
  Status replace_pivots_of_float(Status why);

  // solver_queries.cpp: what a caller may ask of the last factorization.
  const Statistics& known();
  /// The factors on the host, with the statistics of the Solver.
  Result<const Factors<T>*> download_factors();
  /// Makes the copy of `on_host` that of the last numeric phase.
  Status copy_factors();
  /// Growth and rcond of factors on the host, which only callers of statistics() want.
  Status measure();
  Status pivots(std::span<double> of_columns);
  Result<double> largest_multiplier();
  Result<ConditionEstimate> condition();
  /// The values of A on the host.
  Status download_values();
  /// Has the rung chosen them? Then plan() and filled() are its own.
  bool has_found_pivots() const;
  const Plan& plan() const;
  const FilledPattern& filled() const;

  // solver_solve.cpp: x from b, and what x says of the pivots.
  Result<Refinement> solve_one(std::span<const double> b, std::span<double> x, bool transposed);
  Result<std::vector<Refinement>> solve(std::span<const double> b, std::span<double> x, std::int32_t columns,
                                        bool transposed);
  /// Shapes b, x: (n, columns), all: (columns).
  Status solve_and_judge(std::span<const double> b, std::span<double> x, std::span<Refinement> all, bool transposed);
  /// Solutions that converge judge the pivots of a factorization, too; others ask for the probe that was put off, and
  /// are solved again where it brings new pivots.
  Status judge_solutions(std::span<const double> b, std::span<double> x, std::span<Refinement> all, bool transposed);
  /// Float factors that pass the probe may be too far off. Not where b or x is not finite.
  bool may_blame_pivots(std::span<const Refinement> all) const;
  Status solve_anywhere(std::span<const double> b, std::span<double> x, std::span<Refinement> all, bool transposed);
  /// Is no entry of L larger than SolutionTrust::max_multiplier? False where the factors cannot be read.
  bool has_small_multipliers();
  Status check_right_sides(std::span<const double> b, std::span<double> x, std::int32_t columns) const;
  Status check_sizes(std::span<const double> b, std::span<double> x, std::int32_t columns) const;

  // solver_step.cpp: refactorization and solve in one call.
  Result<Refinement> step(std::span<const double> values, std::span<const double> b, std::span<double> x);
  Status solve_in_step(std::span<const double> b, std::span<double> x, std::span<Refinement> all);
  /// Else a step is a refactorization and a solve.
  bool steps_with_one_wait() const;
  /// Both with one wait for the device.
  Status step_with_one_wait(std::span<const double> values, std::span<const double> b, std::span<double> x,
                            Refinement& refinement);
  void start_step();
  /// Waits for a step.
  Status judge_step(const Status& enqueued);
  /// After a failed allocation anywhere in a step.
  Status lost_step(const char* why);

  // solver_step_device.cpp: the same in device memory.
  Status step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream);
  Status enqueue_step_on_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream);
  /// Chooses the rung anew, and factors these values with it if it is another one. What is wrong with them, the step
  /// that follows says.
  Status choose_for_steps_on_device(const double* d_values, simt::Stream& stream);
  /// For rungs that take no values from device memory, and where pivots are perturbed.
  Status step_through_host(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream);
  /// Leaves no factors.   Requires that no step is in flight.   Returns why.
  Status lost_values(Status why);
  /// What became of the last step_device().
  const Result<Refinement>& wait_for_step();
};

}  // namespace lulab
