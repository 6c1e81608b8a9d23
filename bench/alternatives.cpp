#include "bench/alternatives.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bench/library_solve.h"
#include "bench/subject.h"
#include "core/rung.h"
#include "solve/device_refine.h"
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

/// Right sides of A x = b, one after the other, or of Aᵀ x = b.
class System {
 public:
  explicit System(const Problem& problem, SolveTask task = {})
      : a_(task.transposed ? transpose(problem.a.view()) : problem.a), task_(task) {
    const auto n = static_cast<std::size_t>(a_.n_rows);
    b_.resize(n * static_cast<std::size_t>(task.columns));
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    for (double& v : b_) v = uniform(random);
  }

  const std::vector<double>& b() const { return b_; }

  /// P R b, the right sides of P·R·A·C·Q y; of its transpose Qᵀ C b.
  std::vector<double> right_sides(const Plan& plan) const {
    const Permutation& from = task_.transposed ? plan.q : plan.p;
    const std::vector<double>& scale = task_.transposed ? plan.c : plan.r;
    std::vector<double> rhs(b_.size());
    for (std::size_t i = 0; i < rhs.size(); ++i) {
      const std::size_t row = from[i % from.size()], column = i / from.size() * from.size();
      rhs[i] = scale[row] * b_[column + row];
    }
    return rhs;
  }

  /// The largest componentwise backward error of x = C Q y, or of x = R Pᵀ y.   Errors needs_repivot when it is too large.
  Result<double> judge(const Plan& plan, std::span<const double> y) const {
    const Permutation& to = task_.transposed ? plan.p : plan.q;
    const std::vector<double>& scale = task_.transposed ? plan.r : plan.c;
    std::vector<double> x(y.size());
    for (std::size_t j = 0; j < y.size(); ++j) {
      const std::size_t row = to[j % to.size()], column = j / to.size() * to.size();
      x[column + row] = scale[row] * y[j];
    }
    return judge(x, 10 * std::sqrt(std::numeric_limits<double>::epsilon()));
  }

  /// The same of solutions x.
  Result<double> judge(std::span<const double> x, double limit) const {
    const auto n = static_cast<std::size_t>(a_.n_rows);
    double largest = 0;
    for (std::size_t begin = 0; begin < x.size(); begin += n) {
      const double error =
          componentwise_backward_error(a_, x.subspan(begin, n), std::span<const double>(b_).subspan(begin, n));
      if (!(error <= limit))
        return Status::error(StatusCode::needs_repivot,
                             fmt::format("inaccurate: backward error {:.1e} exceeds {:.1e}", error, limit));
      largest = std::max(largest, error);
    }
    return largest;
  }

