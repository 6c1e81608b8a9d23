#include "solve/solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "solve/condest.h"
#include "solve/device_side.h"
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

double max_abs(const auto& values) {
  double largest = 0;
  for (double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

template <class T>
double max_abs_u(const Factors<T>& f) {
  double largest = 0;
  for (std::int32_t j = 0; j < f.filled.n; ++j)
    for (std::int64_t k = f.filled.col_ptr[j]; k <= f.filled.diag[j]; ++k)
      largest = std::max(largest, std::abs(static_cast<double>(f.values[k])));
  return largest;
}

/// The solution of the probe's system: nothing in A knows it.
std::vector<double> probe_solution(std::int32_t n) {
  std::vector<double> x(n);
  std::mt19937_64 random(1);
  for (double& v : x) v = std::uniform_real_distribution<double>(0.5, 1)(random) * (random() % 2 ? 1 : -1);
  return x;
}

bool asks_for_pivots(const Status& s) {
  return s.code == StatusCode::needs_repivot || s.code == StatusCode::numerically_singular;
}

constexpr FirstFactorization firsts[] = {FirstFactorization::rung, FirstFactorization::reference,
                                         FirstFactorization::klu};

}  // namespace

std::string_view to_string(FirstFactorization first) {
  switch (first) {
    case FirstFactorization::rung: return "rung";
    case FirstFactorization::reference: return "reference";
    case FirstFactorization::klu: return "klu";
  }
  return "?";
}

Result<FirstFactorization> parse_first_factorization(std::string_view text) {
  std::string known;
  for (const FirstFactorization first : firsts) {
    if (text == to_string(first)) return first;
    known += fmt::format(" {}", to_string(first));
  }
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("no first factorization '{}'; there are:{}", text, known));
}

template <class T>
struct Solver<T>::Impl {
  Impl(const Rung& the_rung, SolverOptions the_options) : rung(the_rung), options(std::move(the_options)) {}

  const Rung& rung;
  SolverOptions options;
  CscMatrix<double> a;                 // the pattern analyzed; values as last factored if has_values
  bool has_values = false;             // else they are on the device alone
  std::vector<T> narrow_values;        // of A, for rungs of less than double
  std::vector<double> probe;           // probe_solution()
  std::unique_ptr<Analysis> analysis;  // address stays: the factorizer refers to it
  std::unique_ptr<Factorizer<T>> factorizer;
  std::unique_ptr<DeviceSide<T>> side;  // refers to both; null: the host judges and solves
  bool has_no_side = false;             // for want of memory
  bool factored = false;                // the last numeric phase succeeded
  std::optional<Factors<T>> factors;    // on the host
  const Factors<T> no_factors;
  Statistics statistics;
  Status state = Status::error(StatusCode::invalid_argument, "solver: call analyze() first");
  Status cause;  // of the last re-pivoting
  StepTimes times;

  void drop_factors() {
    factored = false;
    factors.reset();
    statistics = {};
  }

  /// The outcome of a numeric phase becomes the state that solve() answers with.
  Status settle(Status s) {
    if (s.ok())
      factored = true;
    else
      drop_factors();
    return state = std::move(s);
  }

  void drop_factorizer() {
    side.reset();
    factorizer.reset();
    has_no_side = false;
  }

  Status forget(Status s) {
    drop_factorizer();
    analysis.reset();
    cause = {};
    times = {};
    drop_factors();
    return state = std::move(s);
  }

  /// The rung that computes: of one that chooses, the chosen one.
  const RungFacts& facts() const {
    const Choice* choice = factorizer ? factorizer->choice() : nullptr;
    return choice && choice->rung ? choice->rung->facts : rung.facts;
  }

