#include "app/distributed_solver.h"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/matrix/generate.h"
#include "core/timing.h"
#include "solve/condest.h"

namespace lulab::app {
namespace {

double sum_of_sizes(std::span<const double> v) {
  double sum = 0;
  for (const double value : v) sum += std::abs(value);
  return sum;
}

}  // namespace

const Rung& distributed_rung() {
  static constexpr Rung rung = {{.id = "sparse_hybrid/90_superlu_dist",
                                 .stage = "sparse_hybrid",
                                 .paper = "Li & Demmel 2003 (SuperLU_DIST)",
                                 .idea = "L and U in blocks over a grid of MPI processes: supernodes, right-looking, "
                                         "with look-ahead",
                                 .pivoting = Pivoting::fixed,
                                 .device = Device::cpu,
                                 .dependencies = Dependencies::none,
                                 .deterministic = false,
                                 .exact_pattern = false}};
  return rung;
}

DistributedSolver::DistributedSolver(DistributedLu& lu, PreprocessOptions options) : lu_(lu), options_(options) {
  if (options_.order == Order::automatic) options_.order = Order::nd;
}

Result<DistributedSolver::Times> DistributedSolver::in_columns_of_a(const Result<DistributedLu::Times>& result,
                                                                    double apply_ms) const {
  if (result.ok()) return Times{apply_ms + result->symbolic_ms, result->numeric_ms};
  Status status = result.status();
  for (std::int32_t& column : status.where.columns) {
    column = plan_.q[column];
    status.message = fmt::format(
        "the pivot of column {} of A is zero; A is singular, or needs pivots chosen by value, "
        "which {} does not do",
        column + 1, distributed_rung().facts.id);
  }
  return status;
}

Result<DistributedSolver::Times> DistributedSolver::factor(const CscMatrix<double>& a) {
  const auto start = Clock::now();
  LULAB_ASSIGN_OR_RETURN(plan_, preprocess(a, options_));
  const CscMatrix<double> b = apply(plan_, a.view());
  norm_ = norm1(b);
  const double ms = ms_since(start);
  return in_columns_of_a(lu_.factor(b), ms);
}

Result<DistributedSolver::Times> DistributedSolver::refactor(const CscMatrix<double>& a) {
  const auto start = Clock::now();
  const CscMatrix<double> b = apply(plan_, a.view());
  norm_ = norm1(b);
  const double ms = ms_since(start);
  return in_columns_of_a(lu_.refactor(b), ms);
}

Refinement DistributedSolver::solve(const CscMatrix<double>& a, std::span<const double> b, std::span<double> x) {
  std::vector<double> y(b.size());
  const auto unrefined = [this, &y](std::span<const double> from, std::span<double> to) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = plan_.r[plan_.p[i]] * from[plan_.p[i]];
    lu_.solve(y);
    for (std::size_t j = 0; j < y.size(); ++j) to[plan_.q[j]] = plan_.c[plan_.q[j]] * y[j];
  };
  return HostRefiner<double>(a).solve_by(unrefined, a.values, b, x, RefinementRule::eps);
}

double DistributedSolver::rcond_at_most() {
  std::vector<double> v = random_vector(plan_.n(), 1);
  if (v.empty()) return 1;
  constexpr int solves = 3;
  double inverse_norm = 0;
  for (int k = 0; k < solves; ++k) {
    const double before = sum_of_sizes(v);
    for (double& value : v) value /= before;
    lu_.solve(v);
    const double size = sum_of_sizes(v);
    if (!std::isfinite(size)) return 0;
    inverse_norm = std::max(inverse_norm, size);
  }
  return 1 / (norm_ * inverse_norm);
}

double normwise_backward_error(const CscView<double>& a, std::span<const double> x, std::span<const double> b) {
  std::vector<double> r(b.size());
  residual(a, x, b, r);
  const double size = sum_of_sizes(r);
  return size == 0 ? 0 : size / (norm1(a) * sum_of_sizes(x) + sum_of_sizes(b));
}

}  // namespace lulab::app