 private:
  const CscMatrix<double> a_;  // or Aᵀ
  const SolveTask task_;
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
  const std::vector<double> b = system.right_sides(plan);
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
  const std::vector<double> b = system.right_sides(f.plan);
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

/// Who solves, under the name that its rows have, and what.
struct Contender {
  std::string rung;
  SolveTask task;
  std::optional<SolveMethod> method;  // none: the library
};

constexpr std::int32_t many_columns = 32;

std::vector<Contender> contenders() {
  std::vector<Contender> all;
  for (const SolveTask task : {SolveTask{}, SolveTask{.transposed = true}, SolveTask{.columns = many_columns}}) {
    const std::string suffix = task.transposed    ? "_transposed"
                               : task.columns > 1 ? fmt::format("_x{}", task.columns)
                                                  : std::string();
    all.push_back(
        {(task.columns > 1 ? "alternatives/cusparse_spsm" : "alternatives/cusparse_spsv") + suffix, task, {}});
    for (const SolveMethod method : solve_methods)
      all.push_back({"alternatives/" + std::string(to_string(method)) + suffix, task, method});
  }
  return all;
}

/// The analysis has a row of its own.
bool shows_analysis(const Contender& contender) { return !contender.task.transposed && contender.task.columns == 1; }

Status not_measured_in_the_simulator() {
  if (simt::machine() == simt::Machine::gpu) return {};
  return Status::error(StatusCode::not_implemented, "performance not measured in the simulator");
}

/// rows: schedule where shows_analysis(), solve.
void measure_parallel_solve(const Contender& contender, const Factors<double>& f, const System& system,
                            const AlternativesOptions& options, std::span<Row> rows) {
  auto solver = contender.method ? device_solve(f, *contender.method, contender.task, options.warps_per_sm)
                                 : library_solve(f, contender.task);
  if (!solver.ok()) return refuse(rows, solver.status().to_string());
  const std::vector<double> b = system.right_sides(f.plan);
  std::vector<double> y(b.size());
  std::vector<std::vector<double>> analysis(1), solves(1);
  const auto one_analysis = [&]() -> Result<std::vector<double>> {
    const auto ms = (*solver)->analyze();
    if (!ms.ok()) return ms.status();
    return std::vector<double>{*ms};
  };
  const auto one_solve = [&]() -> Result<std::vector<double>> {
    y.assign(b.size(), std::numeric_limits<double>::quiet_NaN());
    const auto ms = (*solver)->solve(b, y);
    if (!ms.ok()) return ms.status();
    return std::vector<double>{*ms / contender.task.columns};
  };
  Status status =
      shows_analysis(contender) ? sample(options.budget_s, analysis, one_analysis) : (*solver)->analyze().status();
  if (status.ok()) status = sample(options.budget_s, solves, one_solve);
  if (!status.ok()) return refuse(rows, status.to_string());
  const auto error = system.judge(f.plan, y);
  if (!error.ok()) return refuse(rows, error.status().to_string());
  if (status = not_measured_in_the_simulator(); !status.ok()) return refuse(rows, status.to_string());
  const std::string levels = (*solver)->levels() > 0 ? fmt::format("{} levels, ", (*solver)->levels()) : "";
  const std::string what = contender.task.columns > 1
                               ? fmt::format("one of {} right-hand sides at once", contender.task.columns)
                               : "without the analysis";
  for (Row& row : rows) {
    const bool solve = row.name.phase == Phase::solve;
    set_times(row, std::move(solve ? solves[0] : analysis[0]));
    row.label = solve ? fmt::format("FP64, {}{}, backward error {:.1e}", levels, what, *error) : "on the host's clock";
    row.backward_error = *error;
    row.peak_bytes = (*solver)->bytes();
  }
}

/// rows: solve.
void measure_refined_solve(const Problem& problem, const Factors<double>& f, const System& system, double budget_s,
                           std::span<Row> rows) {
  std::vector<double> x(system.b().size());
  std::vector<std::vector<double>> times(1);
  Refinement refinement;
  std::int64_t bytes = 0;
  const auto measured = [&]() -> Status {
    auto stream = simt::Stream::create();
    if (!stream.ok()) return stream.status();
    auto solver = DeviceSolver<double>::create(f.filled, f.plan, {.transposed = false}, *stream);
    if (!solver.ok()) return solver.status();
    auto refiner = DeviceRefiner::create(problem.a.pattern().view(), 1, *stream);
    if (!refiner.ok()) return refiner.status();
    simt::DeviceBuffer<double> d_values, d_a, d_b, d_x;
    LULAB_RETURN_IF_ERROR(simt::make(d_values, f.values, *stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_a, problem.a.values, *stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_b, system.b(), *stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_x, d_b.size()));
    LULAB_RETURN_IF_ERROR(solver->update(d_values.data(), *stream));
    LULAB_RETURN_IF_ERROR(refiner->update(d_a.data(), *stream));
    LULAB_RETURN_IF_ERROR(solver->wait_for_pivots(*stream));
    bytes = solver->bytes() + refiner->bytes();
    return sample(budget_s, times, [&]() -> Result<std::vector<double>> {
      LULAB_RETURN_IF_ERROR(d_x.fill_bytes(0xFF, *stream));
      LULAB_RETURN_IF_ERROR(stream->wait());
      const auto start = Clock::now();
      LULAB_RETURN_IF_ERROR(solver->solve(d_b.data(), d_x.data(), 1, *stream));
      const auto refined = refiner->refine(*solver, d_b.data(), d_x.data(), 1, *stream);
      LULAB_RETURN_IF_ERROR(refined.status());
      const double ms = 1e3 * seconds_since(start);
      refinement = refined->front();
      LULAB_RETURN_IF_ERROR(d_x.download(x, *stream));
      LULAB_RETURN_IF_ERROR(stream->wait());
      return std::vector<double>{ms};
    });
  };
  Status status = measured();
  if (!status.ok()) return refuse(rows, status.to_string());
  const auto error = system.judge(x, 1e-14);
  if (!error.ok()) return refuse(rows, error.status().to_string());
  if (status = not_measured_in_the_simulator(); !status.ok()) return refuse(rows, status.to_string());
  set_times(rows[0], std::move(times[0]));
  rows[0].backward_error = *error;
  rows[0].peak_bytes = bytes;
  rows[0].label = fmt::format("A x = b with {} steps of refinement, on the host's clock, backward error {:.1e}",
                              refinement.iterations, *error);
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
  for (const Contender& contender : contenders()) {
    if (shows_analysis(contender))
      add(contender.rung, {Phase::schedule, Phase::solve});
    else
      add(contender.rung, {Phase::solve});
  }
  add("alternatives/refined", {Phase::solve});
  return names;
}

std::vector<Row> measure_alternatives(const Problem& problem, const AlternativesOptions& options) {
  std::vector<Row> rows;
  for (Name& name : alternative_names(problem.name)) {
    rows.emplace_back();
    rows.back().name = std::move(name);
  }
  const System system(problem);
  const auto factors = factors_of_klu(problem);
  std::size_t next = 0;
  /// measure(rows) of the next `count` rows; `needs_factors`: where there are factors.
  const auto with_rows = [&](std::size_t count, bool needs_factors, auto measure) {
    const std::span<Row> some = std::span<Row>(rows).subspan(next, count);
    next += count;
    if (needs_factors && !factors.ok()) return refuse(some, factors.status().to_string());
    measure(some);
  };
  const double budget_s = options.budget_s;
  with_rows(1, false, [&](std::span<Row> some) { measure_klu(problem, budget_s, some); });
  with_rows(1, true, [&](std::span<Row> some) { measure_host_solve(*factors, system, budget_s, some); });
  with_rows(3, false, [&](std::span<Row> some) { measure_gmres(problem, system, options, some); });
  for (const Contender& contender : contenders())
    with_rows(shows_analysis(contender) ? 2 : 1, true, [&](std::span<Row> some) {
      measure_parallel_solve(contender, *factors, System(problem, contender.task), options, some);
    });
  with_rows(1, true, [&](std::span<Row> some) { measure_refined_solve(problem, *factors, system, budget_s, some); });
  return rows;
}

}  // namespace lulab::bench
