#include "solve/batch_solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/batch_factorizer.h"
#include "solve/device_batch.h"
#include "solve/triangular.h"
#include "symbolic/analyze.h"

namespace lulab {

namespace sparse_leftlooking {
extern const Rung reference;
extern const Rung klu;
}  // namespace sparse_leftlooking

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status bad(std::string what) { return Status::error(StatusCode::invalid_argument, std::move(what)); }

Status no_memory() { return Status::error(StatusCode::out_of_memory, "not enough host memory for a batch"); }

bool asks_for_pivots(const Status& s) {
  return s.code == StatusCode::needs_repivot || s.code == StatusCode::numerically_singular;
}

double larger_or_nan(double largest, double value) {
  return std::isnan(largest) || std::abs(value) <= largest ? largest : std::abs(value);
}

}  // namespace

template <class T>
struct BatchSolver<T>::Impl {
  Impl(const Rung& the_rung, SolverOptions the_options) : rung(the_rung), options(std::move(the_options)) {}

  /// What a batch has on the device beside the rung's arrays.
  struct DeviceSide {
    std::unique_ptr<DeviceBatch<T>> solver;
    simt::DeviceBuffer<double> d_b, d_x;  // (n, systems)
    simt::DeviceBuffer<double> d_a;       // (nnz, systems) T = float: the rung has A only in float
  };

  const Rung& rung;
  SolverOptions options;
  std::int32_t systems = 0;
  std::unique_ptr<Analysis> analysis;  // address stays: the factorizer refers to it
  std::unique_ptr<BatchFactorizer<T>> batch;
  std::unique_ptr<DeviceSide> side;             // null: the host solves
  bool has_no_side = false;                     // for want of memory
  std::vector<double> values;                   // (nnz, systems) where the host solves
  std::vector<T> narrow_values;                 // for rungs of less than double
  std::vector<Status> fared;                    // (systems) of the last factor()
  std::vector<double> growth;                   // (systems) NaN: not known
  std::vector<std::unique_ptr<Solver<T>>> own;  // (systems) of those with pivots of their own, else null
  StepTimes times;
  Status state = bad("batch solver: call analyze() first");  // ok: there are factors

  std::size_t n() const { return static_cast<std::size_t>(analysis->filled.n); }
  std::size_t nnz() const { return static_cast<std::size_t>(analysis->a.nnz()); }

  Status forget(Status why) {
    side.reset();
    has_no_side = false;
    batch.reset();
    analysis.reset();
    fared.clear();
    growth.clear();
    own.clear();
    systems = 0;
    times = {};
    return state = std::move(why);
  }

  const Rung& chooser() const {
    const bool klu = options.first == FirstFactorization::klu && sparse_leftlooking::klu.supports<T>();
    return klu ? sparse_leftlooking::klu : sparse_leftlooking::reference;
  }
  /// A Solver that picks pivots by value in every factorization.
  std::unique_ptr<Solver<T>> choosing(double pivot_tol) const {
    SolverOptions how = options;
    how.first = FirstFactorization::rung;
    how.factor.pivot_tol = pivot_tol;
    how.factor.perturb_pivots = 0;
    return std::make_unique<Solver<T>>(chooser(), how);
  }

  /// The pivots that `first` picks become the plan's diagonal.
  Status take_first_pivots(const CscView<double>& a) {
    if (options.first == FirstFactorization::rung) return {};
    const auto solver = choosing(options.factor.pivot_tol);
    LULAB_RETURN_IF_ERROR(solver->analyze(a, *analysis));
    LULAB_RETURN_IF_ERROR(solver->factor(a));
    const auto f = solver->download_factors();
    if (!f.ok()) return f.status();
    if ((*f)->plan.p == analysis->plan.p) return {};
    auto replanned = analyze_with_plan(a, (*f)->plan);
    if (!replanned.ok()) return replanned.status();
    *analysis = std::move(*replanned);
    return {};
  }