  Status make_factorizer() {
    drop_factorizer();
    factorizer = rung.make<T>(options.factor);
    if (!factorizer)
      return Status::error(StatusCode::not_implemented,
                           fmt::format("{} does not factor {}", rung.facts.id, sizeof(T) == 4 ? "f32" : "f64"));
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

  void take_values(const CscView<double>& from) {
    std::ranges::copy(from.values, a.values.begin());
    has_values = true;
  }

  std::span<const T> values_for_rung(const CscView<double>& from) {
    if constexpr (std::is_same_v<T, double>) {
      return from.values;
    } else {
      narrow_values.resize(from.values.size());
      std::ranges::transform(from.values, narrow_values.begin(), [](double v) { return static_cast<T>(v); });
      return narrow_values;
    }
  }

  Status run(const CscView<double>& from, bool again) {
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(factorizer->upload(values_for_rung(from)));
    if (simt::Stream* stream = factorizer->stream()) LULAB_RETURN_IF_ERROR(stream->wait());
    times.upload += ms_since(start);
    start = Clock::now();
    LULAB_RETURN_IF_ERROR(again ? factorizer->refactor() : factorizer->factor());
    LULAB_RETURN_IF_ERROR(factorizer->wait());
    times.refactor += ms_since(start);
    return {};
  }

  /// Does the rung leave on the device what can be solved with there? Then `side` is made.
  Status make_side() {
    if (side || has_no_side || facts().pivoting != Pivoting::fixed || factorizer->stream() == nullptr) return {};
    const DeviceArrays<T> arrays = factorizer->device_arrays();
    if (arrays.a == nullptr || arrays.lu == nullptr) return {};
    auto made = DeviceSide<T>::create(*analysis, probe, *factorizer->stream());
    has_no_side = made.status().code == StatusCode::out_of_memory;
    if (made.ok()) side = std::move(*made);
    return has_no_side ? Status{} : made.status();
  }

  /// Factors, and looks at them where their pivots were given beforehand.
  Status attempt(const CscView<double>& from, bool again, bool given_pivots) {
    LULAB_RETURN_IF_ERROR(run(from, again));
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(make_side());
    times.judge += ms_since(start);
    if (side) return attempt_on_device(from);
    start = Clock::now();
    auto f = factorizer->download();
    times.download += ms_since(start);
    if (!f.ok()) return f.status();
    start = Clock::now();
    take_values(from);
    measure_growth(*f);
    f->statistics.perturbed_pivots =
        std::max(f->statistics.perturbed_pivots, factorizer->statistics().perturbed_pivots);
    Status judged = given_pivots ? judge(*f) : Status{};
    times.judge += ms_since(start);
    LULAB_RETURN_IF_ERROR(judged);
    statistics = f->statistics;
    factors = std::move(*f);
    return {};
  }

  /// The factors lie on the device, and their pivots were given beforehand.
  Status attempt_on_device(const CscView<double>& from) {
    has_values = false;
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(side->upload(from.values));
    times.upload += ms_since(start);
    start = Clock::now();
    LULAB_RETURN_IF_ERROR(side->update(factorizer->device_arrays()));
    const auto look = side->look(options.probe);
    if (!look.ok()) return look.status();
    const FactorMagnitudes& m = look->factors;
    statistics = factorizer->statistics();
    statistics.structural_rank = statistics.numerical_rank = analysis->filled.n;
    statistics.rcond = m.min_pivot / m.max_pivot;
    if (look->probe.max_a > 0) statistics.pivot_growth = m.max_u / look->probe.max_a;
    Status judged;
    if (!std::isfinite(m.max_l) || !std::isfinite(m.max_u))
      judged = not_finite();
    else
      judged = judge_growth(statistics);
    if (judged.ok() && options.probe) {
      if (statistics.perturbed_pivots > 0)
        judged = judge_refined(side->refine_probe());
      else
        judged = judge_residual(look->probe.residual, look->probe.norm1_a * look->probe.solution);
    }
    times.judge += ms_since(start);
    return judged;
  }

  /// The downloaded factors say which value it is.
  Status not_finite() const {
    const auto f = factorizer->download();
    if (!f.ok()) return f.status();
    const Status found = judge_values(*f);
    return found.ok() ? unstable(-1, "the factors are not finite") : found;
  }

  void measure_growth(Factors<T>& f) const {
    const double largest = max_abs(scale(a.view(), f.plan.r, f.plan.c).values);
    if (largest > 0) f.statistics.pivot_growth = max_abs_u(f) / largest;
  }

  /// Are pivots that were given beforehand good for these values?
  Status judge(const Factors<T>& f) const {
    LULAB_RETURN_IF_ERROR(judge_values(f));
    LULAB_RETURN_IF_ERROR(judge_growth(f.statistics));
    if (!options.probe) return {};
    const std::int32_t n = f.filled.n;
    std::vector<double> x(n), b(n);
    multiply<double>(a.view(), probe, b);
    LULAB_RETURN_IF_ERROR(solve_mixed<T>(f, b, x));
    if (f.statistics.perturbed_pivots > 0) return judge_refined(refine<T>(a, f, b, x));
    residual(a.view(), x, b, b);
    double scaled_r = 0, scaled_x = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      scaled_r += std::abs(f.plan.r[i] * b[i]);
      scaled_x += std::abs(x[i] / f.plan.c[i]);
    }
    return judge_residual(scaled_r, norm1(scale(a.view(), f.plan.r, f.plan.c)) * scaled_x);
  }

