#include "driver/solver.h"

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/factors.h"
#include "core/timing.h"
#include "driver/analyze.h"
#include "driver/block_condition.h"
#include "driver/pivot_check.h"
#include "driver/resident_solve.h"
#include "solve/triangular.h"
#include "symbolic/analyze_with_plan.h"

namespace lulab {

Status check_options(const SolverOptions& options) {
  if (options.max_growth >= 1) return {};
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("max_growth = {}; it must be at least 1", options.max_growth));
}

template <class T>
struct Solver<T>::Impl {
  Impl(std::optional<RungChooser> the_chooser, RungChoice the_choice, SolverOptions the_options)
      : chooser(the_chooser), choice(std::move(the_choice)), options(std::move(the_options)) {}

  const std::optional<RungChooser> chooser;  // none: the caller named the rung
  RungChoice choice;                         // no rung: none was chosen yet
  SolverOptions options;
  CscMatrix<double> a;                 // the pattern analyzed; values as last factored if has_values
  bool has_values = false;             // false: the values are on the device alone
  std::vector<double> probe;           // probe_solution()
  std::unique_ptr<Analysis> analysis;  // its address stays: the factorizer refers to it
  std::unique_ptr<Factorizer<T>> factorizer;
  std::unique_ptr<ResidentSolve<T>> resident;  // refers to both; null: the host checks pivots and solves
  bool device_path_unavailable = false;        // the device has no memory for it
  bool factored = false;                       // the last numeric phase succeeded
  bool was_factored = false;                   // the last factor() did
  std::optional<Factors<T>> factors;           // on the host
  const Factors<T> no_factors;
  const Analysis no_analysis;
  Statistics statistics;
  Status state = Status::error(StatusCode::invalid_argument, "solver: call analyze() first");
  Status cause;  // of the last re-pivoting
  StepTimes times;

  void drop_factors() {
    factored = false;
    factors.reset();
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
    factorizer.reset();
    device_path_unavailable = false;
  }

  Status forget(Status s) {
    drop_factorizer();
    if (chooser) choice = {};
    analysis.reset();
    was_factored = false;
    cause = {};
    times = {};
    drop_factors();
    return state = std::move(s);
  }

  const RungFacts& facts() const { return choice.rung->facts; }
  PivotCheck<T> check() const { return {facts().id, options.max_growth}; }

  /// The chosen rung for the analysis; the CPU's where the GPU has no room.
  Status make_factorizer() {
    drop_factorizer();
    LULAB_RETURN_IF_ERROR(check_options(options));
    if (chooser) LULAB_RETURN_IF_ERROR(chooser->check_options(options.factor));
    if (chooser) choice = chooser->choose(analysis->filled, options.factor);
    Status status = prepare_rung();
    if (status.ok() || !chooser) return status;
    RungChoice instead = chooser->fall_back(choice, status);
    if (instead.rung == nullptr) return status;
    drop_factorizer();
    choice = std::move(instead);
    return prepare_rung();
  }
  Status prepare_rung() {
    factorizer = choice.rung->make<T>(chooser ? options.factor.only(facts().options) : options.factor);
    if (!factorizer)
      return Status::error(StatusCode::not_implemented,
                           fmt::format("{} does not factor {}", facts().id, sizeof(T) == 4 ? "f32" : "f64"));
    LULAB_RETURN_IF_ERROR(factorizer->analyze(*analysis));
    if (options.factor.perturb_pivots > 0 && !facts().perturbs_pivots)
      return Status::error(
          StatusCode::invalid_argument,
          fmt::format("{} does not perturb pivots; set perturb_pivots to 0 or take another rung", facts().id));
    return {};
  }