  Status prepare(const CscView<double>& a, Analysis known, std::int32_t count) {
    if (count < 1) return bad("batch solver: a batch has at least one system");
    if (options.factor.perturb_pivots > 0 && !rung.facts.perturbs_pivots)
      return bad(
          fmt::format("{} does not perturb pivots; set perturb_pivots to 0 or take another rung", rung.facts.id));
    analysis = std::make_unique<Analysis>(std::move(known));
    systems = count;
    LULAB_RETURN_IF_ERROR(take_first_pivots(a));
    auto made = make_batch<T>(rung, options.factor);
    if (!made.ok()) return made.status();
    batch = std::move(*made);
    return batch->analyze(*analysis, systems);
  }

  /// Does the rung leave on the device what can be solved with there? Then `side` is made.
  Status make_side() {
    if (side || has_no_side || batch->stream() == nullptr || n() == 0) return {};
    const DeviceArrays<T> arrays = batch->device_arrays();
    if (arrays.a == nullptr || arrays.lu == nullptr) return {};
    const Status made = create_side();
    has_no_side = made.code == StatusCode::out_of_memory || made.code == StatusCode::not_implemented;
    return has_no_side ? Status{} : made;
  }
  Status create_side() {
    auto made = std::make_unique<DeviceSide>();
    auto solver = DeviceBatch<T>::create(*analysis, systems, *batch->stream());
    if (!solver.ok()) return solver.status();
    made->solver = std::move(*solver);
    for (auto* buffer : {&made->d_b, &made->d_x})
      LULAB_RETURN_IF_ERROR(simt::make(*buffer, static_cast<std::int64_t>(n()) * systems));
    if constexpr (!std::is_same_v<T, double>)
      LULAB_RETURN_IF_ERROR(simt::make(made->d_a, static_cast<std::int64_t>(nnz()) * systems));
    side = std::move(made);
    return {};
  }

  const double* d_a() const {
    if constexpr (std::is_same_v<T, double>)
      return batch->device_arrays().a;
    else
      return side->d_a.data();
  }

  std::span<const T> for_rung(std::span<const double> given) {
    if constexpr (std::is_same_v<T, double>) {
      return given;
    } else {
      narrow_values.resize(given.size());
      std::ranges::transform(given, narrow_values.begin(), [](double v) { return static_cast<T>(v); });
      return narrow_values;
    }
  }

  /// (systems); where a system has no factors only `a` counts.
  Result<std::vector<SystemSizes>> look(std::span<const double> given) {
    if (side) return side->solver->sizes(d_a(), batch->device_arrays().lu, *batch->stream());
    std::vector<SystemSizes> all(systems);
    for (std::int32_t s = 0; s < systems; ++s) {
      all[s] = sizes_of(given.subspan(nnz() * s, nnz()));
      if (!fared[s].ok()) continue;
      const auto f = batch->download(s);
      if (!f.ok()) return f.status();
      for (std::int32_t j = 0; j < f->filled.n; ++j)
        for (std::int64_t k = f->filled.col_ptr[j]; k < f->filled.col_ptr[j + 1]; ++k) {
          double& largest = k <= f->filled.diag[j] ? all[s].u : all[s].l;
          largest = larger_or_nan(largest, static_cast<double>(f->values[k]));
        }
    }
    return all;
  }
  /// Of A alone.
  SystemSizes sizes_of(std::span<const double> of_system) const {
    SystemSizes sizes;
    const CscPattern& a = analysis->a;
    for (std::int32_t j = 0; j < a.n_cols; ++j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
        sizes.a = larger_or_nan(sizes.a, static_cast<double>(static_cast<T>(of_system[k])));
        sizes.scaled_a =
            larger_or_nan(sizes.scaled_a, analysis->plan.r[a.row_idx[k]] * of_system[k] * analysis->plan.c[j]);
      }
    return sizes;
  }

  /// Growth costs as many digits of T: a float has fewer to lose.
  double most_growth() const {
    return options.max_growth * std::sqrt(std::numeric_limits<double>::epsilon() / std::numeric_limits<T>::epsilon());
  }

