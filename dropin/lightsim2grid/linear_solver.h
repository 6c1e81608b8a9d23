#pragma once
// What lightsim2grid's powerflow algorithms ask of a linear solver, by lulab's C interface.

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "linear_solvers/LinearSolverPolicy.hpp"
#include "linear_solvers/RefactorRetryLinearSolver.hpp"
#include "lulab.h"
#include "powerflow_algorithm/NRAlgo.hpp"

namespace lulab_lightsim2grid {

using ls2g::EigenRefConstRealSpMat;
using ls2g::ErrorType;
using ls2g::RealVect;

/// One handle of lulab for one algorithm of one thread.
class LulabLinearSolver {
 public:
  static constexpr bool CAN_SOLVE_MAT = false;
  static constexpr bool CAN_SOLVE_TRANSPOSE = true;

  LulabLinearSolver() noexcept {
    lulab_create(&solver_, LULAB_DOUBLE, LULAB_ABI);     // where that fails, the calls do
    lulab_set_option(solver_, "threads", "1");           // the sweeps have threads of their own
    lulab_set_option(solver_, "prepare_at_once", "on");  // on a CPU x does not change with the steps before
    const char* const rung = std::getenv("LULAB_RUNG");
    if (rung != nullptr) takes_rung_ = lulab_set_option(solver_, "rung", rung) == LULAB_OK;
  }
  ~LulabLinearSolver() noexcept { lulab_destroy(solver_); }
  LulabLinearSolver(const LulabLinearSolver&) = delete;
  LulabLinearSolver& operator=(const LulabLinearSolver&) = delete;

  // Keeps what is known of the pattern: the next one is most often the same, or differs by a line.
  ErrorType reset() {
    analyzed_ = false;
    return ErrorType::NoError;
  }

  ErrorType analyze(const EigenRefConstRealSpMat& j) {
    analyzed_ = false;
    if (!takes_rung_ || j.rows() != j.cols() || !j.isCompressed()) return ErrorType::SolverAnalyze;
    lulab_matrix a = {};
    a.size = sizeof a;
    a.n = j.cols();
    a.nnz = j.nonZeros();
    a.format = LULAB_CSC;
    a.pointer_bits = a.index_bits = 8 * sizeof(Index);
    a.ptr = j.outerIndexPtr();
    a.idx = j.innerIndexPtr();
    a.values = j.valuePtr();
    const int status = lulab_analyze(solver_, &a);
    analyzed_ = status == LULAB_OK;
    if (analyzed_) {
      col_ptr_.assign(j.outerIndexPtr(), j.outerIndexPtr() + a.n + 1);
      row_idx_.assign(j.innerIndexPtr(), j.innerIndexPtr() + a.nnz);
    }
    return code(status, ErrorType::SolverAnalyze);
  }

  ErrorType factorize(const EigenRefConstRealSpMat& j) { return numeric(lulab_factor, j, ErrorType::SolverFactor); }
  ErrorType refactorize(const EigenRefConstRealSpMat& j) {
    return numeric(lulab_refactor, j, ErrorType::SolverReFactor);
  }
  ErrorType solve(Eigen::Ref<RealVect> b) { return solve_by(lulab_solve, b); }
  ErrorType solve_transpose(Eigen::Ref<RealVect> b) { return solve_by(lulab_tsolve, b); }

 private:
  using Index = EigenRefConstRealSpMat::StorageIndex;

  template <class Phase>
  ErrorType numeric(Phase phase, const EigenRefConstRealSpMat& j, ErrorType failed) {
    const bool same_pattern =
        analyzed_ && j.isCompressed() &&
        std::equal(col_ptr_.begin(), col_ptr_.end(), j.outerIndexPtr(), j.outerIndexPtr() + j.cols() + 1) &&
        std::equal(row_idx_.begin(), row_idx_.end(), j.innerIndexPtr(), j.innerIndexPtr() + j.nonZeros());
    return same_pattern ? code(phase(solver_, j.nonZeros(), j.valuePtr()), failed) : failed;
  }

  template <class Phase>
  ErrorType solve_by(Phase phase, Eigen::Ref<RealVect> b) {
    return analyzed_ ? code(phase(solver_, b.size(), b.data(), b.data()), ErrorType::SolverSolve)
                     : ErrorType::SolverSolve;
  }

  static ErrorType code(int status, ErrorType failed) {
    switch (status) {
      case LULAB_OK: return ErrorType::NoError;
      case LULAB_STRUCTURALLY_SINGULAR:
      case LULAB_NUMERICALLY_SINGULAR: return ErrorType::SingularMatrix;
      case LULAB_NOT_FINITE: return ErrorType::InifiniteValue;
      default: return failed;
    }
  }

  lulab_solver* solver_ = nullptr;
  bool takes_rung_ = true;
  bool analyzed_ = false;
  std::vector<Index> col_ptr_, row_idx_;  // analyzed
};

using Policy = ls2g::LinearSolverPolicy<LulabLinearSolver>;
using Retry = ls2g::RefactorRetryLinearSolver<LulabLinearSolver>;
using NR_LULAB = ls2g::NRAlgo<Policy, ls2g::MultiSlackNRSystem>;
using NRSing_LULAB = ls2g::NRAlgo<Policy, ls2g::SingleSlackNRSystem>;
using NRRefactorRetry_LULAB = ls2g::NRAlgo<Retry, ls2g::MultiSlackNRSystem>;

}  // namespace lulab_lightsim2grid
