// Blocked LU as in 04; cuBLAS does the triangular solve and the product (plain loops in the simulator).

#include <algorithm>
#include <optional>

#include "core/simt/blas.h"
#include "dense/03_reduction_panel.h"
#include "dense/04_row_swaps.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr std::int32_t wide = 128, narrow = 32;

template <class T>
class BlockedCublas final : public DenseBackend<T> {
 public:
  BlockedCublas() : DenseBackend<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return work_.bytes() + (blas_ ? blas_->bytes() : 0); }

 protected:
  Status prepare_rung(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    LULAB_ASSIGN_OR_RETURN(work_, ReductionWork<T>::create(stream));
    LULAB_ASSIGN_OR_RETURN(blas_, simt::Blas::create(stream));
    return {};
  }

  Status launch(const DeviceDense<T>& a) override {
    const std::int32_t width = a.n <= wide ? narrow : wide;
    const auto at = [&](std::int64_t i, std::int64_t j) { return a.a + i + j * a.ld; };
    for (std::int32_t first = 0; first < a.n; first += width) {
      const std::int32_t end = std::min(first + width, a.n);
      const std::int32_t rest = a.n - end;
      LULAB_RETURN_IF_ERROR(factor_panel_by_reduction(a, first, end, work_, *stream_));
      LULAB_RETURN_IF_ERROR(swap_rows(a, first, end, 0, first, *stream_));
      LULAB_RETURN_IF_ERROR(swap_rows(a, first, end, end, a.n, *stream_));
      if (rest == 0) break;
      LULAB_RETURN_IF_ERROR(
          blas_->solve_unit_lower(width, rest, at(first, first), a.ld, at(first, end), a.ld));  // U12 = L11^-1 · A12
      LULAB_RETURN_IF_ERROR(blas_->subtract_product(rest, rest, width, at(end, first), a.ld, at(first, end), a.ld,
                                                    at(end, end), a.ld));  // A22 -= L21 · U12
    }
    return {};
  }

 private:
  ReductionWork<T> work_;
  std::optional<simt::Blas> blas_;
  simt::Stream* stream_ = nullptr;
};

}  // namespace

const Rung blocked_cublas =
    rung_of<BlockedCublas>({.id = "dense/05_blocked_cublas",
                            .stage = "dense",
                            .paper = "LAPACK getrf, right-looking",
                            .idea = "04 with cuBLAS for the triangular solve and the matrix product",
                            .pivoting = Pivoting::partial,
                            .device = Device::gpu,
                            .refactors = false,
                            .exact_pattern = false,
                            .max_dense_bytes = max_device_dense_bytes()});

}  // namespace lulab::dense
