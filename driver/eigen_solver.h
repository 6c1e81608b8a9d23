#pragma once
// Solver<T> with the interface of Eigen's sparse solvers: where Eigen::KLU<Matrix> stands, EigenSolver<Matrix> may
// stand.
// Not for .cu files: Eigen takes long to compile.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <Eigen/SparseCore>

#include "core/matrix/csc.h"
#include "driver/solver.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab {

/// The rung of an EigenSolver when none is named. Like Eigen::KLU it needs no GPU and chooses pivots by value, so it
/// takes any matrix that is not singular: KLU itself, or for float, which KLU does not know, Gilbert & Peierls.
template <class Scalar>
const Rung& default_eigen_rung() {
  if constexpr (std::is_same_v<Scalar, double>)
    return sparse_leftlooking::klu;
  else
    return sparse_leftlooking::reference;
}

/// A x = b by any rung, called as Eigen::KLU, SparseLU or UmfPackLU are: compute() or analyzePattern() + factorize(),
/// then solve(), which is an expression; info() after each. The determinants and transpose() are those of SparseLU.
///
///     lulab::EigenSolver<Eigen::SparseMatrix<double>> solver;   // was: Eigen::KLU<Eigen::SparseMatrix<double>>
///     solver.compute(a);
///     x = solver.solve(b);
///     y = solver.transpose().solve(b);
///     solver.factorize(a_next);                                 // new values: a refactorization, where KLU factors
///     anew
///
/// What differs from Eigen::KLU: factorize() keeps the pivots of the last one as long as they are good for the new
/// values (driver/pivot_check.h); x is refined; float is factored too; errors have a message (status()).
/// Where Eigen asserts a wrong order of calls, info() is InvalidInput.
///
/// MatrixType  Eigen::SparseMatrix of float or double. Column-major and compressed it is read in place; whatever else
///             is given (row-major, uncompressed, an expression) Eigen copies first.
/// Errors      info(): NumericalIssue where status() is structurally_singular, numerically_singular or needs_repivot,
///             InvalidInput for every other error: pattern, size, order of calls, value that is not finite, rung
///             without this scalar type, memory, device. Without factors solve() fills x with NaN.
///             As everywhere in Eigen a right-hand side of another size is an assertion.
/// Threads     solve() sets info(): one solver, one thread at a time.
template <class MatrixType_>
class EigenSolver : public Eigen::SparseSolverBase<EigenSolver<MatrixType_>> {
  using Base = Eigen::SparseSolverBase<EigenSolver<MatrixType_>>;
  using Base::m_isInitialized;

