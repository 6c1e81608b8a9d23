#include "driver/batch_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/factors.h"
#include "core/timing.h"
#include "driver/analysis_sequence.h"
#include "driver/no_x.h"
#include "driver/pivot_check.h"
#include "driver/through_host.h"
#include "solve/device_batch_solver.h"
#include "solve/triangular.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/analyze_with_plan.h"

namespace lulab {

namespace {

Status bad(std::string what) { return Status::error(StatusCode::invalid_argument, std::move(what)); }

Status not_finite_b(std::int32_t row, double entry) {
  Where where;
  where.rows = {row};
  return Status::error(StatusCode::invalid_argument, fmt::format("entry {} of b is {}, not finite", row + 1, entry),
                       std::move(where));
}

Status no_memory() { return Status::error(StatusCode::out_of_memory, "not enough host memory for a batch"); }

}  // namespace

template <class T>
struct BatchSolver<T>::Impl {
  Impl(std::optional<RungChooser> the_chooser, RungChoice the_choice, SolverOptions the_options)
      : chooser(the_chooser),
        choice(std::move(the_choice)),
        options(std::move(the_options)),
        sequence(options.preprocess, {options.expected_steps}) {}

  using Solutions = std::vector<Result<Refinement>>;  // (systems)

  /// GPU-resident solve path: what it needs beside the rung's arrays.
  struct ResidentBatch {
    std::unique_ptr<DeviceBatchSolver<T>> solver;
    simt::DeviceBuffer<double> d_b, d_x;  // (n, systems)
    simt::DeviceBuffer<double> d_a;       // (nnz, systems) if keeps_a
    bool keeps_a = false;                 // the rung does not have A in double
  };

  const std::optional<RungChooser> chooser;  // none: the caller named the rung
  RungChoice choice;                         // no rung: none was chosen yet
  SolverOptions options;
  AnalysisSequence sequence;
  std::int32_t systems = 0;
  std::unique_ptr<Analysis> analysis;  // its address stays: the factorizer refers to it
  std::unique_ptr<Factorizer<T>> batch;
  std::unique_ptr<ResidentBatch> resident;      // null: the host solves
  bool device_path_unavailable = false;         // the device has no memory for it, or the pattern is too large
  std::vector<double> values;                   // (nnz, systems) where the host solves
  std::vector<Status> statuses;                 // (systems) of the last factor()
  std::vector<double> growth;                   // (systems) NaN: not known
  std::vector<std::unique_ptr<Solver<T>>> own;  // (systems) of those with pivots of their own, else null
  StepTimes times;
  Status state = bad("batch solver: call analyze() first");  // ok: there are factors
  bool was_factored = false;                                 // the last factor() succeeded
  bool in_flight = false;                                    // a step_device() of which nothing is known yet
  bool left_to_recover = false;                              // systems that step_device() found without good pivots
  Result<Solutions> last_step = bad("batch solver: call step_device() first");
  const Analysis no_analysis;

  const RungFacts& facts() const { return choice.rung->facts; }
  std::size_t n() const { return static_cast<std::size_t>(analysis->filled.n); }
  std::size_t nnz() const { return static_cast<std::size_t>(analysis->a.nnz()); }

  Status forget(Status why) {
    resident.reset();
    device_path_unavailable = false;
    if (chooser) choice = {};
    batch.reset();
    analysis.reset();
    statuses.clear();
    growth.clear();
    own.clear();
    systems = 0;
    times = {};
    was_factored = in_flight = left_to_recover = false;
    last_step = bad("batch solver: call step_device() first");
    return state = std::move(why);
  }

  const Rung& pivot_rung() const {
    const Rung& named = pivot_chooser(options.first);
    return named.supports<T>() ? named : pivot_chooser(FirstFactorization::rung);
  }
  /// A Solver that picks pivots by value in every factorization.
  std::unique_ptr<Solver<T>> choosing(double pivot_tol) const {
    SolverOptions how = options;
    how.first = FirstFactorization::rung;
    how.factor.pivot_tol = pivot_tol;
    how.factor.perturb_pivots = 0;
    how.factor = how.factor.only(pivot_rung().facts.options);
    return std::make_unique<Solver<T>>(pivot_rung(), how);
  }

