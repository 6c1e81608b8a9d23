#include "bench/alternatives.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "bench/library_solve.h"
#include "bench/subject.h"
#include "core/rung.h"
#include "solve/refine.h"
#include "solve/triangular.h"

namespace lulab::bench {
namespace {

constexpr std::string_view klu_id = "sparse_leftlooking/90_klu";
constexpr int min_samples = 3, max_samples = 1000;
constexpr double slow_s = 2;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// One run to warm up, which is the only one when it is slow, then as many as the budget allows. run() gives one time
/// for each of the lists, or none when there is no result to time: that ends it.
template <class Run>
Status sample(double budget_s, std::vector<std::vector<double>>& lists, Run run) {
  const auto start = Clock::now();
  double limit_s = 0;
  for (int k = 0; k <= max_samples; ++k) {
    const Result<std::vector<double>> ms = run();
    if (!ms.ok() || ms->empty()) return ms.status();
    const bool slow = k == 0 && seconds_since(start) > slow_s;
    if (k == 0) limit_s = seconds_since(start) + budget_s;
    for (std::size_t i = 0; i < lists.size() && (k > 0 || slow); ++i) lists[i].push_back((*ms)[i]);
    if (slow || (k >= min_samples && seconds_since(start) > limit_s)) break;
  }
  return {};
}

/// A x = b on the host, as P·R·A·C·Q y = P R b.
class System {
 public:
  explicit System(const Problem& problem) : problem_(problem), b_(static_cast<std::size_t>(problem.a.n_rows)) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    for (double& v : b_) v = uniform(random);
  }

  std::vector<double> right_side(const Plan& plan) const {
    std::vector<double> rhs(b_.size());
    for (std::size_t i = 0; i < rhs.size(); ++i) rhs[i] = plan.r[plan.p[i]] * b_[plan.p[i]];
    return rhs;
  }

  /// Componentwise backward error of x = C Q y.   Errors needs_repivot when it is too large.
  Result<double> judge(const Plan& plan, std::span<const double> y) const {
    std::vector<double> x(y.size());
    for (std::size_t j = 0; j < y.size(); ++j) x[plan.q[j]] = plan.c[plan.q[j]] * y[j];
    const double error = componentwise_backward_error(problem_.a, x, b_);
    const double limit = 10 * std::sqrt(std::numeric_limits<double>::epsilon());
    if (error <= limit) return error;
    return Status::error(StatusCode::needs_repivot,
                         fmt::format("inaccurate: backward error {:.1e} exceeds {:.1e}", error, limit));
  }

 private:
  const Problem& problem_;
  std::vector<double> b_;
};

void refuse(std::span<Row> rows, const std::string& why) {
  for (Row& row : rows) row.error = why;
}

/// rows: refactor.
void measure_klu(const Problem& problem, double budget_s, std::span<Row> rows) {
  const auto measured = [&]() -> Status {
    const auto rung = find_rung(all_rungs(), klu_id);
    if (!rung.ok()) return rung.status();
    auto subject = Subject<double>::create(**rung, problem);
    if (!subject.ok()) return subject.status();
    std::vector<std::vector<double>> times(1);
    LULAB_RETURN_IF_ERROR(sample(budget_s, times, [&]() -> Result<std::vector<double>> {
      const auto ms = subject->sample(Phase::refactor);
      if (!ms.ok()) return ms.status();
      return std::vector<double>{*ms};
    }));
    const auto error = subject->verify(Phase::refactor);
    if (!error.ok()) return error.status();
    set_times(rows[0], std::move(times[0]));
    rows[0].backward_error = *error;
    rows[0].label = "one thread";
    return {};
  };
  if (Status status = measured(); !status.ok()) refuse(rows, status.to_string());
}

/// rows: factor, solve, end_to_end.
void measure_gmres(const Problem& problem, const System& system, const AlternativesOptions& options,
                   std::span<Row> rows) {
  const Plan& plan = problem.analysis.plan;
  const CscMatrix<double> pracq = apply(plan, problem.a.view());
  const std::vector<double> b = system.right_side(plan);
  std::vector<double> y(b.size());
  GmresRun run;
  std::vector<std::vector<double>> times(3);
  const Status status = sample(options.budget_s, times, [&]() -> Result<std::vector<double>> {
    y.assign(b.size(), std::numeric_limits<double>::quiet_NaN());
    const auto ran = gmres(pracq, b, y, options.gmres);
    if (!ran.ok()) return ran.status();
    run = *ran;
    if (!run.converged) return std::vector<double>{};
    return std::vector<double>{run.preconditioner_ms, run.solve_ms, run.preconditioner_ms + run.solve_ms};
  });
  if (!status.ok()) return refuse(rows, status.to_string());
  if (!run.converged)
    return refuse(rows, fmt::format("did not converge: residual {:.1e} after {} iterations, {}", run.residual,
                                    run.iterations, to_string(options.gmres)));
  const auto error = system.judge(plan, y);
  if (!error.ok()) return refuse(rows, fmt::format("{}, {}", error.status().message, to_string(options.gmres)));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    set_times(rows[k], std::move(times[k]));
    rows[k].backward_error = *error;
    rows[k].solver_iterations = run.iterations;
    rows[k].label =
        fmt::format("{} iterations, {}, backward error {:.1e}", run.iterations, to_string(options.gmres), *error);
  }
}

