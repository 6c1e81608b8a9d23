#include "bench/klu_solver.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "symbolic/klu_objects.h"

namespace lulab::bench {

KluSolver::KluSolver(CscPatternView a) : klu_(std::make_unique<KluObjects>()) {
  if (a.nnz() > std::numeric_limits<int>::max()) return;  // an empty Ap_: analyze() says so
  Ap_.assign(a.col_ptr.begin(), a.col_ptr.end());
  Ai_.assign(a.row_idx.begin(), a.row_idx.end());
}
KluSolver::~KluSolver() = default;
KluSolver::KluSolver(KluSolver&&) noexcept = default;
KluSolver& KluSolver::operator=(KluSolver&&) noexcept = default;

Status KluSolver::outcome(const char* call, bool done) const {
  const klu_common& common = klu_->common;
  const int n = static_cast<int>(Ap_.size()) - 1, rank = common.structural_rank;
  if (rank >= 0 && rank < n)  // klu_analyze() leaves it to klu_factor() to fail
    return Status::error(StatusCode::structurally_singular,
                         fmt::format("{} finds the structural rank {} of {}", call, rank, n));
  if (done && common.status == KLU_OK) return {};
  switch (common.status) {
    case KLU_SINGULAR: {
      Status status = Status::error(StatusCode::numerically_singular, fmt::format("{} found no nonzero pivot", call));
      if (common.singular_col >= 0 && common.singular_col < n) status.where.columns = {common.singular_col};
      return status;
    }
    case KLU_OUT_OF_MEMORY:
    case KLU_TOO_LARGE: return Status::error(StatusCode::out_of_memory, fmt::format("{}: out of memory", call));
    default:
      return Status::error(StatusCode::invalid_argument, fmt::format("{} answers with status {}", call, common.status));
  }
}

Status KluSolver::analyze() {
  KluObjects& k = *klu_;
  if (Ap_.empty()) return Status::error(StatusCode::out_of_memory, "the matrix outgrows KLU's 32-bit indices");
  k.release();
  k.symbolic = klu_analyze(static_cast<int>(Ap_.size()) - 1, Ap_.data(), Ai_.data(), &k.common);
  return outcome("klu_analyze", k.symbolic != nullptr);
}

Status KluSolver::analyze(const Plan& plan) {
  KluObjects& k = *klu_;
  if (Ap_.empty()) return Status::error(StatusCode::out_of_memory, "the matrix outgrows KLU's 32-bit indices");
  std::vector<int> p(plan.p.begin(), plan.p.end()), q(plan.q.begin(), plan.q.end());
  k.release();
  k.symbolic = klu_analyze_given(plan.n(), Ap_.data(), Ai_.data(), p.data(), q.data(), &k.common);
  return outcome("klu_analyze_given", k.symbolic != nullptr);
}

Status KluSolver::factor(std::span<const double> values) {
  KluObjects& k = *klu_;
  klu_free_numeric(&k.numeric, &k.common);
  // KLU reads the values only, but asks for a pointer to change them.
  k.numeric = klu_factor(Ap_.data(), Ai_.data(), const_cast<double*>(values.data()), k.symbolic, &k.common);
  return outcome("klu_factor", k.numeric != nullptr);
}

Status KluSolver::refactor(std::span<const double> values) {
  KluObjects& k = *klu_;
  const int done =
      klu_refactor(Ap_.data(), Ai_.data(), const_cast<double*>(values.data()), k.symbolic, k.numeric, &k.common);
  return outcome("klu_refactor", done != 0);
}

Status KluSolver::solve(std::span<const double> b, std::span<double> x) {
  KluObjects& k = *klu_;
  std::ranges::copy(b, x.begin());
  const int done = klu_solve(k.symbolic, k.numeric, static_cast<int>(x.size()), 1, x.data(), &k.common);
  return outcome("klu_solve", done != 0);
}

}  // namespace lulab::bench