  /// The pivots that `first` picks become the plan's diagonal. Are they other ones?
  Result<bool> take_first_pivots(const CscView<double>& a) {
    if (options.first == FirstFactorization::rung) return false;
    const auto solver = choosing(options.factor.pivot_tol);
    LULAB_RETURN_IF_ERROR(solver->analyze(a, *analysis));
    LULAB_RETURN_IF_ERROR(solver->factor(a));
    LULAB_ASSIGN_OR_RETURN(const auto f, solver->download_factors());
    if (f->plan.p == analysis->plan.p) return false;
    LULAB_ASSIGN_OR_RETURN(auto replanned, analyze_with_plan(a, f->plan));
    *analysis = std::move(replanned);
    return true;
  }

  Status take_analysis(const CscView<double>& a, CostedAnalysis of_a, std::int32_t count) try {
    (void)forget(bad("batch solver: call factor() first"));
    Status prepared = prepare(a, std::move(of_a), count);
    return prepared.ok() ? prepared : forget(std::move(prepared));
  } catch (const std::bad_alloc&) {
    return forget(no_memory());
  }
  Status prepare(const CscView<double>& a, CostedAnalysis known, std::int32_t count) {
    if (count < 1) return bad("batch solver: a batch has at least one system");
    LULAB_RETURN_IF_ERROR(check_options(options));
    if (options.solve != nullptr) return bad("batch solver: a batch has solves of its own; leave SolverOptions::solve");
    if (chooser) LULAB_RETURN_IF_ERROR(chooser->check_options(options.factor));
    analysis = std::make_unique<Analysis>(std::move(known.analysis));
    systems = count;
    LULAB_ASSIGN_OR_RETURN(const bool others, take_first_pivots(a));
    if (others) known.costs = {};
    if (chooser)
      choice = chooser->choose(analysis->filled, options.factor, {systems, options.expected_steps}, known.costs);
    Status status = prepare_rung();
    if (status.ok() || !chooser) return status;
    RungChoice instead = chooser->fall_back(choice, status);
    if (instead.rung == nullptr) return status;
    batch.reset();
    choice = std::move(instead);
    return prepare_rung();
  }
  Status prepare_rung() {
    if (options.factor.perturb_pivots > 0 && !facts().perturbs_pivots)
      return bad(fmt::format("{} does not perturb pivots; set perturb_pivots to 0 or take another rung", facts().id));
    batch = choice.rung->make<T>(chooser ? options.factor.only(facts().options) : options.factor);
    if (!batch || facts().pivoting != Pivoting::fixed)
      return Status::error(StatusCode::not_implemented,
                           fmt::format("{} factors no batches of {}: they need fixed pivots and that scalar type",
                                       facts().id, sizeof(T) == 4 ? "f32" : "f64"));
    return batch->analyze(*analysis, systems);
  }

  /// Makes `resident` where the rung leaves its factors on the device.
  Status prepare_device_path() {
    if (resident || device_path_unavailable || batch->stream() == nullptr || n() == 0) return {};
    const DeviceArrays<T> arrays = batch->device_arrays();
    if (arrays.lu == nullptr) return {};
    const Status made = make_resident(arrays.a == nullptr || !std::is_same_v<T, double>);
    device_path_unavailable = made.code == StatusCode::out_of_memory || made.code == StatusCode::not_implemented;
    return device_path_unavailable ? Status{} : made;
  }
  Status make_resident(bool keeps_a) {
    auto made = std::make_unique<ResidentBatch>();
    made->keeps_a = keeps_a;
    LULAB_ASSIGN_OR_RETURN(made->solver, DeviceBatchSolver<T>::create(*analysis, systems, *batch->stream()));
    for (auto* buffer : {&made->d_b, &made->d_x})
      LULAB_RETURN_IF_ERROR(simt::make(*buffer, static_cast<std::int64_t>(n()) * systems));
    if (keeps_a) LULAB_RETURN_IF_ERROR(simt::make(made->d_a, static_cast<std::int64_t>(nnz()) * systems));
    LULAB_RETURN_IF_ERROR(batch->prepare_upload_from_device());
    resident = std::move(made);
    return {};
  }

