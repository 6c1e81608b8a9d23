#include "driver/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/factors.h"
#include "core/timing.h"
#include "driver/analysis_sequence.h"
#include "driver/block_condition.h"
#include "driver/flat_lu.h"
#include "driver/no_x.h"
#include "driver/pivot_check.h"
#include "driver/resident_solve.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/analyze_with_plan.h"

namespace lulab {

Status check_options(const SolverOptions& options) {
  if (!(options.max_growth >= 1))
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("max_growth = {}; it must be at least 1", options.max_growth));
  if (!(options.backward_error >= 0 && options.backward_error <= max_backward_error))
    return Status::error(StatusCode::invalid_argument, fmt::format("backward_error = {}; it must be 0 to {:.3g}",
                                                                   options.backward_error, max_backward_error));
  if (!(options.expected_steps >= 1))
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("expected_steps = {}; it must be at least 1", options.expected_steps));
  return {};
}

namespace {

constexpr double trusted_error = 1e-14;     // of an x after which no other is looked at ...
constexpr double trusted_multiplier = 2e3;  // ... by factors with entries of L up to this: 2 / KLU's tol

/// A few answers are seldom worth starting the GPU.
FillOn fill_on(const std::optional<RungChooser>& chooser, const Rung* rung, double expected_steps) {
  const bool may_use_gpu = chooser ? chooser->may_choose_gpu() : rung->facts.device == Device::gpu;
  if (!may_use_gpu || simt::machine() != simt::Machine::gpu) return FillOn::host;
  constexpr double few_steps = 100;
  return chooser && expected_steps < few_steps && simt::device_start_us() > 0 ? FillOn::large_on_gpu : FillOn::gpu;
}

}  // namespace

template <class T>
struct Solver<T>::Impl {
  Impl(std::optional<RungChooser> the_chooser, RungChoice the_choice, SolverOptions the_options)
      : chooser(the_chooser),
        choice(std::move(the_choice)),
        options(std::move(the_options)),
        sequence(options.preprocess, {options.expected_steps, may_put_off_preparing(), chooser.has_value()},
                 fill_on(chooser, choice.rung, options.expected_steps)) {}

  const std::optional<RungChooser> chooser;  // none: the caller named the rung
  RungChoice choice;                         // no rung: none was chosen yet
  bool fell_back = false;                    // it was not the first choice
  SolverOptions options;
  AnalysisSequence sequence;
  KnownCosts costs;                    // of the analysis
  double put_off_us = 0;               // likewise: as of CostedAnalysis
  double prepare_after = 0;            // steps; 0: the rung is the one for all expected steps
  std::vector<double> a_values;        // of the matrix analyzed, as last factored if has_values
  bool has_values = false;             // false: the values are on the device alone
  std::vector<double> probe;           // probe_solution(), once it is needed
  std::unique_ptr<Analysis> analysis;  // its address stays: the factorizer refers to it
  std::unique_ptr<Factorizer<T>> factorizer;
  std::unique_ptr<ResidentSolve<T>> resident;  // refers to both; null: the host checks pivots and solves
  bool device_path_unavailable = false;        // the device has no memory for it
  bool steps_on_device = false;                // step_device() was called
  bool factored = false;                       // the last numeric phase succeeded
  bool was_tried = false;                      // factor() was called
  bool was_factored = false;                   // the last one succeeded
  std::optional<Factors<T>> factors;           // on the host: of the rung, or a copy for a caller that asked for it
  bool has_factors = false;                    // they are those of the last numeric phase
  HostArrays<T> arrays;                        // of the rung, after the last numeric phase on the host
  std::optional<HostRefiner<T>> refiner, transposed_refiner;  // made when they are first needed
  int steps_to_lists = steps_before_lists;  // counted down by refactorizations of an analysis; 0: tried
  std::optional<FlatLu> flat_lu;            // where it pays
  bool is_flat = false;                     // flat_lu did the last refactorization, and solves
  bool rung_is_behind = false;              // the factorizer has not done it yet
  enum class Probe {
    done,      // or not asked for
    replaced,  // put off, and a solve has converged since
    due,       // put off
  } put_off = Probe::done;
  enum class Trust {  // of Refine::first in the factors
    none,
    after_solution,  // one by them was good at once
    after_zeros,     // likewise, but it has zeros
    refused,
    full,
  } trust = Trust::none;
  bool pivots_were_given = false;         // to the last factorization
  bool new_pivots_are_no_better = false;  // an x by float factors did not converge by them either
  bool measured = false;                  // growth and rcond of factors on the host are in the statistics
  const Factors<T> no_factors;
  const Analysis no_analysis;
  Statistics statistics;
  Status state = Status::error(StatusCode::invalid_argument, "solver: call analyze() first");
  bool in_flight = false;  // a step_device() of which nothing is known yet
  Result<Refinement> last_step = Status::error(StatusCode::invalid_argument, "solver: call step_device() first");
  Status cause;  // of the last re-pivoting
  StepTimes times;

  CscView<double> a() const { return {analysis->a, a_values}; }

  void drop_factors() {
    factored = has_factors = measured = is_flat = rung_is_behind = false;
    trust = Trust::none;
    arrays = {};
    put_off = Probe::done;
    statistics = {};
  }

  /// An error of a numeric phase is also the error of later calls of solve().
  Status settle(Status s) {
    if (s.ok())
      factored = was_factored = true;
    else
      drop_factors();
    return state = std::move(s);
  }

  void drop_factorizer() {
    resident.reset();
    factors.reset();
    has_factors = false;
    arrays = {};
    factorizer.reset();
    device_path_unavailable = false;
    flat_lu.reset();
    steps_to_lists = steps_before_lists;
    is_flat = rung_is_behind = false;
  }

  Status forget(Status s) {
    drop_factorizer();
    if (chooser) choice = {};
    analysis.reset();
    refiner.reset();
    transposed_refiner.reset();
    return start_over(std::move(s));
  }

  /// What there is of numeric phases goes; the analysis stays.
  Status start_over(Status s) {
    was_tried = was_factored = in_flight = new_pivots_are_no_better = false;
    last_step = Status::error(StatusCode::invalid_argument, "solver: call step_device() first");
    cause = {};
    times = {};
    drop_factors();
    return state = std::move(s);
  }

  static Status call_factor_first() {
    return Status::error(StatusCode::invalid_argument, "solver: call factor() first");
  }
  static Status no_memory_for_analysis() {
    return Status::error(StatusCode::out_of_memory, "not enough host memory for the analysis of A");
  }

