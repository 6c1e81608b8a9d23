// Eigen::SparseLU on P·R·A·C·Q as it stands: with NaturalOrdering Eigen keeps the order of the columns.
// It stores U inside a supernode as a full triangle and L as full columns of it, so the factors hold explicit zeros.

#include <Eigen/SparseCore>
#include <Eigen/SparseLU>

#include "core/factors.h"
#include "core/host_backend.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/fill.h"

namespace lulab::sparse_leftlooking {

namespace {

template <class T>
class EigenBackend final : public HostBackend<T> {
 public:
  using HostBackend<T>::HostBackend;

 private:
  using Index = std::int64_t;  // factors may outgrow 32 bits
  using Matrix = Eigen::SparseMatrix<T, Eigen::ColMajor, Index>;
  using Solver = Eigen::SparseLU<Matrix, Eigen::NaturalOrdering<Index>>;

  Status prepare_rung() override {
    const CscView<T> b = this->pracq();
    b_ = Matrix(b.n_rows, b.n_cols);
    b_.resizeNonZeros(b.nnz());
    std::copy(b.col_ptr.begin(), b.col_ptr.end(), b_.outerIndexPtr());
    std::copy(b.row_idx.begin(), b.row_idx.end(), b_.innerIndexPtr());
    std::copy(b.values.begin(), b.values.end(), b_.valuePtr());
    start();
    return {};
  }

  void start() {
    solver_ = std::make_unique<Solver>();
    solver_->setPivotThreshold(static_cast<T>(this->options().pivot_tol));
    solver_->analyzePattern(b_);
  }

  Status eliminate() override {
    const CscView<T> b = this->pracq();
    std::copy(b.values.begin(), b.values.end(), b_.valuePtr());
    // Eigen allocates in steps of half of what it has, for ever where it starts with none or one.
    for (std::int32_t j = 0; j < this->n(); ++j)
      if (b.col_ptr[j] == b.col_ptr[j + 1])
        return this->column_error(StatusCode::numerically_singular, j, "the column is empty");
    solver_->factorize(b_);
    if (solver_->lastErrorMessage().empty()) return {};  // info() is not set on every failure
    const std::string message = solver_->lastErrorMessage();
    const Index reached = solver_->rowsPermutation().indices().size() > 0
                              ? solver_->rowsPermutation().indices().maxCoeff()  // the column that failed has its row
                              : -1;
    start();  // Eigen keeps the message of a failure for ever
    if (message.starts_with("UNABLE") || reached < 0)
      return Status::error(StatusCode::out_of_memory, "Eigen found no memory left; try another ordering");
    return this->column_error(StatusCode::numerically_singular, static_cast<std::int32_t>(reached),
                              "Eigen found no nonzero pivot");
  }

  Factors<T> result() override {
    const std::int32_t n = this->n();
    const auto l_and_triangles = solver_->matrixL();
    const auto upper = solver_->matrixU();
    CscMatrix<T> l, u;
    l.n_rows = l.n_cols = u.n_rows = u.n_cols = n;
    const auto append = [](CscMatrix<T>& to, const auto& entry) {
      to.row_idx.push_back(static_cast<std::int32_t>(entry.row()));
      to.values.push_back(entry.value());
    };
    for (std::int32_t j = 0; j < n; ++j) {
      for (typename Solver::SCMatrix::InnerIterator e(l_and_triangles.m_mapL, j); e; ++e)
        append(e.row() > j ? l : u, e);
      for (typename std::decay_t<decltype(upper.m_mapU)>::InnerIterator e(upper.m_mapU, j); e; ++e) append(u, e);
      l.col_ptr.push_back(l.nnz());
      u.col_ptr.push_back(u.nnz());
    }
    const auto& new_of_old = solver_->rowsPermutation().indices();
    Permutation p(n);
    for (std::int32_t i = 0; i < n; ++i) p[new_of_old(i)] = i;
    Plan plan = this->plan();
    plan.p = compose(plan.p, p);
    Factors<T> f = join_factors(std::move(plan), l.view(), u.view());
    f.statistics.flops = factor_flops(f.filled);
    return f;
  }

  Matrix b_;
  std::unique_ptr<Solver> solver_;
};

}  // namespace

const Rung eigen_sparselu = rung_of<EigenBackend>(
    {.id = "sparse_leftlooking/91_eigen_sparselu",
     .stage = "sparse_leftlooking",
     .paper = "Demmel et al. 1999 (SuperLU), as in Eigen::SparseLU",
     .idea = "supernodes: columns of L with the same pattern update together by small dense products",
     .pivoting = Pivoting::threshold,
     .refactors = false,
     .exact_pattern = false});

}  // namespace lulab::sparse_leftlooking
