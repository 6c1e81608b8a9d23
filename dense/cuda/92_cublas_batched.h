#pragma once
// cuBLAS's getrfBatched behind the arguments of getrf_batched(), to measure that against.

#include <cstdint>
#include <memory>

#include "core/simt/device.h"
#include "core/status.h"
#include "dense/batched.h"

namespace lulab::dense {

/// A handle of cuBLAS, and the addresses of the systems of one batch, which it wants as an array.
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
  Status bind(const DeviceBatch<T>& batch);

  /// Enqueues A := L and U of P·A = L·U for every system of the batch, of any n; a kernel of ours makes ipiv 0-based.
  /// How equal candidates and NaN are ordered is cuBLAS's affair. Where info is not 0, L and U are not to be used: after
  /// a zero pivot cuBLAS does not go on as LAPACK does.
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
