#include "capi/engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "driver/batch_solver.h"
#include "driver/solver.h"

namespace lulab::c_api {

namespace {

template <std::size_t size>
void copy_text(char (&to)[size], std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

void write_analysis(const Analysis& analysis, const RungChoice& choice, const StepTimes& times, lulab_statistics& out) {
  out.n = analysis.filled.n;
  out.nnz = analysis.a.nnz();
  out.nnz_l = analysis.filled.nnz_l();
  out.nnz_u = analysis.filled.nnz_u();
  out.pivots_ms = times.prepare + times.pivots;
  out.upload_ms = times.upload;
  out.refactor_ms = times.refactor;
  out.judge_ms = times.judge;
  out.solve_ms = times.solve;
  out.download_ms = times.download;
  if (choice.rung != nullptr) copy_text(out.rung, choice.rung->facts.id);
  copy_text(out.order, analysis.plan.order);
  copy_text(out.reason, choice.reason);
}

void write_statistics(const Statistics& known, lulab_statistics& out) {
  out.structural_rank = known.structural_rank;
  out.numerical_rank = known.numerical_rank;
  out.off_diagonal_pivots = known.off_diagonal_pivots;
  out.perturbed_pivots = known.perturbed_pivots;
  out.repivots = known.repivots;
  out.peak_bytes = known.peak_bytes;
  out.pivot_growth = known.pivot_growth;
  out.rcond = known.rcond;
}

template <class Solver>
Solver made(const Options& options) {
  return options.rung == nullptr ? Solver(options.solver) : Solver(*options.rung, options.solver);
}

void take_worse(Refinement& worst, const Refinement& r) {
  const bool converged = worst.converged && r.converged;
  if (!(r.omega <= worst.omega) && !std::isnan(worst.omega)) worst = r;
  worst.converged = converged;
}

template <class T>
class SingleEngine final : public Engine {
 public:
  explicit SingleEngine(const Options& options) : solver_(made<Solver<T>>(options)) {}

  Status analyze(const CscView<double>& a) override { return solver_.analyze(a); }
  Status factor(std::span<const double> values) override { return solver_.factor(values); }
  Status refactor(std::span<const double> values) override { return solver_.refactor(values); }
  Status solve(std::span<const double> b, std::span<double> x, bool transposed) override {
    worst_ = {.converged = true};
    const auto n = static_cast<std::size_t>(solver_.analysis().a.n_cols);
    const auto columns = n == 0 ? 0 : static_cast<std::int32_t>(b.size() / n);
    if (columns == 0) return {};
    LULAB_ASSIGN_OR_RETURN(const auto all,
                           transposed ? solver_.solve_transposed(b, x, columns) : solver_.solve(b, x, columns));
    for (const Refinement& r : all) take_worse(worst_, r);
    return {};
  }
  Status step(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    return taken(solver_.step(values, b, x));
  }
  Status step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) override {
    return solver_.step_device(d_values, d_b, d_x, stream);
  }
  Status wait() override { return taken(solver_.wait_for_step()); }
  Result<ConditionEstimate> condition() override { return solver_.condition(); }
  void write(lulab_statistics& out) override {
    write_statistics(solver_.statistics(), out);
    write_analysis(solver_.analysis(), solver_.choice(), solver_.times(), out);
    out.systems = 1;
  }
  const Analysis& analysis() const override { return solver_.analysis(); }

 private:
  Status taken(const Result<Refinement>& solved) {
    worst_ = solved.ok() ? *solved : Refinement{.converged = true};
    return solved.status();
  }

  Solver<T> solver_;
};

template <class T>
class BatchEngine final : public Engine {
 public:
  BatchEngine(const Options& options, std::int32_t systems) : solver_(made<BatchSolver<T>>(options)), count_(systems) {}

  Status analyze(const CscView<double>& a) override {
    forget();
    return solver_.analyze(a, count_);
  }
  Status factor(std::span<const double> values) override {
    forget();
    LULAB_ASSIGN_OR_RETURN(systems_, solver_.factor(values));
    return first_error();
  }
  Status refactor(std::span<const double> values) override { return factor(values); }
  Status solve(std::span<const double> b, std::span<double> x, bool transposed) override {
    forget();
    if (transposed) return Status::error(StatusCode::not_implemented, "tsolve: not for a batch; analyze the transpose");
    return taken(solver_.solve(b, x));
  }
  Status step(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    return taken(solver_.step(values, b, x));
  }
  Status step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) override {
    forget();
    return solver_.step_device(d_values, d_b, d_x, stream);
  }
  Status wait() override { return taken(solver_.wait_for_step()); }
  Result<ConditionEstimate> condition() override {
    return Status::error(StatusCode::not_implemented, "condition: not for a batch");
  }
  void write(lulab_statistics& out) override {
    write_analysis(solver_.analysis(), solver_.choice(), solver_.times(), out);
    const BatchStatistics known = solver_.statistics();
    out.systems = known.systems;
    out.failed = known.failed;
    out.recovered = known.recovered;
    out.peak_bytes = known.peak_bytes;
  }
  const Analysis& analysis() const override { return solver_.analysis(); }

 private:
  Status taken(const Result<std::vector<Result<Refinement>>>& solved) {
    forget();
    LULAB_RETURN_IF_ERROR(solved.status());
    for (const Result<Refinement>& one : *solved) {
      systems_.push_back(one.status());
      if (one.ok()) take_worse(worst_, *one);
    }
    return first_error();
  }
  void forget() {
    systems_.clear();
    failed_system_ = -1;
    worst_ = {.converged = true};
  }
  Status first_error() {
    const auto failed = std::ranges::find_if(systems_, [](const Status& s) { return !s.ok(); });
    if (failed == systems_.end()) return {};
    failed_system_ = static_cast<std::int32_t>(failed - systems_.begin());
    Status named = *failed;
    named.message = fmt::format("system {} of {}: {}", failed_system_ + 1, systems_.size(), named.message);
    return named;
  }

  BatchSolver<T> solver_;
  std::int32_t count_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(std::int32_t precision, const Options& options, std::int32_t systems) {
  if (precision == LULAB_FLOAT) {
    if (systems > 0) return std::make_unique<BatchEngine<float>>(options, systems);
    return std::make_unique<SingleEngine<float>>(options);
  }
  if (systems > 0) return std::make_unique<BatchEngine<double>>(options, systems);
  return std::make_unique<SingleEngine<double>>(options);
}

}  // namespace lulab::c_api
