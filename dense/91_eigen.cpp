// Eigen::PartialPivLU in place, on one core: right-looking by blocks of columns, the panels by recursion.

#include "dense/91_eigen.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/LU>

#include "dense/00_reference.h"
#include "dense/host_dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {

namespace {

template <class T>
auto map_of(DenseView<T> a) {
  using Matrix = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic>;
  using Of = std::conditional_t<std::is_const_v<T>, const Matrix, Matrix>;
  return Eigen::Map<Of, 0, Eigen::OuterStride<>>(a.data, a.n_rows, a.n_cols, Eigen::OuterStride<>(a.ld));
}

template <class T>
void swap_rows_of_columns(DenseView<T> b, std::span<const std::int32_t> ipiv, bool backwards = false) {
  const auto steps = static_cast<std::int32_t>(ipiv.size());
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    for (std::int32_t s = 0; s < steps; ++s) {
      const std::int32_t k = backwards ? steps - 1 - s : s;
      std::swap(b(k, j), b(ipiv[k], j));
    }
}

}  // namespace

template <class T>
std::int32_t getrf_eigen(DenseView<T> a, std::span<std::int32_t> ipiv) {
  const std::int32_t size = std::min(a.n_rows, a.n_cols);
  const DenseView<T> left{a.data, a.n_rows, size, a.ld};
  auto map = map_of(left);
  Eigen::Transpositions<Eigen::Dynamic> swaps(size);
  int swapped = 0;
  Eigen::internal::partial_lu_inplace(map, swaps, swapped);  // PartialPivLU itself takes no rectangles
  std::copy_n(swaps.indices().data(), size, ipiv.begin());
  if (size < a.n_cols) {  // of a wide matrix Eigen leaves the rest as it is
    const DenseView<T> right{a.data + size * a.ld, size, a.n_cols - size, a.ld};
    swap_rows_of_columns(right, std::span<const std::int32_t>(ipiv));
    auto u = map_of(right);
    map.template triangularView<Eigen::UnitLower>().solveInPlace(u);
  }
  for (std::int32_t k = 0; k < size; ++k)
    if (a(k, k) == T(0)) return k + 1;  // Eigen goes on after a zero pivot and does not report it
  return 0;
}

template <class T>
void getrs_eigen(DenseView<const T> lu, std::span<const std::int32_t> ipiv, bool transposed, DenseView<T> b) {
  const auto factors = map_of(lu);
  auto x = map_of(b);
  if (transposed) {
    factors.transpose().template triangularView<Eigen::Lower>().solveInPlace(x);
    factors.transpose().template triangularView<Eigen::UnitUpper>().solveInPlace(x);
    swap_rows_of_columns(b, ipiv, true);
  } else {
    swap_rows_of_columns(b, ipiv);
    factors.template triangularView<Eigen::UnitLower>().solveInPlace(x);
    factors.template triangularView<Eigen::Upper>().solveInPlace(x);
  }
}

#define LULAB_INSTANTIATE(T)                                                \
  template std::int32_t getrf_eigen(DenseView<T>, std::span<std::int32_t>); \
  template void getrs_eigen(DenseView<const T>, std::span<const std::int32_t>, bool, DenseView<T>);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

namespace {

constexpr double max_dense_bytes = 8192.0 * 8192.0 * sizeof(double);

template <class T>
class EigenPartialPivLu final : public HostDenseBackend<T> {
 public:
  explicit EigenPartialPivLu(const FactorOptions& options) : HostDenseBackend<T>(options, max_dense_bytes) {}

 private:
  std::int32_t getrf(DenseView<T> a, Permutation& p) override {
    std::vector<std::int32_t> ipiv(a.n_cols);
    const std::int32_t info = getrf_eigen(a, std::span(ipiv));
    p = row_permutation_from_ipiv(ipiv, a.n_rows);
    return info;
  }
};

}  // namespace

const Rung eigen = rung_of<EigenPartialPivLu>({.id = "dense/91_eigen",
                                               .stage = "dense",
                                               .paper = "Eigen::PartialPivLU (LAPACK getrf, right-looking)",
                                               .idea = "blocked LU on one core with vector instructions",
                                               .pivoting = Pivoting::partial,
                                               .refactors = false,
                                               .exact_pattern = false,
                                               .max_dense_bytes = max_dense_bytes});

}  // namespace lulab::dense
