// Eigen::PartialPivLU in place, on one core: right-looking by blocks of columns, the panels by recursion.

#include <Eigen/LU>

#include "dense/host_dense_factorizer.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr double max_dense_bytes = 8192.0 * 8192.0 * sizeof(double);

template <class T>
class EigenPartialPivLu final : public HostDenseFactorizer<T> {
 public:
  explicit EigenPartialPivLu(const FactorOptions& options) : HostDenseFactorizer<T>(options, max_dense_bytes) {}

 private:
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

  std::int32_t getrf(DenseView<T> a, Permutation& p) override {
    Eigen::Map<Matrix> map(a.data, a.n_rows, a.n_cols);  // ld = n
    const Eigen::PartialPivLU<Eigen::Ref<Matrix>> lu(map);
    const auto& new_of_old = lu.permutationP().indices();
    p.resize(a.n_rows);
    for (std::int32_t i = 0; i < a.n_rows; ++i) p[new_of_old(i)] = i;
    for (std::int32_t k = 0; k < a.n_cols; ++k)
      if (a(k, k) == T(0)) return k + 1;  // Eigen goes on behind a zero pivot and does not say
    return 0;
  }
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions& options) {
  return std::make_unique<EigenPartialPivLu<T>>(options);
}

}  // namespace

const Rung eigen = {.facts = {.id = "dense/91_eigen",
                              .stage = "dense",
                              .paper = "Eigen::PartialPivLU (LAPACK getrf, right-looking)",
                              .idea = "blocked LU on one core with the processor's vector instructions",
                              .pivoting = Pivoting::partial,
                              .refactors = false,
                              .exact_pattern = false,
                              .max_dense_bytes = max_dense_bytes},
                    .make_float = make<float>,
                    .make_double = make<double>};

}  // namespace lulab::dense