  const double* d_a() const {
    if constexpr (std::is_same_v<T, double>)
      if (!resident->keeps_a) return batch->device_arrays().a;
    return resident->d_a.data();
  }

  PivotCheck<T> check() const { return {facts().id, max_growth_without_probe<T>(options.max_growth)}; }
  CscView<double> matrix_view(std::span<const double> of_system) const { return {analysis->a.view(), of_system}; }

  /// (systems); where a system has no factors only `a` counts.
  Result<std::vector<SystemSizes>> measure(std::span<const double> given) {
    if (resident) return resident->solver->sizes(d_a(), batch->device_arrays().lu, *batch->stream());
    std::vector<SystemSizes> all(systems);
    for (std::int32_t s = 0; s < systems; ++s) {
      const auto of_system = given.subspan(nnz() * s, nnz());
      all[s].scaled_a = max_abs_pracq(matrix_view(of_system), analysis->plan);
      if (!statuses[s].ok()) continue;
      LULAB_ASSIGN_OR_RETURN(const auto f, batch->download(s));
      all[s].l = max_abs_l(f);
      all[s].u = max_abs_u(f);
    }
    return all;
  }

  /// Were the pivots good for the values of a system that has factors?
  Status check_sizes(std::int32_t system, const SystemSizes& sizes) {
    LULAB_RETURN_IF_ERROR(check().check_largest(sizes.l, sizes.u));
    growth[system] = pivot_growth(sizes.u, sizes.scaled_a);
    return check().check_growth(growth[system], batch->statistics(system).perturbed_pivots);
  }

  /// The checks of all systems.   sizes: (systems)
  Status judge_sizes(const std::vector<SystemSizes>& sizes) {
    growth.assign(systems, std::numeric_limits<double>::quiet_NaN());
    for (std::int32_t s = 0; s < systems; ++s) {
      if (!std::isfinite(static_cast<T>(sizes[s].scaled_a))) {
        LULAB_ASSIGN_OR_RETURN(const auto a, matrix(s));
        statuses[s] = not_finite(a.values);
      } else if (statuses[s].ok()) {
        statuses[s] = check_sizes(s, sizes[s]);
      }
    }
    return {};
  }

  /// Requires  one is not finite after scaling.
  Status not_finite(std::span<const double> of_system) const {
    const CscMatrix<double> scaled = scale(matrix_view(of_system), analysis->plan.r, analysis->plan.c);
    const auto at = std::ranges::find_if(scaled.values, [](double v) { return !std::isfinite(static_cast<T>(v)); });
    const auto k = at - scaled.values.begin();
    const auto column = std::ranges::upper_bound(analysis->a.col_ptr, k) - analysis->a.col_ptr.begin() - 1;
    const std::int32_t row = analysis->a.row_idx[k];
    Where where;
    where.rows = {row};
    where.columns = {static_cast<std::int32_t>(column)};
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("A({},{}) is {}, which is not finite in {}", row + 1, column + 1, of_system[k],
                                     sizeof(T) == 4 ? "f32" : "f64"),
                         std::move(where));
  }

  Status run(std::span<const double> given) {
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(batch->upload(given));
    if (simt::Stream* stream = batch->stream()) LULAB_RETURN_IF_ERROR(stream->wait());
    times.upload += ms_since(start);
    start = Clock::now();
    Status all = batch->factor();
    if (all.ok()) all = batch->wait();
    LULAB_RETURN_IF_ERROR(take_statuses(all));
    times.refactor += ms_since(start);
    return {};
  }
  /// all: what Factorizer::wait() said.
  Status take_statuses(const Status& all) {
    if (batch->statuses().empty()) return all;
    statuses.assign(batch->statuses().begin(), batch->statuses().end());
    if (statuses.size() != static_cast<std::size_t>(systems))
      return bad(fmt::format("{} returned {} statuses for {} systems", facts().id, statuses.size(), systems));
    return {};
  }

