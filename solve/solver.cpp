#include "solve/solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "solve/condest.h"
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
  CscMatrix<double> a;                 // as last analyzed, factored or refactored
  std::unique_ptr<Analysis> analysis;  // address stays: the factorizer refers to it
  std::unique_ptr<Factorizer<T>> factorizer;
  std::optional<Factors<T>> factors;
  Status state = Status::error(StatusCode::invalid_argument, "solver: call analyze() first");
  Status cause;  // of the last re-pivoting
  StepTimes times;

  /// The outcome of a numeric phase becomes the state that solve() answers with.
  Status settle(Status s) {
    if (!s.ok()) factors.reset();
    return state = std::move(s);
  }

  Status forget(Status s) {
    factorizer.reset();
    analysis.reset();
    cause = {};
    times = {};
    factors.reset();
    return state = std::move(s);
  }

  Status take_values(const CscView<double>& from) {
    if (!analysis) return state;
    if (from.n_rows != a.n_rows || from.n_cols != a.n_cols || !std::ranges::equal(from.col_ptr, a.col_ptr) ||
        !std::ranges::equal(from.row_idx, a.row_idx))
      return Status::error(StatusCode::invalid_argument,
                           "solver: this matrix has another pattern than the one analyzed; call analyze() for it");
    std::ranges::copy(from.values, a.values.begin());
    return {};
  }

  Result<Factors<T>> run(bool again) {
    const std::vector<T> values = convert<T>(a.view()).values;
    auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(factorizer->upload(values));
    if (simt::Stream* stream = factorizer->stream()) LULAB_RETURN_IF_ERROR(stream->wait());
    times.upload += ms_since(start);
    start = Clock::now();
    LULAB_RETURN_IF_ERROR(again ? factorizer->refactor() : factorizer->factor());
    LULAB_RETURN_IF_ERROR(factorizer->wait());
    times.refactor += ms_since(start);
    start = Clock::now();
    auto downloaded = factorizer->download();
    times.download += ms_since(start);
    return downloaded;
  }

  void measure_growth(Factors<T>& f) const {
    const double largest = max_abs(scale(a.view(), f.plan.r, f.plan.c).values);
    if (largest > 0) f.statistics.pivot_growth = max_abs_u(f) / largest;
  }

  /// Are pivots that were given beforehand good for these values?
  Status judge(const Factors<T>& f) const {
    for (std::int32_t j = 0; j < f.filled.n; ++j)
      for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k)
        if (!std::isfinite(f.values[k])) return unstable(f.plan.q[j], fmt::format("the factors hold {}", f.values[k]));
    if (f.statistics.pivot_growth > options.max_growth)
      return unstable(-1, fmt::format("the pivot growth is {:.3g}", f.statistics.pivot_growth));
    const std::int32_t n = f.filled.n;
    std::vector<double> x(n), b(n);
    std::mt19937_64 random(1);
    for (double& v : x) v = std::uniform_real_distribution<double>(0.5, 1)(random) * (random() % 2 ? 1 : -1);
    multiply<double>(a.view(), x, b);
    LULAB_RETURN_IF_ERROR(solve_mixed<T>(f, b, x));
    residual(a.view(), x, b, b);
    double scaled_r = 0, scaled_x = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      scaled_r += std::abs(f.plan.r[i] * b[i]);
      scaled_x += std::abs(x[i] / f.plan.c[i]);
    }
    const double limit = std::sqrt(std::numeric_limits<T>::epsilon() / 2.0);
    const double scale_of_r = norm1(scale(a.view(), f.plan.r, f.plan.c)) * scaled_x;
    if (!(scaled_r <= limit * scale_of_r))
      return unstable(-1, fmt::format("a probe solve leaves the residual {:.3g} after scaling", scaled_r / scale_of_r));
    return {};
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
      factorizer.reset();  // refers to the analysis
      *analysis = std::move(*replanned);
      factorizer = rung.make<T>(options.factor);
      if (Status failed = factorizer->analyze(*analysis); !failed.ok()) return forget(std::move(failed));
    }
    times.pivots += ms_since(start);
    return {};
  }

  Status repivot(Status unstable_pivots) {
    if (!options.repivot) return unstable_pivots;
    cause = std::move(unstable_pivots);
    const bool fixed = rung.facts.pivoting == Pivoting::fixed;
    if (fixed) LULAB_RETURN_IF_ERROR(take_pivots(std::max(options.factor.pivot_tol, 0.1)));
    auto f = run(false);
    if (!f.ok()) return f.status();
    measure_growth(*f);
    if (fixed) LULAB_RETURN_IF_ERROR(judge(*f));
    f->statistics.repivots = 1;
    factors = std::move(*f);
    return {};
  }

  Status numeric(const CscView<double>& from, bool again) {
    LULAB_RETURN_IF_ERROR(take_values(from));
    times = {};
    cause = {};
    factors.reset();
    if (!again && options.first != FirstFactorization::rung && &rung != &chooser())
      LULAB_RETURN_IF_ERROR(take_pivots(options.factor.pivot_tol));
    auto f = run(again);
    Status judged = f.status();
    const bool given_pivots = again || rung.facts.pivoting == Pivoting::fixed;
    if (f.ok()) {
      measure_growth(*f);
      if (given_pivots) judged = judge(*f);
    }
    if (!judged.ok()) return given_pivots && asks_for_pivots(judged) ? repivot(judged) : judged;
    f->statistics.repivots = 0;
    factors = std::move(*f);
    return {};
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
  auto factorizer = s.rung.template make<T>(s.options.factor);
  if (!factorizer)
    return s.forget(Status::error(StatusCode::not_implemented, fmt::format("{} does not factor {}", s.rung.facts.id,
                                                                           sizeof(T) == 4 ? "f32" : "f64")));
  s.a = convert<double>(a);
  s.analysis = std::make_unique<Analysis>(std::move(analysis));
  if (Status failed = factorizer->analyze(*s.analysis); !failed.ok()) return s.forget(std::move(failed));
  s.factorizer = std::move(factorizer);
  return {};
}

template <class T>
Status Solver<T>::factor(const CscView<double>& a) {
  return impl_->settle(impl_->numeric(a, false));
}

template <class T>
Status Solver<T>::refactor(const CscView<double>& a) {
  if (!impl_->factors)
    return impl_->state.ok() ? Status::error(StatusCode::invalid_argument, "solver: call factor() first")
                             : impl_->state;
  return impl_->settle(impl_->numeric(a, true));
}

template <class T>
Result<Refinement> Solver<T>::solve(std::span<const double> b, std::span<double> x) const {
  if (!impl_->factors) return impl_->state;
  LULAB_RETURN_IF_ERROR(solve_mixed<T>(*impl_->factors, b, x));
  return refine<T>(impl_->a, *impl_->factors, b, x);
}

template <class T>
const Factors<T>& Solver<T>::factors() const {
  return *impl_->factors;
}

template <class T>
const Analysis& Solver<T>::analysis() const {
  return *impl_->analysis;
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
