#include "bench/gmres.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <Eigen/Sparse>
#include <unsupported/Eigen/IterativeSolvers>

#include "core/timing.h"

namespace lulab::bench {
namespace {

using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

Matrix by_rows(const CscView<double>& a) {
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(a.values.size());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) entries.emplace_back(a.row_idx[k], j, a.values[k]);
  Matrix m(a.n_rows, a.n_cols);
  m.setFromTriplets(entries.begin(), entries.end());
  return m;
}

}  // namespace

std::string to_string(const GmresOptions& options) {
  return fmt::format("GMRES({}) to {:.0e}, ILUT({:.0e}, {})", options.restart, options.tolerance,
                     options.drop_tolerance, options.fill_factor);
}

Result<GmresRun> gmres(const CscView<double>& a, std::span<const double> b, std::span<double> x,
                       const GmresOptions& options) {
  const auto n = static_cast<std::size_t>(a.n_cols);
  if (a.n_rows != a.n_cols || b.size() != n || x.size() != n)
    return Status::error(StatusCode::invalid_argument, fmt::format("A is {} x {}, b has {} and x {} entries", a.n_rows,
                                                                   a.n_cols, b.size(), x.size()));
  if (a.nnz() > std::numeric_limits<int>::max() / std::max(options.fill_factor, 1))
    return Status::error(StatusCode::out_of_memory, "the incomplete factors outgrow Eigen's 32-bit indices");
  GmresRun run;
  if (n == 0) {
    run.converged = true;
    return run;
  }
  const Matrix m = by_rows(a);
  Eigen::GMRES<Matrix, Eigen::IncompleteLUT<double>> solver;
  solver.preconditioner().setDroptol(options.drop_tolerance);
  solver.preconditioner().setFillfactor(options.fill_factor);
  solver.set_restart(options.restart);
  solver.setMaxIterations(options.max_iterations);
  solver.setTolerance(options.tolerance);
  const Eigen::Map<const Eigen::VectorXd> right_side(b.data(), a.n_cols);
  Eigen::Map<Eigen::VectorXd> solution(x.data(), a.n_cols);

  const auto start = Clock::now();
  solver.compute(m);
  run.preconditioner_ms = ms_since(start);
  const auto preconditioned = Clock::now();
  solution = solver.solve(right_side);
  run.solve_ms = ms_since(preconditioned);
  run.iterations = static_cast<int>(solver.iterations());
  run.residual = solver.error();
  run.converged = solver.info() == Eigen::Success && std::isfinite(run.residual);
  return run;
}

}  // namespace lulab::bench
