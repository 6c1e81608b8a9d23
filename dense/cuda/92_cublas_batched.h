#pragma once
// cuBLAS's getrfBatched behind the arguments of getrf_batched(), to measure that against.

#include <cstdint>
#include <memory>

#include "core/simt/device.h"
#include "core/status.h"
#include "dense/08_batched_kernel.h"

namespace lulab::dense {

/// A handle of cuBLAS, and the array with the addresses of the systems of one batch.
template <class T>
class CublasBatched {
 public:
  /// For batches of up to max_batch systems, on this stream, which must outlive it.
  /// Errors    out_of_memory, device_error.
  static Result<CublasBatched> create(std::int32_t max_batch, simt::Stream& stream);
  CublasBatched(CublasBatched&&) noexcept;
  CublasBatched& operator=(CublasBatched&&) noexcept;
  ~CublasBatched();

  /// Enqueues the computation of the addresses; the batch's memory must outlive the calls of getrf().
  /// Errors    not_implemented (the batch has a mask), invalid_argument (n < 0, batch outside 0..max_batch,
  ///           ld < n or beyond int), device_error.
  Status bind(const DenseBatchView<T>& batch);

  /// Enqueues A := L and U of P·A = L·U for every system of the batch, of any n; a kernel of ours makes ipiv 0-based.
  /// cuBLAS decides between equal candidates and about NaN. Where info is not 0, do not use L and U: after a zero pivot
  /// cuBLAS does not go on as LAPACK does.
  /// Errors    device_error.
  Status getrf();

  /// Device memory held besides the batch, without what cuBLAS holds.   Unit bytes.
  std::int64_t work_bytes() const;

 private:
  struct Impl;
  explicit CublasBatched(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab::dense