  Status check_pattern(const CscView<double>& from) const {
    if (!analysis) return state;
    if (from.n_rows != a.n_rows || from.n_cols != a.n_cols || !std::ranges::equal(from.col_ptr, a.col_ptr) ||
        !std::ranges::equal(from.row_idx, a.row_idx))
      return Status::error(StatusCode::invalid_argument,
                           "solver: this matrix has another pattern than the one analyzed; call analyze() for it");
    return {};
  }
  Status check_size(std::span<const double> values) const {
    if (!analysis) return state;
    if (values.size() != a.values.size())
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("solver: {} values were given; the matrix analyzed has {} entries; call "
                                       "analyze() for another pattern",
                                       values.size(), a.values.size()));
    return {};
  }

  void take_values(std::span<const double> values) {
    std::ranges::copy(values, a.values.begin());
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

  /// Makes `resident` where the rung leaves its factors on the device and its pivots are fixed.
  Status prepare_device_path() {
    if (resident || device_path_unavailable || facts().pivoting != Pivoting::fixed || factorizer->stream() == nullptr)
      return {};
    const DeviceArrays<T> arrays = factorizer->device_arrays();
    if (arrays.lu == nullptr) return {};
    auto made = ResidentSolve<T>::create(*analysis, arrays.a != nullptr, probe, *factorizer->stream());
    device_path_unavailable = made.status().code == StatusCode::out_of_memory;
    if (made.ok()) resident = std::move(*made);
    return device_path_unavailable ? Status{} : made.status();
  }

  /// Factors, and checks the pivots where they were given beforehand.
  Status attempt(std::span<const double> values, bool again, bool given_pivots) {
    LULAB_RETURN_IF_ERROR(run(values, again));
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(prepare_device_path());
    times.judge += ms_since(start);
    if (resident) return check_on_device(values);
    start = Clock::now();
    auto f = factorizer->download();
    times.download += ms_since(start);
    if (!f.ok()) return f.status();
    start = Clock::now();
    take_values(values);
    f->statistics.pivot_growth = pivot_growth(max_abs_u(*f), max_abs_pracq(a, f->plan));
    f->statistics.perturbed_pivots =
        std::max(f->statistics.perturbed_pivots, factorizer->statistics().perturbed_pivots);
    if (given_pivots) LULAB_RETURN_IF_ERROR(check_on_host(*f));
    times.judge += ms_since(start);
    statistics = f->statistics;
    factors = std::move(*f);
    return {};
  }

  Status check_on_host(const Factors<T>& f) const {
    LULAB_RETURN_IF_ERROR(check().check_values(f));
    LULAB_RETURN_IF_ERROR(check().check_growth(f.statistics.pivot_growth, f.statistics.perturbed_pivots));
    if (!options.probe) return {};
    if (f.statistics.perturbed_pivots > 0) return check().check_refined_probe(refine_probe_on_host<T>(a, f, probe));
    const auto probed = probe_on_host<T>(a, f, probe);
    return probed.ok() ? check().check_probe(*probed) : probed.status();
  }

  Status check_on_device(std::span<const double> values) {
    has_values = false;
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(resident->upload(values));
    times.upload += ms_since(start);
    start = Clock::now();
    LULAB_RETURN_IF_ERROR(resident->update(factorizer->device_arrays()));
    LULAB_ASSIGN_OR_RETURN(const auto measured, resident->measure(options.probe));
    const FactorMagnitudes& m = measured.factors;
    statistics = factorizer->statistics();
    statistics.structural_rank = statistics.numerical_rank = analysis->filled.n;
    statistics.rcond = m.min_pivot / m.max_pivot;
    statistics.pivot_growth = pivot_growth(m.max_u, measured.probe.max_a);
    Status checked = check().check_largest(m.max_l, m.max_u);
    if (!checked.ok()) checked = name_not_finite(std::move(checked));
    if (checked.ok()) checked = check().check_growth(statistics.pivot_growth, statistics.perturbed_pivots);
    if (checked.ok() && options.probe)
      checked = statistics.perturbed_pivots > 0 ? check().check_refined_probe(resident->refine_probe())
                                                : check().check_probe(measured.probe);
    times.judge += ms_since(start);
    return checked;
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
    LULAB_ASSIGN_OR_RETURN(auto plan, choose(pivot_chooser(options.first), how, *analysis, a));
    if (plan.p != analysis->plan.p || plan.q != analysis->plan.q) {
      LULAB_ASSIGN_OR_RETURN(auto replanned, lulab::analyze_with_plan(a, std::move(plan)));
      drop_factorizer();  // refers to the analysis
      *analysis = std::move(replanned);
      if (Status failed = make_factorizer(); !failed.ok()) return forget(std::move(failed));
    }
    times.pivots += ms_since(start);
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
        outcome = attempt(values, false, true);
        if (outcome.code != StatusCode::needs_repivot) break;
      }
    } else {
      outcome = attempt(values, false, false);
    }
    if (outcome.ok()) statistics.repivots = 1;
    return outcome;
  }

  Status numeric(std::span<const double> values, bool again) {
    times = {};
    cause = {};
    drop_factors();
    if (!again && options.first != FirstFactorization::rung && choice.rung != &pivot_chooser(options.first)) {
      take_values(values);
      LULAB_RETURN_IF_ERROR(take_pivots(options.factor.pivot_tol));
    }
    const bool given_pivots = again || facts().pivoting == Pivoting::fixed;
    Status outcome = attempt(values, again, given_pivots);
    if (!outcome.ok()) return given_pivots && asks_for_pivots(outcome) ? repivot(values, std::move(outcome)) : outcome;
    statistics.repivots = 0;
    return {};
  }

  /// wrong: what is wrong with the matrix given.
  Status factor(Status wrong, std::span<const double> values) {
    was_factored = false;
    return settle(wrong.ok() ? numeric(values, false) : std::move(wrong));
  }
  Status refactor(Status wrong, std::span<const double> values) {
    if (!was_factored) return state;
    return settle(wrong.ok() ? numeric(values, factored) : std::move(wrong));
  }

  /// The factors on the host, with the statistics of the Solver.
  Result<const Factors<T>*> on_host() try {
    if (!factored) return state;
    if (!factors) {
      const auto start = Clock::now();
      auto f = factorizer->download();
      times.download += ms_since(start);
      if (!f.ok()) return f.status();
      factors = std::move(*f);
    }
    factors->statistics = statistics;
    return &*factors;
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory for the factors");
  }

  /// The values of A on the host.
  Status download_values() {
    if (has_values) return {};
    LULAB_RETURN_IF_ERROR(resident->download_a(a.values));
    has_values = true;
    return {};
  }

  Result<ConditionEstimate> condition() try {
    LULAB_ASSIGN_OR_RETURN(const auto f, on_host());
    LULAB_RETURN_IF_ERROR(download_values());
    ConditionEstimate estimate = estimate_condition<T>(a, *f);
    // So near to singular neither the factors nor the one scaling of A can be trusted.
    if (!(estimate.rcond_scaled >= 1000 * std::numeric_limits<T>::epsilon())) {
      LULAB_ASSIGN_OR_RETURN(estimate.rcond_scaled, estimate_rcond_of_blocks(a));
    }
    return estimate;
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory to estimate the condition of A");
  }

  Result<std::vector<Refinement>> solve(std::span<const double> b, std::span<double> x, std::int32_t columns,
                                        bool transposed) {
    if (!factored) return state;
    const auto n = static_cast<std::size_t>(a.n_cols);
    const std::size_t size = n * static_cast<std::size_t>(std::max(columns, 0));
    if (columns < 1 || b.size() != size || x.size() != size)
      return Status::error(
          StatusCode::invalid_argument,
          fmt::format("solve: A is {0} x {0} and there are {1} right-hand sides, but b has {2} and x has {3} entries",
                      n, columns, b.size(), x.size()));
    if (overlap(b, x))
      return Status::error(StatusCode::invalid_argument, "solve: b and x overlap; give x memory of its own");
    if (resident) {
      auto solved = resident->solve(b, x, columns, transposed);
      if (solved.ok() || solved.status().code != StatusCode::out_of_memory) return solved;
    }
    LULAB_ASSIGN_OR_RETURN(const auto f, on_host());
    LULAB_RETURN_IF_ERROR(download_values());
    CscMatrix<double> a_transposed;
    if (transposed) a_transposed = transpose(a.view());
    std::vector<Refinement> all;
    for (std::int32_t c = 0; c < columns; ++c) {
      const auto from = b.subspan(n * c, n);
      const auto to = x.subspan(n * c, n);
      LULAB_RETURN_IF_ERROR(transposed ? solve_transposed_mixed<T>(*f, from, to) : solve_mixed<T>(*f, from, to));
      LULAB_ASSIGN_OR_RETURN(const auto refined, transposed ? refine_transposed<T>(a_transposed, *f, from, to)
                                                            : refine<T>(a, *f, from, to));
      all.push_back(refined);
    }
    return all;
  }

  Result<Refinement> solve_one(std::span<const double> b, std::span<double> x, bool transposed) {
    LULAB_ASSIGN_OR_RETURN(const auto solved, solve(b, x, 1, transposed));
    return solved.front();
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
Result<ConditionEstimate> Solver<T>::condition() const {
  return impl().condition();
}

template <class T>
Status Solver<T>::analyze(const CscView<double>& a) {
  auto analysis = lulab::analyze(a, impl().options.preprocess);
  return analysis.ok() ? analyze(a, std::move(*analysis)) : impl().forget(analysis.status());
}

template <class T>
Status Solver<T>::analyze(const CscView<double>& a, Analysis analysis) try {
  Impl& s = impl();
  (void)s.forget(Status::error(StatusCode::invalid_argument, "solver: call factor() first"));
  s.a = convert<double>(a);
  s.has_values = true;
  s.probe = probe_solution(a.n_cols);
  s.analysis = std::make_unique<Analysis>(std::move(analysis));
  if (Status failed = s.make_factorizer(); !failed.ok()) return s.forget(std::move(failed));
  return {};
} catch (const std::bad_alloc&) {
  return impl().forget(Status::error(StatusCode::out_of_memory, "not enough host memory for the analysis of A"));
}

template <class T>
Status Solver<T>::factor(const CscView<double>& a) {
  return impl().factor(impl().check_pattern(a), a.values);
}

template <class T>
Status Solver<T>::factor(std::span<const double> values) {
  return impl().factor(impl().check_size(values), values);
}

template <class T>
Status Solver<T>::refactor(const CscView<double>& a) {
  return impl().refactor(impl().check_pattern(a), a.values);
}

template <class T>
Status Solver<T>::refactor(std::span<const double> values) {
  return impl().refactor(impl().check_size(values), values);
}

template <class T>
Result<Refinement> Solver<T>::solve(std::span<const double> b, std::span<double> x) const {
  return impl().solve_one(b, x, false);
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::solve(std::span<const double> b, std::span<double> x,
                                                 std::int32_t columns) const {
  return impl().solve(b, x, columns, false);
}

template <class T>
Result<Refinement> Solver<T>::solve_transposed(std::span<const double> b, std::span<double> x) const {
  return impl().solve_one(b, x, true);
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::solve_transposed(std::span<const double> b, std::span<double> x,
                                                            std::int32_t columns) const {
  return impl().solve(b, x, columns, true);
}

template <class T>
const Statistics& Solver<T>::statistics() const {
  return impl().statistics;
}

template <class T>
Result<const Factors<T>*> Solver<T>::download_factors() const {
  return impl().on_host();
}

template <class T>
const Factors<T>& Solver<T>::factors() const {
  const auto f = impl().on_host();
  return f.ok() ? **f : impl().no_factors;
}

template <class T>
const Analysis& Solver<T>::analysis() const {
  return impl().analysis ? *impl().analysis : impl().no_analysis;
}

template <class T>
const RungChoice& Solver<T>::choice() const {
  return impl().choice;
}

template <class T>
const StepTimes& Solver<T>::times() const {
  return impl().times;
}

template <class T>
double Solver<T>::numeric_ms() const {
  const StepTimes& t = times();
  return t.pivots + t.upload + t.refactor;
}

template <class T>
const Status& Solver<T>::repivot_cause() const {
  return impl().cause;
}

template class Solver<float>;
template class Solver<double>;

}  // namespace lulab