  Status numeric(std::span<const double> given) {
    LULAB_RETURN_IF_ERROR(run(given));
    const auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(prepare_device_path());
    values.clear();
    if (!resident) {
      values.assign(given.begin(), given.end());
    } else if (resident->keeps_a) {
      LULAB_RETURN_IF_ERROR(resident->d_a.upload(given, *batch->stream()));
      LULAB_RETURN_IF_ERROR(batch->stream()->wait());
    }
    LULAB_ASSIGN_OR_RETURN(const auto sizes, measure(given));
    LULAB_RETURN_IF_ERROR(judge_sizes(sizes));
    times.judge += ms_since(start);
    return recover_all();
  }

  /// Nothing of earlier values is left.
  void start_phase() {
    state = bad("batch solver: call factor() first");
    statuses.clear();
    own.clear();
    own.resize(systems);
    times = {};
    left_to_recover = false;
  }
  Status settle(Status done) {
    if (!done.ok()) statuses.clear();
    return state = std::move(done);
  }

  Status check_values(std::string_view call, std::span<const double> given) const {
    if (given.size() == nnz() * systems) return {};
    return bad(
        fmt::format("{}: {} values were given for {} systems of {} entries", call, given.size(), systems, nnz()));
  }

  Result<std::vector<Status>> factor(std::span<const double> given) try {
    if (!batch) return state;
    start_phase();
    was_factored = false;
    LULAB_RETURN_IF_ERROR(check_values("factor", given));
    LULAB_RETURN_IF_ERROR(settle(numeric(given)));
    std::vector<Status> told = statuses;
    was_factored = true;
    return told;
  } catch (const std::bad_alloc&) {
    lose_factors();
    return settle(no_memory());
  }
  /// Allocates nothing: there may be no memory for the message of an error either.
  void lose_factors() {
    statuses.clear();
    for (auto& solver : own) solver.reset();
    left_to_recover = false;
    state = {};
    state.code = StatusCode::out_of_memory;
  }

  CscMatrix<double> matrix(std::span<const double> of_system) const {
    CscMatrix<double> a;
    static_cast<CscPattern&>(a) = analysis->a;
    a.values.assign(of_system.begin(), of_system.end());
    return a;
  }
  /// That of a system as last factored.
  Result<CscMatrix<double>> matrix(std::int32_t system) const {
    if (!resident) return matrix(std::span(values).subspan(nnz() * system, nnz()));
    std::vector<double> downloaded(nnz());
    LULAB_RETURN_IF_ERROR(
        simt::copy_to_host(downloaded.data(), d_a() + nnz() * system, nnz() * sizeof(double), *batch->stream()));
    LULAB_RETURN_IF_ERROR(batch->stream()->wait());
    return matrix(std::span<const double>(downloaded));
  }

  /// Pivots of their own for all systems that ask for them.
  Status recover_all() {
    for (std::int32_t s = 0; s < systems && options.repivot; ++s) {
      if (!asks_for_pivots(statuses[s])) continue;
      LULAB_ASSIGN_OR_RETURN(const auto a, matrix(s));
      statuses[s] = recover(s, a);
    }
    left_to_recover = false;
    return {};
  }

  /// Pivots of its own for a system.
  Status recover(std::int32_t system, const CscMatrix<double>& a) {
    const auto start = Clock::now();
    auto solver = choosing(std::max(options.factor.pivot_tol, 0.1));
    Status status = solver->analyze(a, *analysis);
    if (status.ok()) status = solver->factor(a);
    if (status.ok()) own[system] = std::move(solver);
    times.pivots += ms_since(start);
    return status;
  }

  /// By the batch's factors, on the host.
  Result<Refinement> solve_on_host(std::int32_t system, std::span<const double> b, std::span<double> x) {
    LULAB_ASSIGN_OR_RETURN(const auto f, batch->download(system));
    LULAB_ASSIGN_OR_RETURN(const auto a, matrix(system));
    LULAB_RETURN_IF_ERROR(solve_mixed<T>(f, b, x));
    return refine<T>(a, f, b, x, refinement_goal<T>(options));
  }

