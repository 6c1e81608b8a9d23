#ifdef LULAB_SUPERLU
// SuperLU (Demmel et al. 1999), serial, by its expert driver dgssvx. A refactorization keeps rows and columns.

#include <slu_ddefs.h>

#include <fmt/format.h>

#include "bench/peers/peer.h"

namespace lulab::bench {
namespace {

class SuperLu final : public Peer {
 public:
  explicit SuperLu(CscPatternView a)
      : n_(a.n_cols),
        Ap_(a.col_ptr.begin(), a.col_ptr.end()),
        Ai_(a.row_idx.begin(), a.row_idx.end()),
        Ax_(a.row_idx.size()),
        perm_r_(n_),
        perm_c_(n_),
        etree_(n_),
        r_(n_),
        c_(n_),
        b_(n_) {
    set_default_options(&options_);
    options_.PrintStat = NO;
    StatInit(&stat_);
  }
  ~SuperLu() override {
    release();
    StatFree(&stat_);
  }
  SuperLu(const SuperLu&) = delete;

  Status analyze(std::span<const double>) override { return {}; }  // dgssvx() does it as it factors
  Status factor(std::span<const double> values) override {
    release();
    options_.Fact = DOFACT;
    return run(values);
  }
  Status refactor(std::span<const double> values) override {
    options_.Fact = SamePattern_SameRowPerm;
    return run(values);
  }
  Status solve(std::span<const double> b, std::span<double> x) override {
    options_.Fact = FACTORED;
    return call(b, x, 1);
  }

 private:
  /// Scaled in place by dgssvx().
  Status run(std::span<const double> values) {
    Ax_.assign(values.begin(), values.end());
    return call({}, {}, 0);
  }

  Status call(std::span<const double> b, std::span<double> x, int columns) {
    SuperMatrix a, rhs, solution;
    std::copy(b.begin(), b.end(), b_.begin());
    dCreate_CompCol_Matrix(&a, n_, n_, static_cast<int>(Ax_.size()), Ax_.data(), Ai_.data(), Ap_.data(), SLU_NC, SLU_D,
                           SLU_GE);
    dCreate_Dense_Matrix(&rhs, n_, columns, b_.data(), n_, SLU_DN, SLU_D, SLU_GE);
    dCreate_Dense_Matrix(&solution, n_, columns, x.data(), n_, SLU_DN, SLU_D, SLU_GE);
    int info = 0;
    double growth = 0, rcond = 0, forward = 0, backward = 0;
    mem_usage_t memory;
    dgssvx(&options_, &a, perm_c_.data(), perm_r_.data(), etree_.data(), equed_, r_.data(), c_.data(), &l_, &u_,
           nullptr, 0, &rhs, &solution, &growth, &rcond, &forward, &backward, &global_, &memory, &stat_, &info);
    if (options_.Fact == DOFACT) has_factors_ = info >= 0 && info <= n_;  // without memory there are none
    for (SuperMatrix* matrix : {&a, &rhs, &solution}) Destroy_SuperMatrix_Store(matrix);
    if (info == 0) return {};
    if (info > 0 && info <= n_)
      return Status::error(StatusCode::numerically_singular, fmt::format("dgssvx: U({0},{0}) is zero", info - 1));
    return Status::error(info > n_ ? StatusCode::out_of_memory : StatusCode::invalid_argument,
                         fmt::format("dgssvx answers with info = {}", info));
  }

  void release() {
    if (!has_factors_) return;
    Destroy_SuperNode_Matrix(&l_);
    Destroy_CompCol_Matrix(&u_);
    l_ = u_ = {};
    has_factors_ = false;
  }

  const int n_;
  std::vector<int> Ap_, Ai_;
  std::vector<double> Ax_;
  std::vector<int> perm_r_, perm_c_, etree_;
  std::vector<double> r_, c_, b_;
  superlu_options_t options_;
  SuperLUStat_t stat_;
  SuperMatrix l_ = {}, u_ = {};
  GlobalLU_t global_ = {};
  char equed_[2] = "N";
  bool has_factors_ = false;
};

}  // namespace

std::vector<PeerLibrary> superlu_library() {
  return {{"peers/superlu", "defaults",
           [](const Problem& problem) { return std::make_unique<SuperLu>(problem.a.pattern().view()); }, true}};
}

}  // namespace lulab::bench
#endif
