#include "bench/alternatives.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bench/library_solve.h"
#include "bench/rung_timing.h"
#include "core/factorizer.h"
#include "core/rung.h"
#include "core/timing.h"
#include "solve/device_refine.h"
#include "solve/refine.h"
#include "solve/triangular.h"

namespace lulab::bench {
namespace {

constexpr std::string_view gmres_id = "alternatives/gmres_ilut", refined_id = "alternatives/refined";

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

  /// The largest componentwise backward error of x = C Q y, or of x = R Pᵀ y.   Errors needs_repivot when it is too
  /// large.
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

Result<Factors<double>> factors_of_klu(const Problem& problem) {
  LULAB_ASSIGN_OR_RETURN(const auto rung, find_rung(all_rungs(), klu_id));
  const auto factorizer = rung->make<double>();
  LULAB_RETURN_IF_ERROR(factorizer->analyze(problem.analysis));
  LULAB_RETURN_IF_ERROR(factorizer->upload(problem.a.values));
  LULAB_RETURN_IF_ERROR(factorizer->factor());
  return factorizer->download();
}

/// What the comparisons of one matrix share.
struct Shared {
  const Problem& problem;
  const AlternativesOptions options;
  const System system;
  std::optional<Result<Factors<double>>> klu;  // made by the first that needs them

  explicit Shared(const Problem& p, AlternativesOptions o) : problem(p), options(o), system(p) {}
  Result<const Factors<double>*> factors() {
    if (!klu) klu.emplace(factors_of_klu(problem));
    if (!klu->ok()) return klu->status();
    return &**klu;
  }
};
using SharedPtr = std::shared_ptr<Shared>;

Case case_of(const Shared& shared, std::string_view id, std::initializer_list<Phase> phases) {
  Case c;
  for (const Phase phase : phases)
    c.rows.push_back({.name = {std::string(id), shared.problem.name, phase, Scalar::f64}});
  return c;
}

void set_error(Row& row, double backward_error, std::string label) {
  row.backward_error = backward_error;
  row.label = std::move(label);
}

Case klu_case(const SharedPtr& shared) {
  auto timing = std::make_shared<std::optional<RungTiming<double>>>();
  Case c = case_of(*shared, klu_id, {Phase::refactor});
  c.prepare = [shared, timing]() -> Status {
    LULAB_ASSIGN_OR_RETURN(const auto rung, find_rung(all_rungs(), klu_id));
    auto made = RungTiming<double>::create(*rung, shared->problem);
    if (made.ok()) timing->emplace(std::move(*made));
    return made.status();
  };
  c.run = [timing](std::uint64_t) { return one_time((*timing)->sample(Phase::refactor)); };
  c.verify = [timing](std::span<Row> rows) -> Status {
    const auto error = (*timing)->verify(Phase::refactor);
    if (error.ok()) set_error(rows[0], *error, "one thread");
    return error.status();
  };
  return c;
}

Case host_solve_case(const SharedPtr& shared) {
  auto y = std::make_shared<std::vector<double>>();
  Case c = case_of(*shared, rung_of(Yardstick::host_solve), {Phase::solve});
  c.prepare = [shared] { return shared->factors().status(); };
  c.run = [shared, y](std::uint64_t) -> Result<Times> {
    const Factors<double>& f = **shared->factors();
    *y = shared->system.right_sides(f.plan);
    const auto start = Clock::now();
    solve_lower<double>(f.filled, f.values, *y);
    solve_upper<double>(f.filled, f.values, *y);
    return Times{ms_since(start)};
  };
  c.verify = [shared, y](std::span<Row> rows) -> Status {
    const auto error = shared->system.judge((*shared->factors())->plan, *y);
    if (error.ok()) set_error(rows[0], *error, fmt::format("one thread, backward error {:.1e}", *error));
    return error.status();
  };
  return c;
}

Case gmres_case(const SharedPtr& shared) {
  struct Iterates {
    CscMatrix<double> pracq;
    std::vector<double> b, y;
    GmresRun run;
  };
  auto work = std::make_shared<Iterates>();
  Case c = case_of(*shared, gmres_id, {Phase::factor, Phase::solve, Phase::end_to_end});
  c.prepare = [shared, work]() -> Status {
    const Plan& plan = shared->problem.analysis.plan;
    work->pracq = apply(plan, shared->problem.a.view());
    work->b = shared->system.right_sides(plan);
    return {};
  };
  c.run = [shared, work](std::uint64_t) -> Result<Times> {
    work->y.assign(work->b.size(), std::numeric_limits<double>::quiet_NaN());
    LULAB_ASSIGN_OR_RETURN(const auto ran, gmres(work->pracq, work->b, work->y, shared->options.gmres));
    work->run = ran;
    if (!ran.converged) return Times{};
    return Times{ran.preconditioner_ms, ran.solve_ms, ran.preconditioner_ms + ran.solve_ms};
  };
  c.verify = [shared, work](std::span<Row> rows) -> Status {
    const std::string how = to_string(shared->options.gmres);
    const GmresRun& run = work->run;
    const auto error = shared->system.judge(shared->problem.analysis.plan, work->y);
    for (Row& row : rows) {
      if (!run.converged)
        row.error =
            fmt::format("did not converge: residual {:.1e} after {} iterations, {}", run.residual, run.iterations, how);
      else if (!error.ok())
        row.error = fmt::format("{}, {}", error.status().message, how);
      else
        set_error(row, *error, fmt::format("{} iterations, {}, backward error {:.1e}", run.iterations, how, *error));
      row.solver_iterations = run.iterations;
    }
    return {};
  };
  return c;
}

/// A parallel solve, under the name that its rows have, and of what.
struct Solver {
  std::string rung;
  SolveTask task;
  std::optional<SolveMethod> method;  // none: the library
};

constexpr std::int32_t many_columns = 32;

std::vector<Solver> solvers() {
  std::vector<Solver> all;
  for (const SolveTask task : {SolveTask{}, SolveTask{.transposed = true}, SolveTask{.columns = many_columns}}) {
    const std::string suffix = task.transposed    ? "_transposed"
                               : task.columns > 1 ? fmt::format("_x{}", task.columns)
                                                  : std::string();
    all.push_back(
        {(task.columns > 1 ? "alternatives/cusparse_spsm" : "alternatives/cusparse_spsv") + suffix, task, {}});
    for (const SolveRung* rung : every_solve_rung())
      if (rung->method && !(task.transposed && rung->method == SolveMethod::fronts))  // those are solved by rows
        all.push_back({std::string(rung->id) + suffix, task, rung->method});
  }
  return all;
}

Status not_measured_in_the_simulator() {
  if (simt::machine() == simt::Machine::gpu) return {};
  return Status::error(StatusCode::not_implemented, "performance not measured in the simulator");
}

/// One solver on one system, for a case of its analysis and one of its solves.
class SolverAtWork {
 public:
  SolverAtWork(SharedPtr shared, Solver solver)
      : shared_(std::move(shared)), how_(std::move(solver)), system_(shared_->problem, how_.task) {}