  Status analyze(const CscView<double>& from) try {
    auto next = sequence.next(from, analysis.get());
    if (!next.ok()) return forget(next.status());
    if (next->anew && wants_order_for_all_steps(*next->anew))
      if (auto ordered = sequence.order_for_all_steps(from); ordered.ok()) next->anew = std::move(*ordered);
    return next->anew ? take_analysis(from, std::move(*next->anew)) : keep_analysis(from, next->new_scales);
  } catch (const std::bad_alloc&) {
    return forget(no_memory_for_analysis());
  }

  Status take_analysis(const CscView<double>& from, CostedAnalysis of_a) try {
    (void)forget(call_factor_first());
    a_values.assign(from.values.begin(), from.values.end());
    has_values = true;
    probe.clear();
    analysis = std::make_unique<Analysis>(std::move(of_a.analysis));
    costs = of_a.costs;
    put_off_us = of_a.put_off_us;
    Status made = make_factorizer();
    return made.ok() ? made : forget(std::move(made));
  } catch (const std::bad_alloc&) {
    return forget(no_memory_for_analysis());
  }

  /// The analysis is that of these values, too, and with it the factorizer, unless it may be of no use.
  Status keep_analysis(const CscView<double>& from, bool new_scales) try {
    const bool usable = factorizer && !fell_back && !is_of_machine(state.code);
    (void)start_over(call_factor_first());
    device_path_unavailable = false;
    take_values(from.values);
    Status kept = usable ? new_scales ? take_scales() : Status{} : make_factorizer();
    if (kept.code == StatusCode::not_implemented && usable) kept = make_factorizer();
    return kept.ok() ? kept : forget(std::move(kept));
  } catch (const std::bad_alloc&) {
    return forget(no_memory_for_analysis());
  }
  Status take_scales() {
    factors.reset();  // they hold the old ones, as flat_lu does
    flat_lu.reset();
    steps_to_lists = steps_before_lists;
    LULAB_RETURN_IF_ERROR(factorizer->take_scales());
    return resident ? resident->take_scales() : Status{};
  }
  const RungFacts& facts() const { return choice.rung->facts; }
  PivotCheck<T> check() const { return {facts().id, options.max_growth}; }

  bool may_put_off_preparing() const {
    return chooser && !options.prepare_at_once && options.expected_steps > 1 && options.solve == nullptr &&
           options.factor.perturb_pivots == 0 && options.repivot;
  }
  /// Not where the analysis was given.
  bool puts_off_preparing() { return may_put_off_preparing() && sequence.first_steps() != nullptr && !steps_on_device; }
  /// After how many steps; 0: preparing is not put off.
  double steps_before_preparing(const FilledPattern& filled, const KnownCosts& known, double untried_us) {
    if (!puts_off_preparing() || sequence.first_steps()->are_over) return 0;
    return chooser->steps_before_preparing(filled, options.factor, options.expected_steps, known, untried_us);
  }
  /// Instead of the one for a first answer.
  bool wants_order_for_all_steps(const CostedAnalysis& c) {
    return c.put_off_us > 0 && are_made(steps_before_preparing(c.analysis.filled, c.costs, c.put_off_us));
  }
  bool is_to_prepare() { return prepare_after > 0 && (steps_on_device || are_made(prepare_after)); }
  void count_first_step() {
    if (prepare_after > 0) ++sequence.first_steps()->made;
  }
  bool are_made(double steps) { return static_cast<double>(sequence.first_steps()->made) >= steps; }

  double steps_prepared_for() const { return prepare_after > 0 ? 1 : options.expected_steps; }

  RungChoice choose_rung() const {
    Workload work = {.expected_steps = steps_prepared_for()};
    if (steps_on_device) work.scalars_on_device = std::ssize(a_values) + 2 * std::int64_t{a().n_cols};
    RungChoice chosen = chooser->choose(analysis->filled, options.factor, work, costs);
    if (const double steps = std::ceil(prepare_after); steps > 0)
      chosen.reason += fmt::format("; chosen anew after {:.0f} step{}", steps, steps == 1 ? "" : "s");
    return chosen;
  }

  /// The chosen rung for the analysis; the CPU's where the GPU has no room.
  Status make_factorizer() {
    drop_factorizer();
    LULAB_RETURN_IF_ERROR(check_options(options));
    if (chooser) LULAB_RETURN_IF_ERROR(chooser->check_options(options.factor));
    prepare_after = steps_before_preparing(analysis->filled, costs, put_off_us);
    if (put_off_us > 0) prepare_after = std::max(prepare_after, 1.0);  // whatever new pivots cost, an order is due
    if (chooser) choice = choose_rung();
    if (auto* first = sequence.first_steps(); first && prepare_after == 0 && facts().device == Device::gpu)
      first->are_over = true;  // new pivots do not move it to the CPU
    fell_back = false;
    Status status = prepare_rung();
    if (status.ok() || !chooser) return status;
    RungChoice instead = chooser->fall_back(choice, status);
    if (instead.rung == nullptr) return status;
    drop_factorizer();
    choice = std::move(instead);
    fell_back = true;
    return prepare_rung();
  }
  /// After an error there is none: the next numeric phase tries again.
  Status make_factorizer_or_none() try {
    Status made = make_factorizer();
    if (!made.ok()) drop_factorizer();
    return made;
  } catch (const std::bad_alloc&) {
    drop_factorizer();
    throw;
  }
  Status prepare_rung() {
    factorizer = choice.rung->make<T>(chooser ? options.factor.only(facts().options) : options.factor);
    if (!factorizer)
      return Status::error(StatusCode::not_implemented,
                           fmt::format("{} does not factor {}", facts().id, sizeof(T) == 4 ? "f32" : "f64"));
    if (facts().device != Device::gpu && prepare_after == 0) {
      analysis->fronts.reset();
      costs.fronts = false;
    }
    LULAB_RETURN_IF_ERROR(factorizer->analyze(*analysis));
    if (options.factor.perturb_pivots > 0 && !facts().perturbs_pivots)
      return Status::error(
          StatusCode::invalid_argument,
          fmt::format("{} does not perturb pivots; set perturb_pivots to 0 or take another rung", facts().id));
    return {};
  }