  /// A solution that converged is the answer, anything else an error.
  Result<Refinement> judge(const Result<Refinement>& solved, std::span<const double> b, bool own_pivots) const {
    if (solved.ok() && solved->converged) return solved;
    const auto at = std::ranges::find_if(b, [](double v) { return !std::isfinite(v); });
    if (at != b.end()) return not_finite_b(static_cast<std::int32_t>(at - b.begin()), *at);
    if (!solved.ok()) return solved;
    return Status::error(
        StatusCode::needs_repivot,
        fmt::format("{}: refinement stops at the backward error {:.3g}{}; {}b or x is too small for it to judge (the "
                    "largest |b| is {:.3g}), or A is too badly conditioned for {}",
                    facts().id, solved->omega, own_pivots ? ", with pivots chosen for these values, too" : "",
                    own_pivots ? "" : "the pivots do not suit these values, ", max_abs(b),
                    sizeof(T) == 4 ? "f32" : "f64"));
  }

  Result<Refinement> judge_or_recover(std::int32_t system, const Result<Refinement>& solved, std::span<const double> b,
                                      std::span<double> x) {
    auto judged = judge(solved, b, own[system] != nullptr);
    if (judged.ok() || !options.repivot || own[system] || !asks_for_pivots(judged.status())) return judged;
    LULAB_ASSIGN_OR_RETURN(const auto a, matrix(system));
    LULAB_RETURN_IF_ERROR(recover(system, a));
    judged = judge(own[system]->solve(b, x), b, true);
    if (!judged.ok()) own[system].reset();  // it is not the pivots: this b does not take the system off the device
    return judged;
  }

  Status check_right_sides(std::string_view call, std::span<const double> b, std::span<double> x) const {
    const std::size_t size = n() * systems;
    if (b.size() != size || x.size() != size)
      return bad(fmt::format("{}: there are {} systems of {} rows, but b has {} and x has {} entries", call, systems,
                             n(), b.size(), x.size()));
    return {};
  }

  Result<Solutions> solve(std::span<const double> b, std::span<double> x) {
    LULAB_RETURN_IF_ERROR(check_overlap(b, x));
    if (!state.ok()) return no_x(x, state);
    LULAB_RETURN_IF_ERROR(check_right_sides("solve", b, x));
    auto all = try_solve(b, x);
    if (!all.ok()) return no_x(x, all.status());
    return all;
  }
  Result<Solutions> try_solve(std::span<const double> b, std::span<double> x) try {
    if (left_to_recover) LULAB_RETURN_IF_ERROR(recover_all());
    Solutions all;
    for (const Status& s : statuses) all.push_back(s.ok() ? Result(Refinement{}) : Result<Refinement>(s));
    if (resident) LULAB_RETURN_IF_ERROR(solve_on_device(b, x, all));
    finish(b, x, all);
    return all;
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory for the solutions of a batch");
  }

  /// Solves what the device did not, and judges every solution.   all: what the device found, or the error of a system
  void finish(std::span<const double> b, std::span<double> x, Solutions& all) {
    for (std::int32_t s = 0; s < systems; ++s) {
      const auto from = b.subspan(n() * s, n());
      const auto to = x.subspan(n() * s, n());
      if (statuses[s].ok()) {
        if (own[s])
          all[s] = own[s]->solve(from, to);
        else if (!resident)
          all[s] = solve_on_host(s, from, to);
        all[s] = judge_or_recover(s, all[s], from, to);
      }
      if (!all[s].ok()) std::ranges::fill(to, std::numeric_limits<double>::quiet_NaN());
    }
  }