  Status prepare() {
    LULAB_ASSIGN_OR_RETURN(const auto factors, shared_->factors());
    if (solver_) return {};
    LULAB_ASSIGN_OR_RETURN(solver_, how_.method
                                        ? device_solve(*factors, *how_.method, how_.task, shared_->options.warps_per_sm)
                                        : library_solve(*factors, how_.task));
    b_ = system_.right_sides(factors->plan);
    return solver_->analyze().status();
  }
  Result<double> analyze() { return solver_->analyze(); }
  /// Unit ms, of one right-hand side.
  Result<double> solve() {
    y_.assign(b_.size(), std::numeric_limits<double>::quiet_NaN());
    LULAB_ASSIGN_OR_RETURN(const auto ms, solver_->solve(b_, y_));
    return ms / how_.task.columns;
  }
  Status verify(Row& row) {
    const auto error = system_.judge((*shared_->factors())->plan, y_);
    if (!error.ok()) return error.status();
    LULAB_RETURN_IF_ERROR(not_measured_in_the_simulator());
    const std::string levels = solver_->levels() > 0 ? fmt::format("{} levels, ", solver_->levels()) : "";
    const std::string what = how_.task.columns > 1
                                 ? fmt::format("one of {} right-hand sides at once", how_.task.columns)
                                 : "without the analysis";
    set_error(row, *error,
              row.name.phase == Phase::solve ? fmt::format("FP64, {}{}, backward error {:.1e}", levels, what, *error)
                                             : "on the host's clock");
    row.peak_bytes = solver_->bytes();
    return {};
  }