  Status judge_values(const Factors<T>& f) const {
    for (std::int32_t j = 0; j < f.filled.n; ++j)
      for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k)
        if (!std::isfinite(f.values[k])) return unstable(f.plan.q[j], fmt::format("the factors hold {}", f.values[k]));
    return {};
  }

  Status judge_growth(const Statistics& of) const {
    if (of.perturbed_pivots == 0 && of.pivot_growth > options.max_growth)
      return unstable(-1, fmt::format("the pivot growth is {:.3g}", of.pivot_growth));
    return {};
  }

  Status judge_residual(double scaled_r, double scale_of_r) const {
    const double limit = std::sqrt(std::numeric_limits<T>::epsilon() / 2.0);
    if (!std::isfinite(scaled_r) || !(scaled_r <= limit * scale_of_r))  // infinity <= infinity
      return unstable(-1, fmt::format("a probe solve leaves the residual {:.3g} after scaling", scaled_r / scale_of_r));
    return {};
  }

  /// Of pivots that were perturbed.
  Status judge_refined(const Result<Refinement>& refined) const {
    if (!refined.ok()) return refined.status();
    if (refined->converged) return {};
    return unstable(-1, fmt::format("pivots were perturbed, and refinement of a probe solve stops at the backward "
                                    "error {:.3g}",
                                    refined->omega));
  }

  Status unstable(std::int32_t column, std::string why) const {
    Where where;
    if (column >= 0) where.columns = {column};
    return Status::error(StatusCode::needs_repivot,
                         fmt::format("{}: the given pivots are not stable for these values: {}", rung.facts.id, why),
                         std::move(where));
  }

  const Rung& chooser() const {
    return options.first == FirstFactorization::klu ? sparse_leftlooking::klu : sparse_leftlooking::reference;
  }

  /// The plan with the rows in the order in which the chooser picks them.
  template <class S>
  Result<Plan> pivots_by_value(double pivot_tol) const {
    FactorOptions how = options.factor;
    how.pivot_tol = pivot_tol;
    how.perturb_pivots = 0;  // it looks for better ones
    const auto chosen_by = chooser().template make<S>(how);
    LULAB_RETURN_IF_ERROR(chosen_by->analyze(*analysis));
    LULAB_RETURN_IF_ERROR(chosen_by->upload(convert<S>(a.view()).values));
    LULAB_RETURN_IF_ERROR(chosen_by->factor());
    LULAB_RETURN_IF_ERROR(chosen_by->wait());
    auto pivoted = chosen_by->download();
    if (!pivoted.ok()) return pivoted.status();
    return std::move(pivoted->plan);
  }

  /// Pivots chosen by value, and the rung prepared for them.
  Status take_pivots(double pivot_tol) {
    const auto start = Clock::now();
    auto plan = chooser().template supports<T>() ? pivots_by_value<T>(pivot_tol) : pivots_by_value<double>(pivot_tol);
    if (!plan.ok()) return plan.status();
    if (plan->p != analysis->plan.p) {
      auto replanned = lulab::analyze_with_plan(a, std::move(*plan));
      if (!replanned.ok()) return replanned.status();
      drop_factorizer();  // refers to the analysis
      *analysis = std::move(*replanned);
      if (Status failed = make_factorizer(); !failed.ok()) return forget(std::move(failed));
    }
    times.pivots += ms_since(start);
    return {};
  }

  Status repivot(const CscView<double>& from, Status unstable_pivots) {
    if (!options.repivot) return unstable_pivots;
    cause = std::move(unstable_pivots);
    const bool fixed = facts().pivoting == Pivoting::fixed;
    if (fixed) {
      take_values(from);
      LULAB_RETURN_IF_ERROR(take_pivots(std::max(options.factor.pivot_tol, 0.1)));
    }
    LULAB_RETURN_IF_ERROR(attempt(from, false, fixed));
    statistics.repivots = 1;
    return {};
  }

  Status numeric(const CscView<double>& from, bool again) {
    LULAB_RETURN_IF_ERROR(check_pattern(from));
    times = {};
    cause = {};
    drop_factors();
    if (!again && options.first != FirstFactorization::rung && &rung != &chooser()) {
      take_values(from);
      LULAB_RETURN_IF_ERROR(take_pivots(options.factor.pivot_tol));
    }
    const bool given_pivots = again || facts().pivoting == Pivoting::fixed;
    Status judged = attempt(from, again, given_pivots);
    if (!judged.ok()) return given_pivots && asks_for_pivots(judged) ? repivot(from, std::move(judged)) : judged;
    statistics.repivots = 0;
    return {};
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
    if (side) {
      auto solved = side->solve(b, x, columns, transposed);
      if (solved.ok() || solved.status().code != StatusCode::out_of_memory) return solved;
    }
    const auto f = on_host();
    if (!f.ok()) return f.status();
    if (!has_values) {
      LULAB_RETURN_IF_ERROR(side->download_a(a.values));
      has_values = true;
    }
    CscMatrix<double> a_transposed;
    if (transposed) a_transposed = transpose(a.view());
    std::vector<Refinement> all;
    for (std::int32_t c = 0; c < columns; ++c) {
      const auto from = b.subspan(n * c, n);
      const auto to = x.subspan(n * c, n);
      LULAB_RETURN_IF_ERROR(transposed ? solve_transposed_mixed<T>(**f, from, to) : solve_mixed<T>(**f, from, to));
      const auto refined = transposed ? refine_transposed<T>(a_transposed, **f, from, to) : refine<T>(a, **f, from, to);
      if (!refined.ok()) return refined.status();
      all.push_back(*refined);
    }
    return all;
  }

  Result<Refinement> solve_one(std::span<const double> b, std::span<double> x, bool transposed) {
    const auto solved = solve(b, x, 1, transposed);
    if (!solved.ok()) return solved.status();
    return solved->front();
  }
};