  Status solve_on_device(std::span<const double> b, std::span<double> x, Solutions& all) {
    std::vector<std::int32_t> which;
    for (std::int32_t s = 0; s < systems; ++s)
      if (statuses[s].ok() && !own[s]) which.push_back(s);
    if (which.empty()) return {};
    simt::Stream& stream = *batch->stream();
    LULAB_RETURN_IF_ERROR(resident->d_b.upload(b, stream));
    LULAB_ASSIGN_OR_RETURN(const auto refined,
                           resident->solver->solve(d_a(), batch->device_arrays().lu, which, resident->d_b.data(),
                                                   resident->d_x.data(), stream, refinement_goal<T>(options)));
    LULAB_RETURN_IF_ERROR(resident->d_x.download(x, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    for (std::size_t k = 0; k < which.size(); ++k) all[which[k]] = refined[k];
    return {};
  }

  /// Can the device check pivots and solve without the host in between?
  bool steps_on_device() const { return resident && batch->device_arrays().failed_column != nullptr; }

  Result<Solutions> step(std::span<const double> given, std::span<const double> b, std::span<double> x) {
    LULAB_RETURN_IF_ERROR(check_overlap(b, x));
    if (!was_factored) return no_x(x, state);
    LULAB_RETURN_IF_ERROR(check_values("step", given));
    LULAB_RETURN_IF_ERROR(check_right_sides("step", b, x));
    auto all = try_step(given, b, x);
    if (!all.ok()) return no_x(x, all.status());
    return all;
  }
  Result<Solutions> try_step(std::span<const double> given, std::span<const double> b, std::span<double> x) try {
    start_phase();
    if (!steps_on_device()) {
      LULAB_RETURN_IF_ERROR(settle(numeric(given)));
      const auto start = Clock::now();
      auto all = try_solve(b, x);
      times.solve += ms_since(start);
      return all;
    }
    auto start = Clock::now();
    const Status enqueued = enqueue_step(given, b, x);
    times.upload += ms_since(start);
    LULAB_RETURN_IF_ERROR(settle(take_step(enqueued)));
    LULAB_RETURN_IF_ERROR(settle(recover_all()));
    Solutions all;
    for (std::int32_t s = 0; s < systems; ++s)
      all.push_back(statuses[s].ok() ? Result(resident->solver->found_solutions()[s].refined)
                                     : Result<Refinement>(statuses[s]));
    start = Clock::now();
    finish(b, x, all);
    times.solve += ms_since(start);
    return all;
  } catch (const std::bad_alloc&) {
    return lost_step();
  }

  Status enqueue_step(std::span<const double> given, std::span<const double> b, std::span<double> x) {
    simt::Stream& stream = *batch->stream();
    if (resident->keeps_a) LULAB_RETURN_IF_ERROR(resident->d_a.upload(given, stream));
    const bool on_device = resident->keeps_a && batch->takes_from_device();  // are scaled and rounded there
    LULAB_RETURN_IF_ERROR(on_device ? batch->upload_from_device(resident->d_a.data()) : batch->upload(given));
    LULAB_RETURN_IF_ERROR(resident->d_b.upload(b, stream));
    LULAB_RETURN_IF_ERROR(refactor_and_solve(resident->d_b.data(), resident->d_x.data()));
    return resident->d_x.download(x, stream);
  }
  /// Enqueues both for the values uploaded, with what take_step() wants to know.
  Status refactor_and_solve(const double* d_b, double* d_x) {
    simt::Stream& stream = *batch->stream();
    LULAB_RETURN_IF_ERROR(batch->refactor());
    LULAB_RETURN_IF_ERROR(resident->solver->enqueue_step(d_a(), batch->device_arrays(),
                                                         max_growth_without_probe<T>(options.max_growth), d_b, d_x,
                                                         stream, refinement_goal<T>(options)));
    return batch->download_outcome(stream);
  }
  /// Waits for a step.
  Status take_step(const Status& enqueued) {
    auto start = Clock::now();
    if (!enqueued.ok()) (void)batch->stream()->wait();  // no copy touches the caller's memory any more
    const Status done = batch->wait();
    LULAB_RETURN_IF_ERROR(enqueued);
    LULAB_RETURN_IF_ERROR(take_statuses(done));
    times.refactor += ms_since(start);
    start = Clock::now();
    LULAB_RETURN_IF_ERROR(judge_sizes(resident->solver->found_sizes()));
    times.judge += ms_since(start);
    return {};
  }
  /// After a failed allocation anywhere in a step.
  Status lost_step() {
    if (batch->stream()) (void)batch->stream()->wait();
    in_flight = false;
    lose_factors();
    last_step = state;
    last_step = no_memory();
    return settle(no_memory());
  }

  Status step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) try {
    if (!analysis) return state;
    const std::size_t size = n() * systems;
    if (size > 0 && (d_values == nullptr || d_b == nullptr || d_x == nullptr || overlap({d_b, size}, {d_x, size})))
      return bad("step_device: values, b and x are three arrays on the device; b and x must not overlap");
    Status enqueued = was_factored ? enqueue_step_on_device(d_values, d_b, d_x, stream) : state;
    return enqueued.ok() ? enqueued : no_x_on_device(d_x, size, stream, std::move(enqueued));
  } catch (const std::bad_alloc&) {
    return no_x_on_device(d_x, n() * systems, stream, lost_step());
  }
  Status enqueue_step_on_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) {
    if (!steps_on_device() || !batch->takes_from_device()) return step_through_host(d_values, d_b, d_x, stream);
    const Result<bool> captured = stream.is_captured();
    const bool is_captured = captured.ok() && *captured;
    if (!captured.ok() || is_captured) (void)wait_for_step();
    if (!captured.ok()) return lost_values(captured.status());
    start_phase();
    const Status enqueued = enqueue_on_device(d_values, d_b, d_x, stream);
    in_flight = enqueued.ok() && !is_captured;
    if (in_flight) return {};
    Status unknown = enqueued.ok()
                         ? bad("a step was captured in a graph, and what its launches leave is not known here; "
                               "call step_device() or factor() first")
                         : take_step(enqueued);
    last_step = unknown;
    (void)settle(std::move(unknown));
    return enqueued;
  }