 private:
  SharedPtr shared_;
  const Solver how_;
  const System system_;
  std::unique_ptr<ParallelSolve> solver_;
  std::vector<double> b_, y_;
};

std::vector<Case> solver_cases(const SharedPtr& shared, const Solver& solver) {
  auto work = std::make_shared<SolverAtWork>(shared, solver);
  std::vector<Case> cases;
  if (!solver.task.transposed && solver.task.columns == 1) {  // the analysis has a row of its own
    Case c = case_of(*shared, solver.rung, {Phase::schedule});
    c.prepare = [work] { return work->prepare(); };
    c.run = [work](std::uint64_t) { return one_time(work->analyze()); };
    c.verify = [work](std::span<Row> rows) -> Status {
      LULAB_RETURN_IF_ERROR(work->solve().status());
      return work->verify(rows[0]);
    };
    cases.push_back(std::move(c));
  }
  Case c = case_of(*shared, solver.rung, {Phase::solve});
  c.prepare = [work] { return work->prepare(); };
  c.run = [work](std::uint64_t) { return one_time(work->solve()); };
  c.verify = [work](std::span<Row> rows) { return work->verify(rows[0]); };
  cases.push_back(std::move(c));
  return cases;
}

/// A x = b on the device until it has converged.
class RefinedSolve {
 public:
  explicit RefinedSolve(SharedPtr shared) : shared_(std::move(shared)), x_(shared_->system.b().size()) {}

  Status prepare() {
    LULAB_ASSIGN_OR_RETURN(const auto factors, shared_->factors());
    const Factors<double>& f = *factors;
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(solver_, DeviceSolver<double>::create(f.filled, f.plan, {.transposed = false}, *stream_));
    LULAB_ASSIGN_OR_RETURN(refiner_, DeviceRefiner::create(shared_->problem.a.pattern().view(), 1, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_values_, f.values, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_a_, shared_->problem.a.values, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_b_, shared_->system.b(), *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_x_, d_b_.size()));
    LULAB_RETURN_IF_ERROR(solver_->update(d_values_.data(), *stream_));
    LULAB_RETURN_IF_ERROR(refiner_->update(d_a_.data(), *stream_));
    return solver_->wait_for_pivots(*stream_);
  }
  Result<double> run() {
    LULAB_RETURN_IF_ERROR(d_x_.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    const auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(solver_->solve(d_b_.data(), d_x_.data(), 1, *stream_));
    const auto refined = refiner_->refine(*solver_, d_b_.data(), d_x_.data(), 1, *stream_);
    const double ms = ms_since(start);
    if (!refined.ok()) return refined.status();
    refinement_ = refined->front();
    LULAB_RETURN_IF_ERROR(d_x_.download(x_, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return ms;
  }
  Status verify(Row& row) {
    const auto error = shared_->system.judge(x_, 1e-14);
    if (!error.ok()) return error.status();
    LULAB_RETURN_IF_ERROR(not_measured_in_the_simulator());
    set_error(row, *error,
              fmt::format("A x = b with {} steps of refinement, on the host's clock, backward error {:.1e}",
                          refinement_.iterations, *error));
    row.peak_bytes = solver_->bytes() + refiner_->bytes();
    return {};
  }

 private:
  SharedPtr shared_;
  std::optional<simt::Stream> stream_;
  simt::DeviceBuffer<double> d_values_, d_a_, d_b_, d_x_;
  std::optional<DeviceSolver<double>> solver_;
  std::optional<DeviceRefiner> refiner_;
  std::vector<double> x_;
  Refinement refinement_;
};

Case refined_case(const SharedPtr& shared) {
  auto work = std::make_shared<RefinedSolve>(shared);
  Case c = case_of(*shared, refined_id, {Phase::solve});
  c.prepare = [work] { return work->prepare(); };
  c.run = [work](std::uint64_t) { return one_time(work->run()); };
  c.verify = [work](std::span<Row> rows) { return work->verify(rows[0]); };
  return c;
}

}  // namespace

std::vector<std::string> alternative_ids() {
  std::vector<std::string> ids = {std::string(klu_id), std::string(rung_of(Yardstick::host_solve)),
                                  std::string(gmres_id)};
  for (const Solver& solver : solvers()) ids.push_back(solver.rung);
  ids.emplace_back(refined_id);
  return ids;
}

std::vector<Comparison> alternatives(const Problem& problem, const AlternativesOptions& options) {
  const auto shared = std::make_shared<Shared>(problem, options);
  const Sampling sampling = {
      .min_samples = 3, .max_samples = 1000, .budget_s = options.budget_s, .slow_ms = 2000, .slow_samples = 1};
  std::vector<Comparison> all;
  const auto add = [&](Case c) {
    const auto is_part = [&](const std::string& id) { return c.rows[0].name.rung.find(id) != std::string::npos; };
    if (!options.ids.empty() && std::ranges::none_of(options.ids, is_part)) return;
    const std::string title = c.rows[0].name.rung + " on " + problem.name;
    all.push_back({.title = title, .cases = {std::move(c)}, .sampling = sampling});
  };
  add(klu_case(shared));
  add(host_solve_case(shared));
  add(gmres_case(shared));
  for (const Solver& solver : solvers())
    for (Case& c : solver_cases(shared, solver)) add(std::move(c));
  add(refined_case(shared));
  return all;
}

}  // namespace lulab::bench