Result<Factors<double>> factors_of_klu(const Problem& problem) {
  const auto rung = find_rung(all_rungs(), klu_id);
  if (!rung.ok()) return rung.status();
  const auto factorizer = (*rung)->make<double>();
  LULAB_RETURN_IF_ERROR(factorizer->analyze(problem.analysis));
  LULAB_RETURN_IF_ERROR(factorizer->upload(problem.a.values));
  LULAB_RETURN_IF_ERROR(factorizer->factor());
  return factorizer->download();
}

/// rows: solve.
void measure_host_solve(const Factors<double>& f, const System& system, double budget_s, std::span<Row> rows) {
  const std::vector<double> b = system.right_side(f.plan);
  std::vector<double> y;
  std::vector<std::vector<double>> times(1);
  const Status status = sample(budget_s, times, [&]() -> Result<std::vector<double>> {
    y = b;
    const auto start = Clock::now();
    solve_lower<double>(f.filled, f.values, y);
    solve_upper<double>(f.filled, f.values, y);
    return std::vector<double>{1e3 * seconds_since(start)};
  });
  if (!status.ok()) return refuse(rows, status.to_string());
  const auto error = system.judge(f.plan, y);
  if (!error.ok()) return refuse(rows, error.status().to_string());
  set_times(rows[0], std::move(times[0]));
  rows[0].backward_error = *error;
  rows[0].label = fmt::format("one thread, backward error {:.1e}", *error);
}

/// rows: schedule, solve.
void measure_library_solve(const Factors<double>& f, const System& system, double budget_s, std::span<Row> rows) {
  auto library = library_solve(f);
  if (!library.ok()) return refuse(rows, library.status().to_string());
  const std::vector<double> b = system.right_side(f.plan);
  std::vector<double> y(b.size());
  std::vector<std::vector<double>> analysis(1), solves(1);
  const auto one_analysis = [&]() -> Result<std::vector<double>> {
    const auto ms = (*library)->analyze();
    if (!ms.ok()) return ms.status();
    return std::vector<double>{*ms};
  };
  const auto one_solve = [&]() -> Result<std::vector<double>> {
    y.assign(b.size(), std::numeric_limits<double>::quiet_NaN());
    const auto ms = (*library)->solve(b, y);
    if (!ms.ok()) return ms.status();
    return std::vector<double>{*ms};
  };
  Status status = sample(budget_s, analysis, one_analysis);
  if (status.ok()) status = sample(budget_s, solves, one_solve);
  if (!status.ok()) return refuse(rows, status.to_string());
  const auto error = system.judge(f.plan, y);
  if (!error.ok()) return refuse(rows, error.status().to_string());
  set_times(rows[0], std::move(analysis[0]));
  set_times(rows[1], std::move(solves[0]));
  rows[0].label = "on the host's clock";
  rows[1].label = fmt::format("FP64, without the analysis, backward error {:.1e}", *error);
  for (Row& row : rows) {
    row.backward_error = *error;
    row.peak_bytes = (*library)->bytes();
  }
}

}  // namespace

std::vector<Name> alternative_names(const std::string& matrix) {
  std::vector<Name> names;
  const auto add = [&](std::string_view id, std::initializer_list<Phase> phases) {
    for (const Phase phase : phases) names.push_back({std::string(id), matrix, phase, Scalar::f64});
  };
  add(klu_id, {Phase::refactor});
  add(rung_of(Yardstick::host_solve), {Phase::solve});
  add("alternatives/gmres_ilut", {Phase::factor, Phase::solve, Phase::end_to_end});
  add("alternatives/cusparse_spsv", {Phase::schedule, Phase::solve});
  return names;
}

std::vector<Row> measure_alternatives(const Problem& problem, const AlternativesOptions& options) {
  std::vector<Row> rows;
  for (Name& name : alternative_names(problem.name)) {
    rows.emplace_back();
    rows.back().name = std::move(name);
  }
  const std::span<Row> all(rows);
  const System system(problem);
  measure_klu(problem, options.budget_s, all.subspan(0, 1));
  const auto factors = factors_of_klu(problem);
  if (factors.ok())
    measure_host_solve(*factors, system, options.budget_s, all.subspan(1, 1));
  else
    refuse(all.subspan(1, 1), factors.status().to_string());
  measure_gmres(problem, system, options, all.subspan(2, 3));
  if (factors.ok())
    measure_library_solve(*factors, system, options.budget_s, all.subspan(5, 2));
  else
    refuse(all.subspan(5, 2), factors.status().to_string());
  return rows;
}

}  // namespace lulab::bench