 public:
  using Base::_solve_impl;
  using MatrixType = MatrixType_;
  using Scalar = typename MatrixType::Scalar;
  using RealScalar = typename MatrixType::RealScalar;
  using StorageIndex = typename MatrixType::StorageIndex;
  enum { ColsAtCompileTime = MatrixType::ColsAtCompileTime, MaxColsAtCompileTime = MatrixType::MaxColsAtCompileTime };
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>,
                "lulab::EigenSolver factors matrices of float or double");

  /// rung: must outlive the solver. One of the registry by its name: **find_rung(all_rungs(), "05_supernode_pipeline").
  explicit EigenSolver(const Rung& rung = default_eigen_rung<Scalar>(), SolverOptions options = {})
      : solver_(rung, std::move(options)) {
    m_isInitialized = true;  // info() reports a missing call; nothing is asserted
  }
  template <class Input>
  explicit EigenSolver(const Eigen::SparseMatrixBase<Input>& a, const Rung& rung = default_eigen_rung<Scalar>(),
                       SolverOptions options = {})
      : EigenSolver(rung, std::move(options)) {
    compute(a);
  }

  /// Takes the pattern. The analysis itself waits for the first factorize(): its matching and scaling need values, and
  /// callers of analyzePattern() may have none yet.
  template <class Input>
  EigenSolver& analyzePattern(const Eigen::SparseMatrixBase<Input>& a) {
    has_pattern_ = analyzed_ = false;
    const Compressed<Input> from(a.derived());
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    if (from.rows() != from.cols() || from.rows() >= most)
      return settle(Status::error(StatusCode::invalid_argument,
                                  fmt::format("EigenSolver: A is {} x {}; it must be square, with fewer than 2^31 rows",
                                              from.rows(), from.cols())));
    const auto first = from.outerIndexPtr()[0];  // not 0 in a block of columns
    a_.n_rows = a_.n_cols = static_cast<std::int32_t>(from.rows());
    a_.col_ptr.resize(from.cols() + 1);
    for (Eigen::Index j = 0; j <= from.cols(); ++j) a_.col_ptr[j] = from.outerIndexPtr()[j] - first;
    const auto* rows = from.innerIndexPtr() + first;
    a_.row_idx.resize(from.nonZeros());
    for (Eigen::Index k = 0; k < from.nonZeros(); ++k) a_.row_idx[k] = static_cast<std::int32_t>(rows[k]);
    a_.values.assign(from.nonZeros(), 0.0);
    if (Status unsorted = check_sorted(a_); !unsorted.ok()) return settle(std::move(unsorted));
    has_pattern_ = true;
    factored_ = Status::error(StatusCode::invalid_argument, "EigenSolver: call factorize() before solve()");
    status_ = {};
    return *this;
  }

  /// The first time after analyzePattern(): analysis and factorization; then refactorizations.
  template <class Input>
  EigenSolver& factorize(const Eigen::SparseMatrixBase<Input>& a) {
    if (!has_pattern_)
      return settle(
          Status::error(StatusCode::invalid_argument, "EigenSolver: call analyzePattern() or compute() first"));
    const Compressed<Input> from(a.derived());
    if (!has_pattern_of(from))
      return settle(Status::error(StatusCode::invalid_argument,
                                  "EigenSolver: this matrix has another pattern than the one analyzed; call "
                                  "analyzePattern() or compute() for it"));
    std::copy_n(from.valuePtr() + from.outerIndexPtr()[0], from.nonZeros(), a_.values.begin());
    const bool again = analyzed_ && factored_.ok();
    if (!analyzed_) {
      if (Status failed = solver_.analyze(a_); !failed.ok()) return settle(std::move(failed));
      analyzed_ = true;
    }
    return settle(again ? solver_.refactor(a_.values) : solver_.factor(a_.values));  // the pattern was compared above
  }

  /// analyzePattern() and factorize().
  template <class Input>
  EigenSolver& compute(const Eigen::SparseMatrixBase<Input>& a) {
    analyzePattern(a);
    return has_pattern_ ? factorize(a) : *this;
  }

  Eigen::Index rows() const { return has_pattern_ ? a_.n_rows : 0; }
  Eigen::Index cols() const { return has_pattern_ ? a_.n_cols : 0; }

  /// Of the last call, solve() included.
  Eigen::ComputationInfo info() const {
    switch (status_.code) {
      case StatusCode::ok: return Eigen::Success;
      case StatusCode::structurally_singular:
      case StatusCode::numerically_singular:
      case StatusCode::needs_repivot: return Eigen::NumericalIssue;
      default: return Eigen::InvalidInput;
    }
  }
  /// info() in full: what happened, where (rows and columns in A's own numbering) and what to do.
  const Status& status() const { return status_; }
  std::string lastErrorMessage() const { return status_.message; }
  /// Statistics, times and re-pivotings.
  const Solver<Scalar>& solver() const { return solver_; }

  /// x = solve(b). Before compute() or analyzePattern() x becomes empty and info() InvalidInput.
  template <class B>
  const Eigen::Solve<EigenSolver, B> solve(const Eigen::MatrixBase<B>& b) const {
    eigen_assert(!has_pattern_ || rows() == b.rows());
    return Eigen::Solve<EigenSolver, B>(*this, b.derived());
  }
  using Base::solve;  // of a sparse b

  /// Aᵀ x = b: x = solver.transpose().solve(b). The solver must outlive it. info() is that of the solver.
  class Transposed : public Eigen::SparseSolverBase<Transposed> {
    using Base = Eigen::SparseSolverBase<Transposed>;

   public:
    using Base::_solve_impl;
    using Base::solve;
    template <class B>  // without a check of sizes, as EigenSolver's: before compute() info() tells
    const Eigen::Solve<Transposed, B> solve(const Eigen::MatrixBase<B>& b) const {
      return Eigen::Solve<Transposed, B>(*this, b.derived());
    }
    using MatrixType = MatrixType_;
    using Scalar = typename MatrixType::Scalar;
    using StorageIndex = typename MatrixType::StorageIndex;
    enum { ColsAtCompileTime = MatrixType::ColsAtCompileTime, MaxColsAtCompileTime = MatrixType::MaxColsAtCompileTime };

    explicit Transposed(const EigenSolver& solver) : solver_(solver) { this->m_isInitialized = true; }
    Eigen::Index rows() const { return solver_.cols(); }
    Eigen::Index cols() const { return solver_.rows(); }
    Eigen::ComputationInfo info() const { return solver_.info(); }
    template <class B, class X>
    void _solve_impl(const Eigen::MatrixBase<B>& b, Eigen::MatrixBase<X>& x) const {
      solver_.solve_dense(b, x, true);
    }

   private:
    const EigenSolver& solver_;
  };
  Transposed transpose() const { return Transposed(*this); }
  Transposed adjoint() const { return Transposed(*this); }  // of a real matrix

  /// Of A as last factored; NaN without factors. Beyond the range of Scalar the determinant is infinite or 0, its
  /// logarithm is not.   Cost that of Solver::factors().
  Scalar determinant() const { return signDeterminant() * absDeterminant(); }
  Scalar absDeterminant() const {
    const auto [mantissa, exponent] = abs_determinant();
    return static_cast<Scalar>(
        std::ldexp(mantissa, static_cast<int>(std::clamp<std::int64_t>(exponent, -1 << 30, 1 << 30))));
  }
  Scalar logAbsDeterminant() const {
    const auto [mantissa, exponent] = abs_determinant();
    return static_cast<Scalar>(std::log(mantissa) + static_cast<double>(exponent) * std::log(2.0));
  }
  /// 1 or -1.
  Scalar signDeterminant() const {
    const std::optional<std::vector<double>> pivots = pivots_of_a();
    if (!pivots) return nan();
    const Plan& plan = solver_.factors().plan;
    if (plan.p.size() != pivots->size()) return nan();  // no memory for a copy of them
    int sign = 1;
    for (const double pivot : *pivots) sign = pivot < 0 ? -sign : sign;
    return static_cast<Scalar>(sign * parity(plan.p) * parity(plan.q));
  }

  /// solve() of a dense b calls this.   Shapes b, x: n x columns; they may be the same object.
  template <class B, class X>
  void _solve_impl(const Eigen::MatrixBase<B>& b, Eigen::MatrixBase<X>& x) const {
    solve_dense(b, x, false);
  }

 private:
  /// Compressed and column-major: the matrix itself when it is so, else a copy.
  template <class Input>
  using Compressed = Eigen::Ref<const Eigen::SparseMatrix<Scalar, Eigen::ColMajor, typename Input::StorageIndex>,
                                Eigen::StandardCompressedFormat>;

  static Scalar nan() { return std::numeric_limits<Scalar>::quiet_NaN(); }

  template <class B, class X>
  void solve_dense(const Eigen::MatrixBase<B>& b, Eigen::MatrixBase<X>& x, bool transposed) const {
    const Eigen::MatrixXd from = b.template cast<double>();
    Eigen::MatrixXd solved(from.rows(), from.cols());
    const std::span<const double> given(from.data(), static_cast<std::size_t>(from.size()));
    const std::span<double> wanted(solved.data(), static_cast<std::size_t>(solved.size()));
    const auto columns = static_cast<std::int32_t>(from.cols());
    status_ = factored_;
    if (status_.ok() && columns > 0) {
      status_ = (transposed ? solver_.solve_transposed(given, wanted, columns) : solver_.solve(given, wanted, columns))
                    .status();
      if (status_.ok()) x = solved.template cast<typename X::Scalar>();
    }
    if (!status_.ok()) x.setConstant(std::numeric_limits<typename X::Scalar>::quiet_NaN());
  }

  /// Nothing without factors.
  std::optional<std::vector<double>> pivots_of_a() const {
    std::optional<std::vector<double>> pivots(static_cast<std::size_t>(rows()));
    if (!factored_.ok() || !solver_.pivots(*pivots).ok()) pivots.reset();
    return pivots;
  }

  /// |det A| = mantissa * 2^exponent
  std::pair<double, std::int64_t> abs_determinant() const {
    const std::optional<std::vector<double>> pivots = pivots_of_a();
    if (!pivots) return {std::numeric_limits<double>::quiet_NaN(), 0};
    std::pair<double, std::int64_t> product(1.0, 0);
    for (const double pivot : *pivots) {
      int exponent = 0;
      product.first = std::frexp(product.first * std::abs(pivot), &exponent);
      product.second += exponent;
    }
    return product;
  }

  /// The sign of a permutation: how many swaps sort it.
  static int parity(Permutation p) {
    int sign = 1;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(p.size()); ++i)
      while (p[i] != i) {
        const std::int32_t j = p[i];
        std::swap(p[i], p[j]);
        sign = -sign;
      }
    return sign;
  }

  template <class From>
  bool has_pattern_of(const From& from) const {
    if (from.rows() != a_.n_rows || from.cols() != a_.n_cols || from.nonZeros() != a_.nnz()) return false;
    const auto first = from.outerIndexPtr()[0];
    for (Eigen::Index j = 0; j <= from.cols(); ++j)
      if (from.outerIndexPtr()[j] - first != a_.col_ptr[j]) return false;
    return std::equal(a_.row_idx.begin(), a_.row_idx.end(), from.innerIndexPtr() + first);
  }

  /// An error of a factorization is also the error of solve().
  EigenSolver& settle(Status outcome) {
    status_ = factored_ = std::move(outcome);
    return *this;
  }

  Solver<Scalar> solver_;
  CscMatrix<double> a_;  // as last analyzed or factored
  bool has_pattern_ = false;
  bool analyzed_ = false;
  Status factored_ = Status::error(StatusCode::invalid_argument, "EigenSolver: call compute() first");
  mutable Status status_ = factored_;
};

}  // namespace lulab
