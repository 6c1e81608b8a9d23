// KLU (SuiteSparse) on P·R·A·C·Q as it stands: the plan's permutations and scalings are ours, so KLU's ordering, row
// scaling and block triangular form are off. What is timed is KLU's own klu_factor and klu_refactor.

#include <fmt/format.h>

#include "core/factors.h"
#include "core/host_backend.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/klu_objects.h"

namespace lulab::sparse_leftlooking {

namespace {

class KluBackend final : public HostBackend<double> {
 public:
  using HostBackend<double>::HostBackend;

 private:
  Status prepare_rung() override {
    const CscPatternView b = pracq();
    if (b.nnz() > std::numeric_limits<int>::max()) return error(KLU_TOO_LARGE, StatusCode::numerically_singular);
    Bp_.assign(b.col_ptr.begin(), b.col_ptr.end());
    Bi_.assign(b.row_idx.begin(), b.row_idx.end());
    if (Bi_.empty()) Bi_.push_back(0);  // KLU refuses null pointers even for a matrix without entries
    klu_ = std::make_unique<KluObjects>();
    klu_->common.tol = options().pivot_tol;
    klu_->common.btf = 0;
    klu_->common.scale = -1;  // no scaling, no second check of the pattern
    klu_->symbolic = klu_analyze_given(n(), Bp_.data(), Bi_.data(), nullptr, nullptr, &klu_->common);
    return error(klu_->common.status, StatusCode::numerically_singular);
  }

  Status eliminate() override {
    klu_free_numeric(&klu_->numeric, &klu_->common);
    klu_->numeric = klu_factor(Bp_.data(), Bi_.data(), values(), klu_->symbolic, &klu_->common);
    return error(klu_->common.status, StatusCode::numerically_singular);
  }

  Status eliminate_again() override {
    klu_refactor(Bp_.data(), Bi_.data(), values(), klu_->symbolic, klu_->numeric, &klu_->common);
    return error(klu_->common.status, StatusCode::needs_repivot);
  }

  Factors<double> result() override {
    const klu_numeric& k = *klu_->numeric;
    CscMatrix<double> l = room(k.lnz);
    CscMatrix<double> u = room(k.unz);
    std::vector<int> Lp(n() + 1), Up(n() + 1);
    klu_extract(klu_->numeric, klu_->symbolic, Lp.data(), l.row_idx.data(), l.values.data(), Up.data(),
                u.row_idx.data(), u.values.data(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                &klu_->common);
    l.col_ptr.assign(Lp.begin(), Lp.end());
    u.col_ptr.assign(Up.begin(), Up.end());
    Plan plan = this->plan();
    plan.p = compose(plan.p, std::span<const std::int32_t>(k.Pnum, n()));  // Pnum[k]: row of B that is the k-th pivot
    Factors<double> f = join_factors(std::move(plan), l.view(), u.view());
    klu_flops(klu_->symbolic, klu_->numeric, &klu_->common);
    f.statistics.flops = klu_->common.flops;
    f.statistics.peak_bytes = static_cast<std::int64_t>(klu_->common.mempeak);
    return f;
  }

  /// KLU reads the values only, but asks for a pointer to change them.
  double* values() { return pracq().values.empty() ? &nothing_ : const_cast<double*>(pracq().values.data()); }

  CscMatrix<double> room(int nnz) const {
    CscMatrix<double> m;
    m.n_rows = m.n_cols = n();
    m.row_idx.resize(nnz);
    m.values.resize(nnz);
    return m;
  }

  Status error(int klu_status, StatusCode when_singular) const {
    switch (klu_status) {
      case KLU_OK: return {};
      case KLU_SINGULAR: return column_error(when_singular, klu_->common.singular_col, "KLU found no nonzero pivot");
      case KLU_OUT_OF_MEMORY:
        return Status::error(StatusCode::out_of_memory,
                             fmt::format("KLU found no memory left after {:.0f} MB; try another ordering",
                                         static_cast<double>(klu_->common.mempeak) / 1e6));
      case KLU_TOO_LARGE:
        return Status::error(StatusCode::out_of_memory,
                             "the factors outgrow KLU's 32-bit indices (16 GB); try another ordering");
      default:
        return Status::error(StatusCode::invalid_argument, fmt::format("KLU answers with status {}", klu_status));
    }
  }

  std::vector<int> Bp_, Bi_;
  double nothing_ = 0;
  std::unique_ptr<KluObjects> klu_;
};

}  // namespace

const Rung klu = rung_in_double<KluBackend>(
    {.id = "sparse_leftlooking/90_klu",
     .stage = "sparse_leftlooking",
     .paper = "Davis & Palamadai Natarajan 2010 (SuiteSparse KLU)",
     .idea = "Gilbert-Peierls with symmetric pruning, L and U of a column packed together; used by circuit "
             "simulators",
     .pivoting = Pivoting::threshold});

}  // namespace lulab::sparse_leftlooking
