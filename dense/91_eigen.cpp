// Eigen::PartialPivLU in place, on one core: right-looking by blocks of columns, the panels by recursion.

#include <Eigen/LU>

#include "dense/host_dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr double max_dense_bytes = 8192.0 * 8192.0 * sizeof(double);

template <class T>
class EigenPartialPivLu final : public HostDenseBackend<T> {
 public:
  explicit EigenPartialPivLu(const FactorOptions& options) : HostDenseBackend<T>(options, max_dense_bytes) {}

 private:
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

  std::int32_t getrf(DenseView<T> a, Permutation& p) override {
    Eigen::Map<Matrix> map(a.data, a.n_rows, a.n_cols);  // ld = n
    const Eigen::PartialPivLU<Eigen::Ref<Matrix>> lu(map);
    const auto& new_of_old = lu.permutationP().indices();
    p.resize(a.n_rows);
    for (std::int32_t i = 0; i < a.n_rows; ++i) p[new_of_old(i)] = i;
    for (std::int32_t k = 0; k < a.n_cols; ++k)
      if (a(k, k) == T(0)) return k + 1;  // Eigen goes on after a zero pivot and does not report it
    return 0;
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