  Status check_pattern(const CscView<double>& from) const {
    if (!analysis) return state;
    if (from.n_rows != a().n_rows || from.n_cols != a().n_cols || !std::ranges::equal(from.col_ptr, a().col_ptr) ||
        !std::ranges::equal(from.row_idx, a().row_idx))
      return Status::error(StatusCode::invalid_argument,
                           "solver: this matrix has another pattern than the one analyzed; call analyze() for it");
    return {};
  }
  Status check_size(std::span<const double> values) const {
    if (!analysis) return state;
    if (values.size() != a_values.size())
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("solver: {} values were given; the matrix analyzed has {} entries; call "
                                       "analyze() for another pattern",
                                       values.size(), a_values.size()));
    return {};
  }

  void take_values(std::span<const double> values) {
    if (values.data() != a_values.data()) std::ranges::copy(values, a_values.begin());
    has_values = true;
  }

  Status run(std::span<const double> values, bool again) {
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(factorizer->upload(values));
    if (simt::Stream* stream = factorizer->stream()) LULAB_RETURN_IF_ERROR(stream->wait());
    times.upload += ms_since(start);
    start = Clock::now();
    LULAB_RETURN_IF_ERROR(again ? factorizer->refactor() : factorizer->factor());
    LULAB_RETURN_IF_ERROR(factorizer->wait());
    times.refactor += ms_since(start);
    return {};
  }

  Status no_factors_for(const SolveRung& solve) const {
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} solves with factors that lie on the device, and {} leaves none there; take {} "
                                     "or another rung",
                                     solve.id, facts().id, solve_rungs::reference.id));
  }

  /// Makes `resident` where the rung leaves its factors on the device and its pivots are fixed.
  Status prepare_device_path() {
    if (resident || device_path_unavailable) return {};
    const auto asked_for = options.solve != nullptr ? options.solve->method : std::nullopt;
    if (options.solve != nullptr && !asked_for) return {};  // the host
    if (facts().pivoting != Pivoting::fixed || factorizer->stream() == nullptr ||
        factorizer->device_arrays().lu == nullptr)
      return asked_for ? no_factors_for(*options.solve) : Status{};
    auto made = ResidentSolve<T>::create(*analysis, *factorizer, known_solution(), asked_for, steps_prepared_for(),
                                         puts_off_preparing());
    device_path_unavailable = !asked_for && made.status().code == StatusCode::out_of_memory;
    if (made.ok()) resident = std::move(*made);
    return device_path_unavailable ? Status{} : made.status();
  }

  /// Whether flat_lu stands in for refactorizations of the rung and the solves after them. A rung that is given
  /// threads uses them.
  bool refactors_flat() try {
    if (sizeof(T) != sizeof(double) || options.solve != nullptr || choice.rung != &sparse_leftlooking::threads ||
        options.factor.threads > 1 || options.factor.perturb_pivots > 0 || (options.probe && !options.repivot))
      return false;
    const bool at_once = options.prepare_at_once || !options.repivot;
    if (steps_to_lists > 0 && (at_once || --steps_to_lists == 0)) {
      steps_to_lists = 0;
      flat_lu = FlatLu::create(*analysis);
    }
    return flat_lu.has_value();
  } catch (const std::bad_alloc&) {
    return false;  // the rung may need less
  }

  /// Are its factors usable? Otherwise the rung says what is wrong.
  bool refactor_flat(std::span<const double> values) {
    const auto start = Clock::now();
    flat_lu->upload(values);
    const auto uploaded = Clock::now();
    flat_lu->eliminate();
    const auto eliminated = Clock::now();
    if (!flat_lu->is_stable(options.max_growth)) return false;
    take_values(values);
    times.upload += ms_between(start, uploaded);
    times.refactor += ms_between(uploaded, eliminated);
    times.judge += ms_since(eliminated);
    statistics = factorizer->statistics();
    if (options.probe) put_off = Probe::due;
    return is_flat = rung_is_behind = true;
  }

  /// The last values factored by the rung, too.
  Status catch_up() {
    if (!rung_is_behind) return {};
    LULAB_RETURN_IF_ERROR(run(a_values, true));
    rung_is_behind = false;
    arrays = factorizer->host_arrays();
    return {};
  }

  /// When the probe of given pivots is solved.
  enum class ProbeTime { now, later };

  /// Factors, and checks the pivots where they were given beforehand.
  Status attempt(std::span<const double> values, bool again, bool given_pivots, ProbeTime probe_time) {
    if (again && refactors_flat() && refactor_flat(values)) return {};
    LULAB_RETURN_IF_ERROR(run(values, again));
    pivots_were_given = given_pivots;
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(prepare_device_path());
    times.judge += ms_since(start);
    if (resident) return check_on_device(values, probe_time);
    has_factors = measured = false;
    statistics = factorizer->statistics();
    arrays = factorizer->host_arrays();
    if (arrays.lu.empty() || arrays.filled != nullptr) factors.reset();  // its pattern may be another one
    if (arrays.lu.empty()) LULAB_RETURN_IF_ERROR(copy_factors());
    start = Clock::now();
    take_values(values);
    if (given_pivots) LULAB_RETURN_IF_ERROR(check_on_host(probe_time));
    times.judge += ms_since(start);
    return {};
  }

  /// Where the last numeric phase left them on the host.
  FactorsView<T> where_they_lie() const {
    if (arrays.lu.empty()) return *factors;
    return {arrays.filled ? *arrays.filled : analysis->filled, arrays.plan ? *arrays.plan : analysis->plan, arrays.lu};
  }

  /// Of L and U.
  bool has_found_pivots() const { return factored && !resident && facts().pivoting != Pivoting::fixed && !is_flat; }
  const Plan& plan() const {
    return has_found_pivots() ? where_they_lie().plan : analysis ? analysis->plan : no_analysis.plan;
  }
  const FilledPattern& filled() const {
    return has_found_pivots() ? where_they_lie().filled : analysis ? analysis->filled : no_analysis.filled;
  }

  std::span<const double> known_solution() {
    if (probe.empty()) probe = probe_solution(a().n_cols);
    return probe;
  }

  HostRefiner<T>& made(std::optional<HostRefiner<T>>& refiner_of, bool transposed) {
    if (!refiner_of) refiner_of.emplace(a(), transposed);
    return *refiner_of;
  }

  /// Makes `factors` those of the last numeric phase.
  Status copy_factors() {
    if (has_factors) return {};
    LULAB_RETURN_IF_ERROR(catch_up());
    const auto start = Clock::now();
    if (factors) {
      LULAB_RETURN_IF_ERROR(factorizer->download_values(factors->values));
      if (!arrays.lu.empty()) measure_factors(*factors, analysis->plan, arrays.max_pracq);
    } else {
      auto f = factorizer->download();
      if (!f.ok()) return f.status();
      factors = std::move(*f);
    }
    times.download += ms_since(start);
    has_factors = true;
    return {};
  }

  /// Growth and rcond of factors on the host, which only callers of statistics() want.
  Status measure() {
    if (measured) return {};
    LULAB_RETURN_IF_ERROR(copy_factors());
    const std::int64_t perturbed = statistics.perturbed_pivots, repivots = statistics.repivots;
    statistics = factors->statistics;
    statistics.perturbed_pivots = std::max(statistics.perturbed_pivots, perturbed);
    statistics.repivots = repivots;
    statistics.pivot_growth = pivot_growth(max_abs_u(*factors), max_abs_pracq(a(), factors->plan));
    measured = true;
    return {};
  }

  /// The growth, where no entry of L and U is so large, is not looked at more closely.
  Status check_growth() {
    if (!arrays.lu.empty() && max_abs(arrays.lu) <= options.max_growth * arrays.max_pracq) return {};
    LULAB_RETURN_IF_ERROR(measure());
    return check().check_growth(statistics.pivot_growth, statistics.perturbed_pivots);
  }

  Status check_on_host(ProbeTime probe_time) {
    if (arrays.lu.empty()) LULAB_RETURN_IF_ERROR(check().check_values(*factors));
    LULAB_RETURN_IF_ERROR(check_growth());
    if (!options.probe) return {};
    if (may_put_off(probe_time)) {
      put_off = Probe::due;
      return {};
    }
    return solve_probe();
  }

  /// May the first solve show what the probe would?
  bool may_put_off(ProbeTime probe_time) const {
    return probe_time == ProbeTime::later && options.probe && options.repivot && statistics.perturbed_pivots == 0;
  }

  Status solve_probe() {
    if (resident) {
      LULAB_ASSIGN_OR_RETURN(const auto measured, resident->measure(true));
      return judge_device_probe(measured.probe);
    }
    LULAB_RETURN_IF_ERROR(catch_up());
    const FactorsView<T> f = where_they_lie();
    if (statistics.perturbed_pivots > 0)
      return check().check_refined_probe(refine_probe_on_host<T>(a(), f, known_solution(), made(refiner, false)));
    const auto probed = probe_on_host<T>(a(), f, known_solution(), made(refiner, false));
    return probed.ok() ? check().check_probe(*probed) : probed.status();
  }

  /// The probe that a factorization put off; new pivots for the same values where it fails.
  Status make_up_for_probe() {
    if (put_off == Probe::done) return {};
    const auto start = Clock::now();
    Status checked = solve_probe();
    put_off = Probe::done;
    times.judge += ms_since(start);
    if (checked.ok()) return {};
    if (!asks_for_pivots(checked)) return settle(std::move(checked));
    return replace_pivots(std::move(checked));
  }
  /// why: what is wrong with them.
  Status replace_pivots(Status why) {
    if (Status lost = download_values(); !lost.ok()) return settle(std::move(lost));
    drop_factors();
    state = Status::error(StatusCode::out_of_memory, "not enough host memory for new pivots");  // unless it returns
    return settle(repivot(a_values, std::move(why)));
  }

  /// What there is to know of the factors is known once their pivots have been judged.
  Status judged() {
    if (put_off == Probe::due) LULAB_RETURN_IF_ERROR(make_up_for_probe());
    return factored ? Status{} : state;
  }

  Status judged_or_out_of_memory() try { return judged(); } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory to judge the pivots");
  }

  Status check_on_device(std::span<const double> values, ProbeTime probe_time) {
    has_values = false;
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(resident->upload(values));
    times.upload += ms_since(start);
    start = Clock::now();
    LULAB_RETURN_IF_ERROR(resident->update(factorizer->device_arrays()));
    statistics = factorizer->statistics();
    const bool puts_off = may_put_off(probe_time);
    LULAB_ASSIGN_OR_RETURN(const auto measured, resident->measure(options.probe && !puts_off));
    Status checked = judge(measured);
    if (checked.ok() && puts_off)
      put_off = Probe::due;
    else if (checked.ok() && options.probe)
      checked = judge_device_probe(measured.probe);
    times.judge += ms_since(start);
    return checked;
  }

  /// The sizes of what was factored on the device.
  Status judge(const typename ResidentSolve<T>::Measured& measured) {
    const FactorMagnitudes& m = measured.factors;
    statistics.structural_rank = statistics.numerical_rank = analysis->filled.n;
    statistics.rcond = m.min_pivot / m.max_pivot;
    statistics.pivot_growth = pivot_growth(m.max_u, measured.probe.max_a);
    Status checked = check().check_largest(m.max_l, m.max_u);
    if (!checked.ok()) return name_not_finite(std::move(checked));
    return check().check_growth(statistics.pivot_growth, statistics.perturbed_pivots);
  }

  Status judge_device_probe(const ProbeResult& probed) {
    return statistics.perturbed_pivots > 0 ? check().check_refined_probe(resident->refine_probe())
                                           : check().check_probe(probed);
  }

  /// The downloaded factors say which value it is.
  Status name_not_finite(Status known) const {
    LULAB_ASSIGN_OR_RETURN(const auto f, factorizer->download());
    Status named = check().check_values(f);
    return named.ok() ? known : named;
  }

  /// Pivots chosen by value, and the rung prepared for them.
  Status take_pivots(double pivot_tol, bool by_row = false) {
    const auto start = Clock::now();
    FactorOptions how = options.factor;
    how.pivot_tol = pivot_tol;
    how.perturb_pivots = 0;  // it looks for better ones
    const auto choose = by_row ? choose_pivots_by_row<T> : choose_pivots<T>;
    LULAB_ASSIGN_OR_RETURN(auto chosen, choose(pivot_chooser(options.first), how, *analysis, a()));
    if (chosen.plan.p != analysis->plan.p || chosen.plan.q != analysis->plan.q)
      LULAB_RETURN_IF_ERROR(take_other_analysis(std::move(chosen)));
    times.pivots += ms_since(start);
    return {};
  }
  Status take_other_analysis(Analysis other) {
    take_analysis_alone(std::move(other), {});
    return make_factorizer_or_none();
  }
  void take_analysis_alone(Analysis other, const KnownCosts& of_other) {
    drop_factorizer();  // refers to the analysis, as the refiners do
    refiner.reset();
    transposed_refiner.reset();
    *analysis = std::move(other);
    costs = of_other;
  }

  /// For all expected steps. Where there is no memory for another order, the one there is stays; where these values
  /// allow none, a later step prepares.
  Status prepare(std::span<const double> values) {
    const auto start = Clock::now();
    take_values(values);
    drop_factorizer();  // the orders may want its memory
    if (put_off_us > 0) {
      auto ordered = sequence.order_for_all_steps(a());
      if (ordered.ok())
        take_analysis_alone(std::move(ordered->analysis), ordered->costs);
      else if (!is_of_machine(ordered.status().code))
        return make_factorizer_or_none();
    }
    put_off_us = 0;
    new_pivots_are_no_better = false;
    sequence.first_steps()->are_over = true;
    LULAB_RETURN_IF_ERROR(make_factorizer_or_none());
    times.prepare += ms_since(start);
    return {};
  }

  Status repivot(std::span<const double> values, Status unstable_pivots) {
    if (!options.repivot) return unstable_pivots;
    cause = std::move(unstable_pivots);
    Status outcome;
    if (facts().pivoting == Pivoting::fixed) {
      take_values(values);
      for (const bool by_row : {false, true}) {
        LULAB_RETURN_IF_ERROR(take_pivots(std::max(options.factor.pivot_tol, 0.1), by_row));
        outcome = attempt(values, false, true, ProbeTime::now);  // which asks for pivots by row
        if (outcome.code != StatusCode::needs_repivot) break;
      }
    } else {
      outcome = attempt(values, false, false, ProbeTime::now);
    }
    if (outcome.ok()) statistics.repivots = 1;
    return outcome;
  }

  Status numeric(std::span<const double> values, bool again) {
    times = {};
    cause = {};
    drop_factors();
    if (is_to_prepare()) {
      LULAB_RETURN_IF_ERROR(prepare(values));
      again = false;
    }
    count_first_step();
    if (!factorizer) LULAB_RETURN_IF_ERROR(make_factorizer_or_none());
    if (!again && options.first != FirstFactorization::rung && choice.rung != &pivot_chooser(options.first)) {
      take_values(values);
      LULAB_RETURN_IF_ERROR(take_pivots(options.factor.pivot_tol));
    }
    const bool given_pivots = again || facts().pivoting == Pivoting::fixed;
    Status outcome = attempt(values, again, given_pivots, ProbeTime::later);
    if (!outcome.ok()) return given_pivots && asks_for_pivots(outcome) ? repivot(values, std::move(outcome)) : outcome;
    statistics.repivots = 0;
    return {};
  }

  /// wrong: what is wrong with the matrix given.
  Status factor(Status wrong, std::span<const double> values) {
    was_tried = true;
    was_factored = false;
    return settle(wrong.ok() ? numeric_or_no_memory(values, false) : std::move(wrong));
  }
  Status refactor(Status wrong, std::span<const double> values) {
    if (!was_tried) return state;
    return settle(wrong.ok() ? numeric_or_no_memory(values, factored) : std::move(wrong));
  }
  Status numeric_or_no_memory(std::span<const double> values, bool again) try {
    return numeric(values, again);
  } catch (const std::bad_alloc&) {
    lose_factors();
    return Status::error(StatusCode::out_of_memory, "not enough host memory to factor");
  }
  /// Allocates nothing: there may be no memory for the message of an error either.
  void lose_factors() {
    if (resident) resident->recover();
    drop_factors();
    state = {};
    state.code = StatusCode::out_of_memory;
  }

  /// The factors on the host, with the statistics of the Solver.
  Result<const Factors<T>*> on_host() try {
    LULAB_RETURN_IF_ERROR(judged());
    LULAB_RETURN_IF_ERROR(copy_factors());
    if (!resident) LULAB_RETURN_IF_ERROR(measure());
    factors->statistics = statistics;
    return &*factors;
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory for the factors");
  }

  Status pivots(std::span<double> of_columns) try {
    if (!factored) return state;
    if (of_columns.size() != static_cast<std::size_t>(a().n_cols))
      return Status::error(
          StatusCode::invalid_argument,
          fmt::format("pivots: A has {} columns, but there is room for {}", a().n_cols, of_columns.size()));
    if (is_flat) {
      flat_lu->pivots(of_columns);
      return {};
    }
    LULAB_RETURN_IF_ERROR(catch_up());
    if (resident) LULAB_RETURN_IF_ERROR(copy_factors());
    const FactorsView<T> f = where_they_lie();
    for (std::int32_t k = 0; k < f.filled.n; ++k) {
      const std::int32_t j = f.plan.q[k];
      of_columns[j] = f.values[f.filled.diag[k]] / f.plan.r[f.plan.p[k]] / f.plan.c[j];
    }
    return {};
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory for the pivots");
  }

  Result<double> largest_multiplier() try {
    if (!factored) return state;
    if (resident) {
      LULAB_ASSIGN_OR_RETURN(const auto of_step, resident->measured());
      return of_step.factors.max_l;
    }
    if (is_flat) return flat_lu->largest_multiplier();
    LULAB_RETURN_IF_ERROR(catch_up());
    const FactorsView<T> f = where_they_lie();
    double largest = 0;  // columns are short: a call of max_abs() for each would take longer than its work
    for (std::int32_t k = 0; k < f.filled.n; ++k)
      for (std::int64_t s = f.filled.diag[k] + 1; s < f.filled.col_ptr[k + 1]; ++s)
        largest = larger_or_nan(largest, std::abs(static_cast<double>(f.values[s])));
    return largest;
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory for the factors");
  }

  const Statistics& known() try {
    if (judged().ok() && !resident) (void)measure();
    return statistics;
  } catch (const std::bad_alloc&) {
    return statistics;  // growth and rcond stay NaN
  }

  /// The values of A on the host.
  Status download_values() {
    if (has_values) return {};
    LULAB_RETURN_IF_ERROR(resident->download_a(a_values));
    has_values = true;
    return {};
  }

  Result<ConditionEstimate> condition() try {
    LULAB_ASSIGN_OR_RETURN(const auto f, on_host());
    LULAB_RETURN_IF_ERROR(download_values());
    ConditionEstimate estimate = estimate_condition<T>(a(), *f);
    // So near to singular neither the factors nor the one scaling of A can be trusted.
    if (!(estimate.rcond_scaled >= 1000 * std::numeric_limits<T>::epsilon())) {
      LULAB_ASSIGN_OR_RETURN(estimate.rcond_scaled, estimate_rcond_of_blocks(a()));
    }
    return estimate;
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory to estimate the condition of A");
  }

  Status check_right_sides(std::span<const double> b, std::span<double> x, std::int32_t columns) const {
    LULAB_RETURN_IF_ERROR(check_overlap(b, x));
    return factored ? check_sizes(b, x, columns) : no_x(x, state);
  }
  Status check_sizes(std::span<const double> b, std::span<double> x, std::int32_t columns) const {
    const auto n = static_cast<std::size_t>(a().n_cols);
    const std::size_t size = n * static_cast<std::size_t>(std::max(columns, 0));
    if (columns < 1 || b.size() != size || x.size() != size)
      return Status::error(
          StatusCode::invalid_argument,
          fmt::format("solve: A is {0} x {0} and there are {1} right-hand sides, but b has {2} and x has {3} entries",
                      n, columns, b.size(), x.size()));
    return {};
  }

  Result<std::vector<Refinement>> solve(std::span<const double> b, std::span<double> x, std::int32_t columns,
                                        bool transposed) try {
    LULAB_RETURN_IF_ERROR(check_right_sides(b, x, columns));
    std::vector<Refinement> all(columns);
    LULAB_RETURN_IF_ERROR(solve_and_judge(b, x, all, transposed));
    return all;
  } catch (const std::bad_alloc&) {
    return no_x(x, no_memory_to_solve());
  }
  static Status no_memory_to_solve() {
    return Status::error(StatusCode::out_of_memory, "not enough host memory to solve");
  }

  /// Shapes b, x: (n, columns), all: (columns).
  Status solve_and_judge(std::span<const double> b, std::span<double> x, std::span<Refinement> all,
                         bool transposed) try {
    Status done = solve_anywhere(b, x, all, transposed);
    if (done.ok()) done = judge_solutions(b, x, all, transposed);
    return done.ok() ? done : no_x(x, std::move(done));
  } catch (const std::bad_alloc&) {
    return no_x(x, no_memory_to_solve());
  }

  /// Solutions that converge judge the pivots of a factorization, too; others ask for the probe that was put off, and
  /// are solved again where it brings new pivots.
  Status judge_solutions(std::span<const double> b, std::span<double> x, std::span<Refinement> all, bool transposed) {
    const bool good = converged(all);
    const bool shows = std::ranges::any_of(all, [](const Refinement& r) { return r.omega > 0; });  // b = 0 does not
    if (good && shows) {
      if (put_off == Probe::due) put_off = Probe::replaced;
      new_pivots_are_no_better = false;
    }
    if (good) return {};
    // Is it the pivots that an x does not converge?
    if (put_off != Probe::done) {
      LULAB_RETURN_IF_ERROR(make_up_for_probe());
      if (statistics.repivots > 0) return solve_anywhere(b, x, all, transposed);
    }
    if (!may_blame_pivots(all)) return {};
    LULAB_RETURN_IF_ERROR(replace_pivots_of_float(check().check_solutions(all)));
    const Status solved = solve_anywhere(b, x, all, transposed);
    new_pivots_are_no_better = !converged(all);
    return solved;
  }

  /// Float factors that pass the probe may be too far off. Not where b or x is not finite.
  bool may_blame_pivots(std::span<const Refinement> all) const {
    const auto is_finite = [](const Refinement& r) { return std::isfinite(r.omega); };
    const bool may_replace = pivots_were_given && options.probe && options.repivot &&
                             statistics.perturbed_pivots == 0 && statistics.repivots == 0;
    return sizeof(T) != sizeof(double) && may_replace && !new_pivots_are_no_better &&
           std::ranges::all_of(all, is_finite);
  }

  /// The old ones again where a float finds no others that are stable.
  Status replace_pivots_of_float(Status why) {
    if (facts().pivoting != Pivoting::fixed) return replace_pivots(std::move(why));
    Analysis before = *analysis;
    const Status replaced = replace_pivots(std::move(why));
    if (replaced.ok() || is_of_machine(replaced.code)) return replaced;
    state = Status::error(StatusCode::out_of_memory, "not enough host memory for the pivots");  // unless it returns
    LULAB_RETURN_IF_ERROR(take_other_analysis(std::move(before)));
    Status done = settle(attempt(a_values, false, true, ProbeTime::later));
    put_off = Probe::done;
    cause = {};
    return done;
  }

  static bool converged(std::span<const Refinement> all) {
    return std::ranges::all_of(all, [](const Refinement& r) { return r.converged; });
  }

  RefinementGoal goal() const { return refinement_goal<T>(options); }

  Status solve_anywhere(std::span<const double> b, std::span<double> x, std::span<Refinement> all, bool transposed) {
    if (is_flat && !transposed) return solve_flat(b, x, all);
    LULAB_RETURN_IF_ERROR(catch_up());
    if (!resident) return solve_columns(where_they_lie(), b, x, all, transposed);
    const auto solved = resident->solve(b, x, static_cast<std::int32_t>(all.size()), transposed, goal());
    if (solved.ok()) {
      std::ranges::copy(*solved, all.begin());
      return {};
    }
    if (solved.status().code != StatusCode::out_of_memory) return solved.status();
    LULAB_ASSIGN_OR_RETURN(const auto copy, on_host());
    LULAB_RETURN_IF_ERROR(download_values());
    return solve_columns(*copy, b, x, all, transposed);
  }

  Status solve_columns(const FactorsView<T>& f, std::span<const double> b, std::span<double> x,
                       std::span<Refinement> all, bool transposed) {
    HostRefiner<T>& solver = transposed ? made(transposed_refiner, true) : made(refiner, false);
    const auto solve = [&](std::span<const double> from, std::span<double> to) {
      solver.solve_unrefined(f, from, to, static_cast<std::int32_t>(from.size() / a().n_cols));
    };
    solve_all(solver, solve, b, x, all);
    return {};
  }

  Status solve_flat(std::span<const double> b, std::span<double> x, std::span<Refinement> all) {
    solve_all(
        made(refiner, false), [&](auto from, auto to) { flat_lu->solve(from, to); }, b, x, all);
    return {};
  }

  /// solve: of one or more right-hand sides, without refinement.
  template <class Unrefined>
  void solve_all(HostRefiner<T>& solver, const Unrefined& solve, std::span<const double> b, std::span<double> x,
                 std::span<Refinement> all) {
    constexpr std::size_t at_once = 8;
    const std::size_t n = a().n_cols;
    if (n > 0) solve(b, x);
    for (std::size_t c = 0; c < all.size();) {
      if (trust == Trust::after_solution || trust == Trust::after_zeros)
        trust = are_good_for_all(solver, solve, trust == Trust::after_zeros) ? Trust::full : Trust::refused;
      if (trust == Trust::full) {
        constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
        all[c++] = {.backward_error = unknown, .omega = unknown, .converged = true};
        continue;
      }
      // Float factors find (1, 1, ...) exactly by luck, and the next x no better than a float.
      const bool may_trust = sizeof(T) == sizeof(double) && options.refine == Refine::first && trust != Trust::refused;
      const std::size_t some = may_trust && c == 0 ? 1 : std::min(at_once, all.size() - c);
      const auto refined = all.subspan(c, some);
      const auto to = x.subspan(n * c, n * some);
      const auto from = b.subspan(n * c, n * some);
      if (some == 1)  // which allocates nothing
        refined[0] = solver.refine_by(solve, a_values, from, to, goal());
      else
        solver.refine_by(solve, a_values, from, to, goal(), refined);
      c += some;
      const auto good = std::ranges::find_if(refined, shows_good_factors);
      if (!may_trust || good == refined.end()) continue;
      // Where x is zero, the row of A and its pivot may not have been asked for anything.
      const auto of_good = to.subspan(n * (good - refined.begin()), n);
      trust = std::ranges::find(of_good, 0.0) == of_good.end() ? Trust::after_solution : Trust::after_zeros;
    }
  }

  static bool is_good_at_once(const Refinement& r) { return r.iterations == 0 && r.omega <= trusted_error; }
  static bool shows_good_factors(const Refinement& r) { return is_good_at_once(r) && r.omega > 0; }  // b = 0 does not

  /// One good solution may be luck where a multiplier is large.   probes: is a solution without zeros needed, too?
  template <class Unrefined>
  bool are_good_for_all(HostRefiner<T>& solver, const Unrefined& solve, bool probes) {
    const bool all_are_small = !is_flat && !arrays.lu.empty() && max_abs(arrays.lu) <= trusted_multiplier;
    const Result<double> largest = all_are_small ? 0 : largest_multiplier();
    if (!largest.ok() || !(*largest <= trusted_multiplier)) return false;
    if (!probes) return true;
    const std::span<const double> known = known_solution();
    std::vector<double> b(known.size()), x(known.size());
    solver.residual(a_values, known, b, b);  // -A x
    return is_good_at_once(solver.solve_by(solve, a_values, b, x, goal()));
  }

  Result<Refinement> solve_one(std::span<const double> b, std::span<double> x, bool transposed) {
    LULAB_RETURN_IF_ERROR(check_right_sides(b, x, 1));
    Refinement refinement;
    LULAB_RETURN_IF_ERROR(solve_and_judge(b, x, std::span(&refinement, 1), transposed));
    return refinement;
  }

  Result<Refinement> step(std::span<const double> values, std::span<const double> b, std::span<double> x) try {
    LULAB_RETURN_IF_ERROR(check_overlap(b, x));
    if (!analysis) return no_x(x, state);
    LULAB_RETURN_IF_ERROR(check_size(values));
    LULAB_RETURN_IF_ERROR(check_sizes(b, x, 1));
    Refinement refinement;
    const std::span<Refinement> all(&refinement, 1);
    Status done;
    if (steps_with_one_wait() && !is_to_prepare()) {
      count_first_step();
      done = step_with_one_wait(values, b, x, refinement);
    } else {
      done = refactor({}, values);
      if (done.ok()) done = solve_in_step(b, x, all);
    }
    if (done.ok()) done = judge_solutions(b, x, all, false);
    if (done.ok()) return refinement;
    return no_x(x, std::move(done));
  } catch (const std::bad_alloc&) {
    return no_x(x, lost_step("not enough host memory for a step"));
  }

  Status solve_in_step(std::span<const double> b, std::span<double> x, std::span<Refinement> all) {
    const auto start = Clock::now();
    Status solved = solve_anywhere(b, x, all, false);
    times.solve += ms_since(start);
    return solved;
  }

  /// Else a step is a refactorization and a solve.
  bool steps_with_one_wait() const {
    const bool shows_pivots = options.repivot || !options.probe;  // the solution, in place of a probe
    return factored && resident && resident->steps() && options.factor.perturb_pivots == 0 && shows_pivots;
  }

  /// Both with one wait for the device.
  Status step_with_one_wait(std::span<const double> values, std::span<const double> b, std::span<double> x,
                            Refinement& refinement) {
    start_step();
    auto start = Clock::now();
    Status prepared;
    if (resident->is_due()) {
      prepared = resident->prepare_if_due();
      times.prepare += ms_since(start);
      start = Clock::now();
    }
    const Status enqueued = prepared.ok() ? resident->enqueue_step(*factorizer, values, b, x, goal()) : prepared;
    times.upload += ms_since(start);
    Status done = judge_step(enqueued);
    if (asks_for_pivots(done)) {
      LULAB_RETURN_IF_ERROR(settle(repivot(values, std::move(done))));
      return solve_in_step(b, x, std::span(&refinement, 1));
    }
    LULAB_RETURN_IF_ERROR(settle(std::move(done)));
    if (options.probe) put_off = Probe::due;
    LULAB_ASSIGN_OR_RETURN(refinement, resident->finish_step(x));
    return {};
  }

  void start_step() {
    times = {};
    cause = {};
    drop_factors();
    has_values = false;
  }

  /// Waits for a step.
  Status judge_step(const Status& enqueued) {
    auto start = Clock::now();
    if (!enqueued.ok()) resident->recover();
    const Status done = factorizer->wait();
    LULAB_RETURN_IF_ERROR(enqueued);
    times.refactor += ms_since(start);
    LULAB_RETURN_IF_ERROR(done);
    start = Clock::now();
    statistics = factorizer->statistics();
    LULAB_ASSIGN_OR_RETURN(const auto measured, resident->measured());
    Status judged = judge(measured);
    times.judge += ms_since(start);
    return judged;
  }

  Status step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) try {
    if (!analysis) return state;
    const auto n = static_cast<std::size_t>(a().n_cols), nnz = static_cast<std::size_t>(a().nnz());
    if (n > 0 && (d_values == nullptr || d_b == nullptr || d_x == nullptr || overlap({d_b, n}, {d_x, n}) ||
                  overlap({d_values, nnz}, {d_x, n})))
      return Status::error(
          StatusCode::invalid_argument,
          "step_device: values, b and x are three arrays on the device; x must not overlap the others");
    Status enqueued = was_factored ? enqueue_step_on_device(d_values, d_b, d_x, stream) : state;
    return enqueued.ok() ? enqueued : no_x_on_device(d_x, n, stream, std::move(enqueued));
  } catch (const std::bad_alloc&) {
    return no_x_on_device(d_x, a().n_cols, stream, lost_step("not enough host memory for a step"));
  }
  Status enqueue_step_on_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) {
    if (!steps_on_device || is_to_prepare()) LULAB_RETURN_IF_ERROR(choose_for_steps_on_device(d_values, stream));
    if (!resident || !resident->steps_from_device() || options.factor.perturb_pivots > 0)
      return step_through_host(d_values, d_b, d_x, stream);
    if (Status prepared = resident->prepare_steps_on_device(*factorizer); !prepared.ok()) {
      drop_factorizer();
      last_step = prepared;
      return settle(std::move(prepared));
    }
    LULAB_ASSIGN_OR_RETURN(const bool is_captured, stream.is_captured());
    if (is_captured) (void)wait_for_step();
    start_step();
    const Status enqueued = resident->enqueue_step_on_device(*factorizer, d_values, d_b, d_x, goal(), stream);
    in_flight = enqueued.ok() && !is_captured;
    if (in_flight) return {};
    Status unknown = enqueued.ok() ? Status::error(StatusCode::invalid_argument,
                                                   "a step was captured in a graph, and what its launches leave is not "
                                                   "known here; call step_device() or refactor() first")
                                   : judge_step(enqueued);
    last_step = unknown;
    (void)settle(std::move(unknown));
    return enqueued;
  }

  /// After a failed allocation anywhere in a step.
  Status lost_step(const char* why) {
    lose_factors();
    in_flight = false;
    last_step = state;
    Status lost = settle(Status::error(StatusCode::out_of_memory, why));
    last_step = lost;
    return lost;
  }

  /// Chooses the rung anew, and factors these values with it if it is another one. What is wrong with them, the step
  /// that follows says.
  Status choose_for_steps_on_device(const double* d_values, simt::Stream& stream) {
    std::vector<double> values(a_values.size());
    steps_on_device = true;
    const bool is_settled = !chooser || fell_back || options.expected_steps <= 1 || options.factor.perturb_pivots > 0;
    if (is_settled || (prepare_after == 0 && choose_rung().rung == choice.rung)) return {};
    Status copied = simt::copy_to_host(values.data(), d_values, values.size() * sizeof(double), stream);
    if (copied.ok()) copied = stream.wait();
    steps_on_device = copied.ok();
    LULAB_RETURN_IF_ERROR(copied);
    drop_factorizer();
    (void)settle(numeric(values, false));
    return {};
  }

  /// For rungs that take no values from device memory, and where pivots are perturbed.
  Status step_through_host(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) {
    std::vector<double> values(a_values.size()), b(a().n_cols), x(a().n_cols);
    last_step = Status::error(StatusCode::device_error, "the values of the step did not come to the host");
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(values.data(), d_values, values.size() * sizeof(double), stream));
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(b.data(), d_b, b.size() * sizeof(double), stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    last_step = step(values, b, x);
    LULAB_RETURN_IF_ERROR(simt::copy_to_device(d_x, x.data(), x.size() * sizeof(double), stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    return last_step.status();
  }

  /// What became of the last step_device().
  const Result<Refinement>& wait_for_step() {
    if (!in_flight) return last_step;
    in_flight = false;
    Status done = judge_step({});
    if (done.ok()) {
      last_step = resident->finish_step_on_device();
      done = last_step.status();
    }
    if (!done.ok()) {
      last_step = done;
      (void)settle(std::move(done));
      return last_step;
    }
    (void)settle({});
    if (options.probe) put_off = last_step->converged && last_step->omega > 0 ? Probe::replaced : Probe::due;
    if (!last_step->converged)  // the probe, which is due, will tell whether it is the pivots
      last_step =
          Status::error(StatusCode::needs_repivot,
                        fmt::format("the x of this step has a backward error of {:.1e} and {}; if b is finite call "
                                    "refactor() with these values, which takes new pivots if they are the cause",
                                    last_step->backward_error,
                                    options.refine == Refine::never ? "was not refined" : "was set to NaN"));
    return last_step;
  }
};

template <class T>
Solver<T>::Solver(SolverOptions options) : Solver(RungChooser(), std::move(options)) {}
template <class T>
Solver<T>::Solver(const Rung& rung, SolverOptions options)
    : impl_(new Impl(std::nullopt, {&rung, {}}, std::move(options))) {}
template <class T>
Solver<T>::Solver(const RungChooser& chooser, SolverOptions options)
    : impl_(new Impl(chooser, {}, std::move(options))) {}
template <class T>
Solver<T>::~Solver() = default;
template <class T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;

template <class T>
typename Solver<T>::Impl& Solver<T>::impl() const {
  if (!impl_) impl_ = std::move(Solver().impl_);
  return *impl_;
}

template <class T>
typename Solver<T>::Impl& Solver<T>::settled() const {
  (void)impl().wait_for_step();
  return *impl_;
}

template <class T>
Result<ConditionEstimate> Solver<T>::condition() const {
  return settled().condition();
}

template <class T>
Status Solver<T>::analyze(const CscView<double>& a) {
  return settled().analyze(a);
}

template <class T>
Status Solver<T>::analyze(const CscView<double>& a, Analysis analysis) {
  Impl& s = settled();
  s.sequence.forget();
  return s.take_analysis(a, {std::move(analysis)});
}

template <class T>
Status Solver<T>::factor(const CscView<double>& a) {
  return settled().factor(settled().check_pattern(a), a.values);
}

template <class T>
Status Solver<T>::factor(std::span<const double> values) {
  return settled().factor(settled().check_size(values), values);
}

template <class T>
Status Solver<T>::refactor(const CscView<double>& a) {
  return settled().refactor(settled().check_pattern(a), a.values);
}

template <class T>
Status Solver<T>::refactor(std::span<const double> values) {
  return settled().refactor(settled().check_size(values), values);
}

template <class T>
Result<Refinement> Solver<T>::solve(std::span<const double> b, std::span<double> x) const {
  return settled().solve_one(b, x, false);
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::solve(std::span<const double> b, std::span<double> x,
                                                 std::int32_t columns) const {
  return settled().solve(b, x, columns, false);
}

template <class T>
Result<Refinement> Solver<T>::solve_transposed(std::span<const double> b, std::span<double> x) const {
  return settled().solve_one(b, x, true);
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::solve_transposed(std::span<const double> b, std::span<double> x,
                                                            std::int32_t columns) const {
  return settled().solve(b, x, columns, true);
}

template <class T>
Result<Refinement> Solver<T>::step(std::span<const double> values, std::span<const double> b, std::span<double> x) {
  return settled().step(values, b, x);
}

template <class T>
Status Solver<T>::step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) {
  return impl().step_device(d_values, d_b, d_x, stream);
}

template <class T>
Result<Refinement> Solver<T>::wait_for_step() {
  return impl().wait_for_step();
}

template <class T>
const Statistics& Solver<T>::statistics() const {
  return settled().known();
}

template <class T>
Result<const Factors<T>*> Solver<T>::download_factors() const {
  return settled().on_host();
}

template <class T>
const Factors<T>& Solver<T>::factors() const {
  const auto f = settled().on_host();
  return f.ok() ? **f : settled().no_factors;
}

template <class T>
Result<double> Solver<T>::largest_multiplier() const {
  return settled().largest_multiplier();
}
template <class T>
Status Solver<T>::pivots(std::span<double> pivots) const {
  return settled().pivots(pivots);
}

template <class T>
const Analysis& Solver<T>::analysis() const {
  return settled().analysis ? *settled().analysis : settled().no_analysis;
}

template <class T>
const Plan& Solver<T>::plan() const {
  return settled().plan();
}

template <class T>
const FilledPattern& Solver<T>::filled() const {
  return settled().filled();
}

template <class T>
const RungChoice& Solver<T>::choice() const {
  return settled().choice;
}

template <class T>
const StepTimes& Solver<T>::times() const {
  return settled().times;
}

template <class T>
double Solver<T>::numeric_ms() const {
  const StepTimes& t = times();
  return t.pivots + t.upload + t.refactor;
}

template <class T>
const Status& Solver<T>::repivot_cause() const {
  (void)settled().judged_or_out_of_memory();
  return settled().cause;
}

template class Solver<float>;
template class Solver<double>;

}  // namespace lulab