  Status enqueue_on_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) {
    simt::Stream& own_stream = *batch->stream();
    LULAB_RETURN_IF_ERROR(own_stream.wait_for(stream));
    LULAB_RETURN_IF_ERROR(batch->upload_from_device(d_values));
    if (resident->keeps_a)
      LULAB_RETURN_IF_ERROR(
          simt::copy_on_device(resident->d_a.data(), d_values, resident->d_a.size() * sizeof(double), own_stream));
    LULAB_RETURN_IF_ERROR(refactor_and_solve(d_b, d_x));
    return stream.wait_for(own_stream);
  }

  /// For rungs that take no values from device memory.
  Status step_through_host(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) {
    LULAB_RETURN_IF_ERROR(check_may_wait_for(stream));
    std::vector<double> given(nnz() * systems), b(n() * systems), x(n() * systems);
    if (Status copied = copy_step_to_host(d_values, given, d_b, b, stream); !copied.ok())
      return lost_values(std::move(copied));
    last_step = step(given, b, x);
    if (Status copied = copy_x_to_device(x, d_x, stream); !copied.ok()) last_step = std::move(copied);
    return last_step.status();
  }

  /// Factors of the values before are no answer for others.   Returns why.
  Status lost_values(Status why) {
    start_phase();
    last_step = why;
    return settle(std::move(why));
  }

  /// What became of the last step_device().
  const Result<Solutions>& wait_for_step() try {
    if (!in_flight) return last_step;
    in_flight = false;
    if (Status done = settle(take_step({})); !done.ok()) return last_step = std::move(done);
    left_to_recover = true;
    Solutions all;
    for (std::int32_t s = 0; s < systems; ++s) all.push_back(told(s, resident->solver->found_solutions()[s]));
    return last_step = std::move(all);
  } catch (const std::bad_alloc&) {
    (void)lost_step();
    return last_step;
  }
  /// Of a system after a step on the device.
  Result<Refinement> told(std::int32_t system, const SystemSolution& solution) const {
    if (!statuses[system].ok()) return statuses[system];
    if (solution.refined.converged) return solution.refined;
    if (solution.not_finite >= 0) return not_finite_b(solution.not_finite, solution.entry);
    return Status::error(
        StatusCode::needs_repivot,
        fmt::format("{}: refinement stops at the backward error {:.3g}, and x was set to NaN; solve() with this b, or "
                    "step() with these values takes new pivots if they are the cause",
                    facts().id, solution.refined.omega));
  }

  BatchStatistics statistics() const {
    BatchStatistics known;
    known.systems = systems;
    known.failed = static_cast<std::int32_t>(std::ranges::count_if(statuses, [](const Status& s) { return !s.ok(); }));
    known.recovered = static_cast<std::int32_t>(std::ranges::count_if(own, [](const auto& s) { return bool(s); }));
    known.on_device = resident != nullptr && state.ok();
    if (batch) known.peak_bytes = batch->statistics(0).peak_bytes;
    return known;
  }
  Statistics statistics(std::int32_t system) const {
    if (system < 0 || system >= std::ssize(statuses) || !statuses[system].ok()) return {};
    Statistics known = own[system] ? own[system]->statistics() : batch->statistics(system);
    if (own[system])
      known.repivots = 1;
    else
      known.pivot_growth = growth[system];
    return known;
  }
};

