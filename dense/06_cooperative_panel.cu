// Blocked LU whose panel is one kernel: a cluster of thread blocks factors 32 columns with one exchange a column.
//
//   for each block of columns [k, e)
//     for each panel [j, j + 32) of it
//       factor the panel, swap its rows in the rest of the block, solve for U right of it     one kernel
//       A(j+32:n, j+32:e) -= L(j+32:n, j:j+32) · U(j:j+32, j+32:e)                           matrix product
//     swap the block's rows left and right of it
//     U(k:e, e:n) = L(k:e, k:e)^-1 · A(k:e, e:n)
//     A(e:n, e:n) -= L(e:n, k:e) · U(k:e, e:n)

#include <optional>

#include "core/simt/blas.h"
#include "dense/cluster_panel.h"
#include "dense/dense_factorizer.h"
#include "dense/row_swaps.h"
#include "dense/rungs.h"
#include "dense/swap_and_solve.h"

namespace lulab::dense {
namespace {

template <class T>
class CooperativePanel final : public DenseFactorizer<T> {
 public:
  CooperativePanel() : DenseFactorizer<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return blas_ ? blas_->bytes() : 0; }
  std::int32_t max_n() const override { return max_cluster_panel_rows<T>(); }

 protected:
  Status prepare(std::int32_t n, simt::Stream& stream) override {
    auto limits = cluster_panel_limits<T>(n);
    if (!limits.ok()) return limits.status();
    limits_ = *limits;
    blas_.reset();
    auto blas = simt::Blas::create(stream);
    if (!blas.ok()) return blas.status();
    blas_.emplace(std::move(*blas));
    stream_ = &stream;
    block_ = n <= 4096 ? 128 : n <= 8192 ? 256 : 512;
    return {};
  }

  Status enqueue(const DeviceDense<T>& a) override {
    for (std::int32_t k = 0; k < a.n; k += block_) {
      const std::int32_t e = std::min(k + block_, a.n);
      LULAB_RETURN_IF_ERROR(factor_block_by_panels(a, k, e, limits_, *blas_, *stream_));
      LULAB_RETURN_IF_ERROR(swap_rows(a, k, e, 0, k, *stream_));
      LULAB_RETURN_IF_ERROR(swap_rows_and_solve(a, k, e, e, a.n, *blas_, *stream_));
      LULAB_RETURN_IF_ERROR(
          blas_->subtract_product(a.n - e, a.n - e, e - k, at(a, e, k), a.ld, at(a, k, e), a.ld, at(a, e, e), a.ld));
    }
    return {};
  }

 private:
  static T* at(const DeviceDense<T>& a, std::int64_t i, std::int64_t j) { return a.a + i + j * a.ld; }

  ClusterPanelLimits limits_;
  std::int32_t block_ = 128;
  simt::Stream* stream_ = nullptr;
  std::optional<simt::Blas> blas_;
};

}  // namespace

const Rung cooperative_panel = {
    .facts = {.id = "dense/06_cooperative_panel",
              .stage = "dense",
              .paper = "parallel reduction for the pivot as in 03; exchange through distributed shared memory",
              .idea = "Keep the panel in the registers of one thread-block cluster: one kernel a panel, one message a "
                      "column.",
              .pivoting = Pivoting::partial,
              .device = Device::gpu,
              .refactors = false,
              .exact_pattern = false,
              .max_dense_bytes = max_device_dense_bytes()},
    .make_float = [](const FactorOptions&) -> std::unique_ptr<Factorizer<float>> {
      return std::make_unique<CooperativePanel<float>>();
    },
    .make_double = [](const FactorOptions&) -> std::unique_ptr<Factorizer<double>> {
      return std::make_unique<CooperativePanel<double>>();
    },
};

}  // namespace lulab::dense
