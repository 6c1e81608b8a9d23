#include "dense/00_reference.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dense/host_dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {

namespace {

/// Row of the largest |A(k:, k)|.
template <class T>
std::int32_t find_pivot(DenseView<T> a, std::int32_t k) {
  std::int32_t pivot = k;
  for (std::int32_t i = k; i < a.n_rows; ++i) {
    if (std::isnan(a(i, k))) return i;
    if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
  }
  return pivot;
}

}  // namespace

template <class T>
std::int32_t getrf_reference(DenseView<T> a, std::span<std::int32_t> ipiv) {
  const std::int32_t m = a.n_rows;
  const std::int32_t n = a.n_cols;
  std::int32_t info = 0;
  for (std::int32_t k = 0; k < std::min(m, n); ++k) {
    ipiv[k] = find_pivot(a, k);
    if (a(ipiv[k], k) == T(0)) {
      if (info == 0) info = k + 1;
      continue;  // the column is zero from here down: nothing to swap, divide or update
    }
    if (ipiv[k] != k)
      for (std::int32_t j = 0; j < n; ++j) std::swap(a(k, j), a(ipiv[k], j));
    for (std::int32_t i = k + 1; i < m; ++i) a(i, k) = a(i, k) / a(k, k);  // L(i,k)
    for (std::int32_t j = k + 1; j < n; ++j)
      for (std::int32_t i = k + 1; i < m; ++i) a(i, j) = a(i, j) - a(i, k) * a(k, j);  // A(i,j) -= L(i,k) * U(k,j)
  }
  return info;
}
template std::int32_t getrf_reference(DenseView<float>, std::span<std::int32_t>);
template std::int32_t getrf_reference(DenseView<double>, std::span<std::int32_t>);

Permutation row_permutation_from_ipiv(std::span<const std::int32_t> ipiv, std::int32_t n_rows) {
  Permutation p = identity_permutation(n_rows);
  for (std::size_t k = 0; k < ipiv.size(); ++k) std::swap(p[k], p[ipiv[k]]);
  return p;
}

namespace {

constexpr double max_dense_bytes = 2048.0 * 2048.0 * sizeof(double);

/// P·R·A·C·Q as a full matrix through getrf_reference().
template <class T>
class ReferenceBackend final : public HostDenseBackend<T> {
 public:
  explicit ReferenceBackend(const FactorOptions& options) : HostDenseBackend<T>(options, max_dense_bytes) {}

 private:
  std::int32_t getrf(DenseView<T> a, Permutation& p) override {
    std::vector<std::int32_t> ipiv(a.n_cols);
    const std::int32_t info = getrf_reference(a, std::span(ipiv));
    p = row_permutation_from_ipiv(ipiv, a.n_rows);
    return info;
  }
};

}  // namespace

const Rung reference = rung_of<ReferenceBackend>(
    {.id = "dense/00_reference",
     .stage = "dense",
     .paper = "LAPACK getf2",
     .idea = "right-looking elimination of the full matrix, one column per step, largest pivot",
     .pivoting = Pivoting::partial,
     .refactors = false,
     .exact_pattern = false,
     .max_dense_bytes = max_dense_bytes});

}  // namespace lulab::dense