template <class T>
Solver<T>::Solver(const Rung& rung, SolverOptions options) : impl_(new Impl(rung, std::move(options))) {}
template <class T>
Solver<T>::~Solver() = default;
template <class T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;

template <class T>
Status Solver<T>::analyze(const CscView<double>& a) {
  auto analysis = lulab::analyze(a, impl_->options.preprocess);
  return analysis.ok() ? analyze(a, std::move(*analysis)) : impl_->forget(analysis.status());
}

template <class T>
Status Solver<T>::analyze(const CscView<double>& a, Analysis analysis) {
  Impl& s = *impl_;
  (void)s.forget(Status::error(StatusCode::invalid_argument, "solver: call factor() first"));
  s.a = convert<double>(a);
  s.has_values = true;
  s.probe = probe_solution(a.n_cols);
  s.analysis = std::make_unique<Analysis>(std::move(analysis));
  if (Status failed = s.make_factorizer(); !failed.ok()) return s.forget(std::move(failed));
  return {};
}

template <class T>
Status Solver<T>::factor(const CscView<double>& a) {
  return impl_->settle(impl_->numeric(a, false));
}

template <class T>
Status Solver<T>::refactor(const CscView<double>& a) {
  if (!impl_->factored)
    return impl_->state.ok() ? Status::error(StatusCode::invalid_argument, "solver: call factor() first")
                             : impl_->state;
  return impl_->settle(impl_->numeric(a, true));
}

template <class T>
Result<Refinement> Solver<T>::solve(std::span<const double> b, std::span<double> x) const {
  return impl_->solve_one(b, x, false);
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::solve(std::span<const double> b, std::span<double> x,
                                                 std::int32_t columns) const {
  return impl_->solve(b, x, columns, false);
}

template <class T>
Result<Refinement> Solver<T>::solve_transposed(std::span<const double> b, std::span<double> x) const {
  return impl_->solve_one(b, x, true);
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::solve_transposed(std::span<const double> b, std::span<double> x,
                                                            std::int32_t columns) const {
  return impl_->solve(b, x, columns, true);
}

template <class T>
const Statistics& Solver<T>::statistics() const {
  return impl_->statistics;
}

template <class T>
Result<const Factors<T>*> Solver<T>::download_factors() const {
  return impl_->on_host();
}

template <class T>
const Factors<T>& Solver<T>::factors() const {
  const auto f = impl_->on_host();
  return f.ok() ? **f : impl_->no_factors;
}

template <class T>
const Analysis& Solver<T>::analysis() const {
  return *impl_->analysis;
}

template <class T>
const Choice* Solver<T>::choice() const {
  return impl_->factorizer ? impl_->factorizer->choice() : nullptr;
}

template <class T>
const StepTimes& Solver<T>::times() const {
  return impl_->times;
}

template <class T>
double Solver<T>::numeric_ms() const {
  const StepTimes& t = times();
  return t.pivots + t.upload + t.refactor;
}

template <class T>
const Status& Solver<T>::repivot_cause() const {
  return impl_->cause;
}

template class Solver<float>;
template class Solver<double>;

}  // namespace lulab