  /// Were the pivots good for the values of a system that has factors?
  Status judge_sizes(std::int32_t system, const SystemSizes& sizes) {
    std::string why;
    if (!std::isfinite(sizes.l) || !std::isfinite(sizes.u)) {
      why = "the factors are not finite";
    } else if (sizes.scaled_a > 0) {
      growth[system] = sizes.u / sizes.scaled_a;
      const bool perturbed = options.factor.perturb_pivots > 0 && batch->statistics(system).perturbed_pivots > 0;
      if (!perturbed && !(growth[system] <= most_growth()))
        why = fmt::format("the pivot growth is {:.3g}", growth[system]);
    }
    if (why.empty()) return {};
    return Status::error(StatusCode::needs_repivot,
                         fmt::format("{}: the given pivots are not stable for these values: {}", rung.facts.id, why));
  }

  /// Requires  one is not finite.
  Status not_finite(std::span<const double> of_system) const {
    const auto at = std::ranges::find_if(of_system, [](double v) { return !std::isfinite(static_cast<T>(v)); });
    const auto k = at - of_system.begin();
    const auto column = std::ranges::upper_bound(analysis->a.col_ptr, k) - analysis->a.col_ptr.begin() - 1;
    const std::int32_t row = analysis->a.row_idx[k];
    Where where;
    where.rows = {row};
    where.columns = {static_cast<std::int32_t>(column)};
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("A({},{}) is {}, which is not finite in {}", row, column, *at, sizeof(T) == 4 ? "f32" : "f64"),
        std::move(where));
  }

  Status run(std::span<const double> given) {
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(batch->upload(for_rung(given)));
    if (simt::Stream* stream = batch->stream()) LULAB_RETURN_IF_ERROR(stream->wait());
    times.upload += ms_since(start);
    start = Clock::now();
    LULAB_RETURN_IF_ERROR(batch->factor());
    auto each = batch->wait();
    if (!each.ok()) return each.status();
    fared = std::move(*each);
    times.refactor += ms_since(start);
    if (fared.size() != static_cast<std::size_t>(systems))
      return bad(fmt::format("{} told of {} systems out of {}", rung.facts.id, fared.size(), systems));
    return {};
  }

  Status numeric(std::span<const double> given) {
    LULAB_RETURN_IF_ERROR(run(given));
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(make_side());
    values.clear();
    if (!side) {
      values.assign(given.begin(), given.end());
    } else if constexpr (!std::is_same_v<T, double>) {
      LULAB_RETURN_IF_ERROR(side->d_a.upload(given, *batch->stream()));
      LULAB_RETURN_IF_ERROR(batch->stream()->wait());
    }
    const auto sizes = look(given);
    if (!sizes.ok()) return sizes.status();
    growth.assign(systems, std::numeric_limits<double>::quiet_NaN());
    for (std::int32_t s = 0; s < systems; ++s) {
      if (!std::isfinite((*sizes)[s].a))
        fared[s] = not_finite(given.subspan(nnz() * s, nnz()));
      else if (fared[s].ok())
        fared[s] = judge_sizes(s, (*sizes)[s]);
    }
    times.judge += ms_since(start);
    if (!options.repivot) return {};
    for (std::int32_t s = 0; s < systems; ++s)
      if (asks_for_pivots(fared[s])) fared[s] = recover(s, given.subspan(nnz() * s, nnz()));
    return {};
  }

  Result<std::vector<Status>> factor(std::span<const double> given) try {
    if (!batch) return state;
    state = bad("batch solver: call factor() first");
    fared.clear();
    own.clear();
    own.resize(systems);
    times = {};
    if (given.size() != nnz() * systems)
      return bad(
          fmt::format("factor: {} values were given for {} systems of {} entries", given.size(), systems, nnz()));
    state = numeric(given);
    if (state.ok()) return fared;
    fared.clear();
    return state;
  } catch (const std::bad_alloc&) {
    fared.clear();
    return state = no_memory();
  }

  CscMatrix<double> matrix(std::span<const double> of_system) const {
    CscMatrix<double> a;
    static_cast<CscPattern&>(a) = analysis->a;
    a.values.assign(of_system.begin(), of_system.end());
    return a;
  }
  /// That of a system as last factored.
  Result<CscMatrix<double>> matrix(std::int32_t system) const {
    if (!side) return matrix(std::span(values).subspan(nnz() * system, nnz()));
    std::vector<double> downloaded(nnz());
    LULAB_RETURN_IF_ERROR(
        simt::copy_to_host(downloaded.data(), d_a() + nnz() * system, nnz() * sizeof(double), *batch->stream()));
    LULAB_RETURN_IF_ERROR(batch->stream()->wait());
    return matrix(std::span<const double>(downloaded));
  }

  /// Pivots of its own for a system.
  Status recover(std::int32_t system, std::span<const double> of_system) {
    const auto start = Clock::now();
    auto solver = choosing(std::max(options.factor.pivot_tol, 0.1));
    const CscMatrix<double> a = matrix(of_system);
    Status status = solver->analyze(a, *analysis);
    if (status.ok()) status = solver->factor(a);
    if (status.ok()) own[system] = std::move(solver);
    times.pivots += ms_since(start);
    return status;
  }

  /// By the batch's factors, on the host.
  Result<Refinement> solve_on_host(std::int32_t system, std::span<const double> b, std::span<double> x) {
    const auto f = batch->download(system);
    if (!f.ok()) return f.status();
    const auto a = matrix(system);
    if (!a.ok()) return a.status();
    LULAB_RETURN_IF_ERROR(solve_mixed<T>(*f, b, x));
    return refine<T>(*a, *f, b, x);
  }

  /// A solution that converged is the answer, anything else an error.
  Result<Refinement> judge(const Result<Refinement>& solved, std::span<const double> b, bool own_pivots) const {
    if (solved.ok() && solved->converged) return solved;
    const auto at = std::ranges::find_if(b, [](double v) { return !std::isfinite(v); });
    if (at != b.end()) {
      Where where;
      where.rows = {static_cast<std::int32_t>(at - b.begin())};
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("entry {} of b is {}, not finite", where.rows[0], *at), where);
    }
    if (!solved.ok()) return solved;
    return Status::error(
        StatusCode::needs_repivot,
        fmt::format("{}: refinement stops at the backward error {:.3g}{}; {}b or x is too small for it to judge (the "
                    "largest |b| is {:.3g}), or A is too badly conditioned for {}",
                    rung.facts.id, solved->omega, own_pivots ? ", with pivots chosen for these values, too" : "",
                    own_pivots ? "" : "the pivots do not suit these values, ",
                    std::accumulate(b.begin(), b.end(), 0.0, larger_or_nan), sizeof(T) == 4 ? "f32" : "f64"));
  }

  Result<Refinement> settle(std::int32_t system, const Result<Refinement>& solved, std::span<const double> b,
                            std::span<double> x) {
    auto judged = judge(solved, b, own[system] != nullptr);
    if (judged.ok() || !options.repivot || own[system] || !asks_for_pivots(judged.status())) return judged;
    const auto a = matrix(system);
    if (!a.ok()) return a.status();
    LULAB_RETURN_IF_ERROR(recover(system, a->values));
    judged = judge(own[system]->solve(b, x), b, true);
    if (!judged.ok()) own[system].reset();  // it is not the pivots: this b does not take the system off the device
    return judged;
  }

  Result<std::vector<Result<Refinement>>> solve(std::span<const double> b, std::span<double> x) try {
    if (!state.ok()) return state;
    const std::size_t size = n() * systems;
    if (b.size() != size || x.size() != size)
      return bad(fmt::format("solve: there are {} systems of {} rows, but b has {} and x has {} entries", systems, n(),
                             b.size(), x.size()));
    std::vector<Result<Refinement>> all;
    for (const Status& s : fared) all.push_back(s.ok() ? Result(Refinement{}) : Result<Refinement>(s));
    if (side) LULAB_RETURN_IF_ERROR(solve_on_device(b, x, all));
    for (std::int32_t s = 0; s < systems; ++s) {
      const auto from = b.subspan(n() * s, n());
      const auto to = x.subspan(n() * s, n());
      if (fared[s].ok()) {
        if (own[s])
          all[s] = own[s]->solve(from, to);
        else if (!side)
          all[s] = solve_on_host(s, from, to);
        all[s] = settle(s, all[s], from, to);
      }
      if (!all[s].ok()) std::ranges::fill(to, std::numeric_limits<double>::quiet_NaN());
    }
    return all;
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory, "not enough host memory for the solutions of a batch");
  }

  Status solve_on_device(std::span<const double> b, std::span<double> x, std::vector<Result<Refinement>>& all) {
    std::vector<std::int32_t> which;
    for (std::int32_t s = 0; s < systems; ++s)
      if (fared[s].ok() && !own[s]) which.push_back(s);
    if (which.empty()) return {};
    simt::Stream& stream = *batch->stream();
    LULAB_RETURN_IF_ERROR(side->d_b.upload(b, stream));
    const auto refined =
        side->solver->solve(d_a(), batch->device_arrays().lu, which, side->d_b.data(), side->d_x.data(), stream);
    if (!refined.ok()) return refined.status();
    LULAB_RETURN_IF_ERROR(side->d_x.download(x, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    for (std::size_t k = 0; k < which.size(); ++k) all[which[k]] = (*refined)[k];
    return {};
  }

  BatchStatistics statistics() const {
    BatchStatistics known;
    known.systems = systems;
    known.failed = static_cast<std::int32_t>(std::ranges::count_if(fared, [](const Status& s) { return !s.ok(); }));
    known.recovered = static_cast<std::int32_t>(std::ranges::count_if(own, [](const auto& s) { return bool(s); }));
    known.on_device = side != nullptr && state.ok();
    if (batch) known.peak_bytes = batch->statistics(0).peak_bytes;
    return known;
  }
  Statistics statistics(std::int32_t system) const {
    if (fared.empty() || !fared[system].ok()) return {};
    Statistics known = own[system] ? own[system]->statistics() : batch->statistics(system);
    if (own[system])
      known.repivots = 1;
    else
      known.pivot_growth = growth[system];
    return known;
  }
};

template <class T>
BatchSolver<T>::BatchSolver(const Rung& rung, SolverOptions options) : impl_(new Impl(rung, std::move(options))) {}
template <class T>
BatchSolver<T>::~BatchSolver() = default;
template <class T>
BatchSolver<T>::BatchSolver(BatchSolver&&) noexcept = default;
template <class T>
BatchSolver<T>& BatchSolver<T>::operator=(BatchSolver&&) noexcept = default;

template <class T>
Status BatchSolver<T>::analyze(const CscView<double>& a, std::int32_t systems) try {
  auto analysis = lulab::analyze(a, impl_->options.preprocess);
  return analysis.ok() ? analyze(a, std::move(*analysis), systems) : impl_->forget(analysis.status());
} catch (const std::bad_alloc&) {
  return impl_->forget(no_memory());
}

template <class T>
Status BatchSolver<T>::analyze(const CscView<double>& a, Analysis analysis, std::int32_t systems) try {
  Impl& s = *impl_;
  (void)s.forget(bad("batch solver: call factor() first"));
  if (Status failed = s.prepare(a, std::move(analysis), systems); !failed.ok()) return s.forget(std::move(failed));
  return {};
} catch (const std::bad_alloc&) {
  return impl_->forget(no_memory());
}

template <class T>
Result<std::vector<Status>> BatchSolver<T>::factor(std::span<const double> values) {
  return impl_->factor(values);
}
template <class T>
Result<std::vector<Result<Refinement>>> BatchSolver<T>::solve(std::span<const double> b, std::span<double> x) {
  return impl_->solve(b, x);
}
template <class T>
BatchStatistics BatchSolver<T>::statistics() const {
  return impl_->statistics();
}
template <class T>
Statistics BatchSolver<T>::statistics(std::int32_t system) const {
  return impl_->statistics(system);
}
template <class T>
const Analysis& BatchSolver<T>::analysis() const {
  return *impl_->analysis;
}
template <class T>
const StepTimes& BatchSolver<T>::times() const {
  return impl_->times;
}

template class BatchSolver<float>;
template class BatchSolver<double>;

}  // namespace lulab
