#pragma once
// What every dense CPU rung shares: P·R·A·C·Q as a full matrix, and L and U of it as Factors.

#include <limits>
#include <vector>

#include "core/host_backend.h"
#include "core/matrix/dense.h"
#include "dense/full_factors.h"

namespace lulab::dense {

/// A Factorizer whose rung writes only getrf().
template <class T>
class HostDenseBackend : public HostBackend<T> {
 public:
  /// max_bytes: of the largest full matrix that the rung takes.
  HostDenseBackend(const FactorOptions& options, double max_bytes) : HostBackend<T>(options), max_bytes_(max_bytes) {}

 private:
  /// A := L and U of P·A = L·U, p := P.   Returns 0, or 1 + the column of the first zero pivot.
  virtual std::int32_t getrf(DenseView<T> a, Permutation& p) = 0;

  Status prepare_rung() override {
    return check_dense_size<T>(this->n(), std::numeric_limits<std::int32_t>::max(), max_bytes_);
  }

  Status eliminate() override {
    const CscView<T> b = this->pracq();
    lu_ = DenseMatrix<T>(b.n_rows, b.n_cols);
    for (std::int32_t j = 0; j < b.n_cols; ++j)
      for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) lu_(b.row_idx[k], j) = b.values[k];
    if (const std::int32_t info = getrf(lu_.view(), p_); info > 0)
      return this->column_error(StatusCode::numerically_singular, info - 1, "no nonzero pivot is left");
    return {};
  }

  Factors<T> result() override {
    Factors<T> f;
    f.plan = this->plan();
    f.plan.p = compose(this->plan().p, p_);
    f.filled = full_pattern(this->n());
    f.values = lu_.values;
    f.statistics.flops = getrf_flops(this->n());
    f.statistics.peak_bytes =
        static_cast<std::int64_t>(lu_.values.size() * sizeof(T) + p_.size() * sizeof(std::int32_t));
    return f;
  }

  double max_bytes_;
  DenseMatrix<T> lu_;
  Permutation p_;
};

}  // namespace lulab::dense
