// Eigen::SparseLU with its own order, COLAMD.

#include <algorithm>
#include <optional>
#include <string>

#include <Eigen/SparseCore>
#include <Eigen/SparseLU>

#include "bench/peers/peer.h"

namespace lulab::bench {
namespace {

class EigenLu final : public Peer {
 public:
  explicit EigenLu(CscPatternView a) : a_(a.n_rows, a.n_cols) {
    a_.resizeNonZeros(std::ssize(a.row_idx));
    std::ranges::copy(a.col_ptr, a_.outerIndexPtr());
    std::ranges::copy(a.row_idx, a_.innerIndexPtr());
  }

  Status analyze(std::span<const double> values) override {
    std::ranges::copy(values, a_.valuePtr());
    lu_.emplace();
    lu_->analyzePattern(a_);
    return {};
  }
  Status factor(std::span<const double> values) override {
    std::ranges::copy(values, a_.valuePtr());
    lu_->factorize(a_);
    const std::string message = lu_->lastErrorMessage();  // info() is not set by every failure
    if (message.empty()) return {};
    LULAB_RETURN_IF_ERROR(analyze(values));  // it keeps the message for ever
    return Status::error(StatusCode::numerically_singular, "Eigen::SparseLU: " + message);
  }
  /// It chooses pivots anew.
  Status refactor(std::span<const double> values) override { return factor(values); }
  Status solve(std::span<const double> b, std::span<double> x) override {
    Eigen::Map<Eigen::VectorXd>(x.data(), std::ssize(x)) =
        lu_->solve(Eigen::Map<const Eigen::VectorXd>(b.data(), std::ssize(b)));
    return {};
  }

 private:
  using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
  Matrix a_;
  std::optional<Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<int>>> lu_;
};

}  // namespace

std::vector<PeerLibrary> eigen_library() {
  return {{"peers/eigen", "SparseLU, COLAMD",
           [](const Problem& problem) { return std::make_unique<EigenLu>(problem.a.pattern().view()); }, true}};
}

}  // namespace lulab::bench
