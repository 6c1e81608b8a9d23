// Blocked LU whose panel is one kernel: a cluster of thread blocks factors 32 columns, with one exchange between its
// blocks for each column (06_cluster_panel.cu).
//
//   for each block of columns [k, e)
//     for each panel [j, j + 32) of it
//       factor the panel, swap its rows in the rest of the block, solve for U right of it     one kernel
//       A(j+32:n, j+32:e) -= L(j+32:n, j:j+32) · U(j:j+32, j+32:e)                           matrix product
//     swap the block's rows left and right of it                                              04_row_swaps.cu
//     U(k:e, e:n) = L(k:e, k:e)^-1 · A(k:e, e:n)                                              06_swap_and_solve.cu
//     A(e:n, e:n) -= L(e:n, k:e) · U(k:e, e:n)

#include <optional>

#include "core/simt/blas.h"
#include "dense/04_row_swaps.h"
#include "dense/06_cluster_panel.h"
#include "dense/06_swap_and_solve.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

template <class T>
class CooperativePanel final : public DenseBackend<T> {
 public:
  CooperativePanel() : DenseBackend<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return blas_ ? blas_->bytes() : 0; }
  std::int32_t max_n() const override { return max_cluster_panel_rows<T>(); }

 protected:
  Status prepare_rung(std::int32_t n, simt::Stream& stream) override {
    LULAB_ASSIGN_OR_RETURN(limits_, cluster_panel_limits<T>(n));
    blas_.reset();
    LULAB_ASSIGN_OR_RETURN(blas_, simt::Blas::create(stream));
    stream_ = &stream;
    block_ = n <= 4096 ? 128 : n <= 8192 ? 256 : 512;
    return {};
  }

  Status launch(const DeviceDense<T>& a) override {
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

const Rung cooperative_panel = rung_of<CooperativePanel>(
    {.id = "dense/06_cooperative_panel",
     .stage = "dense",
     .paper = "parallel reduction for the pivot as in 03; exchange through distributed shared memory",
     .idea = "the panel stays in the registers of a thread-block cluster: one kernel per panel, one message per "
             "column",
     .pivoting = Pivoting::partial,
     .device = Device::gpu,
     .refactors = false,
     .exact_pattern = false,
     .max_dense_bytes = max_device_dense_bytes()});

}  // namespace lulab::dense
