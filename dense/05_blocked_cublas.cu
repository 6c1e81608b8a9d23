// Blocked LU as in 04, with the triangular solve and the product by cuBLAS (plain loops in the simulator).

#include <algorithm>
#include <optional>

#include "core/simt/blas.h"
#include "dense/dense_factorizer.h"
#include "dense/reduction_panel.h"
#include "dense/row_swaps.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr std::int32_t wide = 128, narrow = 32;

template <class T>
class BlockedCublas final : public DenseFactorizer<T> {
 public:
  BlockedCublas() : DenseFactorizer<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return work_.bytes() + (blas_ ? blas_->bytes() : 0); }

 protected:
  Status prepare(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    auto work = ReductionWork<T>::create(stream);
    if (!work.ok()) return work.status();
    work_ = std::move(*work);
    auto blas = simt::Blas::create(stream);
    if (!blas.ok()) return blas.status();
    blas_.emplace(std::move(*blas));
    return {};
  }

  Status enqueue(const DeviceDense<T>& a) override {
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

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<BlockedCublas<T>>();
}

}  // namespace

const Rung blocked_cublas = {.facts = {.id = "dense/05_blocked_cublas",
                                       .stage = "dense",
                                       .paper = "LAPACK getrf, right-looking",
                                       .idea = "04 with cuBLAS for the triangular solve and the matrix product",
                                       .pivoting = Pivoting::partial,
                                       .device = Device::gpu,
                                       .refactors = false,
                                       .exact_pattern = false,
                                       .max_dense_bytes = max_device_dense_bytes()},
                             .make_float = make<float>,
                             .make_double = make<double>};

}  // namespace lulab::dense