template <class T>
BatchSolver<T>::BatchSolver(SolverOptions options) : BatchSolver(RungChooser(), std::move(options)) {}
template <class T>
BatchSolver<T>::BatchSolver(const Rung& rung, SolverOptions options)
    : impl_(new Impl(std::nullopt, {&rung, {}}, std::move(options))) {}
template <class T>
BatchSolver<T>::BatchSolver(const RungChooser& chooser, SolverOptions options)
    : impl_(new Impl(chooser, {}, std::move(options))) {}
template <class T>
BatchSolver<T>::~BatchSolver() = default;
template <class T>
BatchSolver<T>::BatchSolver(BatchSolver&&) noexcept = default;
template <class T>
BatchSolver<T>& BatchSolver<T>::operator=(BatchSolver&&) noexcept = default;

template <class T>
typename BatchSolver<T>::Impl& BatchSolver<T>::impl() const {
  if (!impl_) impl_ = std::move(BatchSolver().impl_);
  return *impl_;
}

template <class T>
typename BatchSolver<T>::Impl& BatchSolver<T>::settled() const {
  (void)impl().wait_for_step();
  return *impl_;
}

template <class T>
Status BatchSolver<T>::analyze(const CscView<double>& a, std::int32_t systems) {
  Impl& s = settled();
  auto next = s.sequence.next(a, s.analysis.get());
  if (!next.ok()) return s.forget(next.status());
  return s.take_analysis(a, next->anew ? std::move(*next->anew) : CostedAnalysis{std::move(*s.analysis)}, systems);
}

template <class T>
Status BatchSolver<T>::analyze(const CscView<double>& a, Analysis analysis, std::int32_t systems) {
  Impl& s = settled();
  s.sequence.forget();
  return s.take_analysis(a, {std::move(analysis)}, systems);
}

template <class T>
Result<std::vector<Status>> BatchSolver<T>::factor(std::span<const double> values) {
  return settled().factor(values);
}
template <class T>
Result<std::vector<Result<Refinement>>> BatchSolver<T>::solve(std::span<const double> b, std::span<double> x) {
  return settled().solve(b, x);
}
template <class T>
Result<std::vector<Result<Refinement>>> BatchSolver<T>::step(std::span<const double> values, std::span<const double> b,
                                                             std::span<double> x) {
  return settled().step(values, b, x);
}
template <class T>
Status BatchSolver<T>::step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) {
  return impl().step_device(d_values, d_b, d_x, stream);
}
template <class T>
Result<std::vector<Result<Refinement>>> BatchSolver<T>::wait_for_step() try {
  return impl().wait_for_step();
} catch (const std::bad_alloc&) {
  return no_memory();
}
template <class T>
BatchStatistics BatchSolver<T>::statistics() const {
  return settled().statistics();
}
template <class T>
Statistics BatchSolver<T>::statistics(std::int32_t system) const {
  return settled().statistics(system);
}
template <class T>
const Analysis& BatchSolver<T>::analysis() const {
  return impl().analysis ? *impl().analysis : impl().no_analysis;
}
template <class T>
const RungChoice& BatchSolver<T>::choice() const {
  return impl().choice;
}
template <class T>
const StepTimes& BatchSolver<T>::times() const {
  return settled().times;
}

template class BatchSolver<float>;
template class BatchSolver<double>;

}  // namespace lulab
