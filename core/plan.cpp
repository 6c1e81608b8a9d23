#include "core/plan.h"

namespace lulab {

Plan Plan::identity(std::int32_t n) {
  return {identity_permutation(n), identity_permutation(n), std::vector<double>(n, 1.0), std::vector<double>(n, 1.0),
          "natural"};
}

template <class T>
CscMatrix<T> apply(const Plan& plan, const CscView<T>& a) {
  return permute(scale(a, plan.r, plan.c).view(), plan.p, plan.q);
}
template CscMatrix<float> apply(const Plan&, const CscView<float>&);
template CscMatrix<double> apply(const Plan&, const CscView<double>&);

std::int64_t FilledPattern::nnz_u() const {
  std::int64_t count = 0;
  for (std::int32_t j = 0; j < n; ++j) count += diag[j] - col_ptr[j] + 1;
  return count;
}

template <class T>
CscMatrix<T> extract_l(const Factors<T>& f) {
  CscMatrix<T> l;
  l.n_rows = l.n_cols = f.filled.n;
  for (std::int32_t j = 0; j < f.filled.n; ++j) {
    l.row_idx.push_back(j);
    l.values.push_back(T(1));
    for (std::int64_t k = f.filled.diag[j] + 1; k < f.filled.col_ptr[j + 1]; ++k) {
      l.row_idx.push_back(f.filled.row_idx[k]);
      l.values.push_back(f.values[k]);
    }
    l.col_ptr.push_back(l.nnz());
  }
  return l;
}
template CscMatrix<float> extract_l(const Factors<float>&);
template CscMatrix<double> extract_l(const Factors<double>&);

template <class T>
CscMatrix<T> extract_u(const Factors<T>& f) {
  CscMatrix<T> u;
  u.n_rows = u.n_cols = f.filled.n;
  for (std::int32_t j = 0; j < f.filled.n; ++j) {
    for (std::int64_t k = f.filled.col_ptr[j]; k <= f.filled.diag[j]; ++k) {
      u.row_idx.push_back(f.filled.row_idx[k]);
      u.values.push_back(f.values[k]);
    }
    u.col_ptr.push_back(u.nnz());
  }
  return u;
}
template CscMatrix<float> extract_u(const Factors<float>&);
template CscMatrix<double> extract_u(const Factors<double>&);

}  // namespace lulab
