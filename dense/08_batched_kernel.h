#pragma once
// LU with partial pivoting of many small matrices at once: one warp or one block each, all of it in registers.

#include <cstdint>

#include "core/simt/device.h"
#include "core/status.h"

namespace lulab::dense {

/// The largest n that getrf_batched() takes.
inline constexpr std::int32_t max_batched_n = 128;

/// `batch` systems of n x n in device memory: entry (i,j) of system s at a[i + j * ld + s * stride]. Passed by value.
template <class T>
struct DenseBatchView {
  std::int32_t n = 0;
  std::int64_t ld = 1;
  std::int64_t stride = 0;
  std::int32_t batch = 0;
  T* a = nullptr;                // A on entry; L (unit diagonal not stored) and U on exit
  std::int32_t* ipiv = nullptr;  // (n, batch) 0-based: in step k rows k and ipiv[k + s * n] >= k were swapped
  std::int32_t* info = nullptr;  // (batch) 0, or 1 + the column of the first zero pivot
  const std::uint8_t* mask =
      nullptr;  // (batch) 0: leave this system's a, ipiv and info as they are; nullptr: factor all
};

/// Enqueues A := L and U of P·A = L·U for every system, with the pivots of getrf_reference(): the largest of the
/// column, the first of equals, the first NaN if there is one. A zero pivot is noted in info and the factorization goes
/// on. Memory between columns and between systems is not touched. Results do not depend on the rest of the batch.
/// Where U(k,j) is not finite, entries above it in column j may become NaN.
///
/// Requires  systems do not overlap.
/// Errors    invalid_argument (n outside 0..max_batched_n, ld < n, stride shorter than a system, batch < 0),
///           device_error.
/// Cost      reads and writes each matrix once; 2/3 n^3 flops a system.
/// Source    LAPACK getf2; rows in registers that do not move: Anzt, Dongarra, Flegar & Quintana-Ortí, "Variable-size
///           batched LU for small matrices and its integration into block-Jacobi preconditioning", ICPP 2017.
template <class T>
Status getrf_batched(const DenseBatchView<T>& batch, simt::Stream& stream);

}  // namespace lulab::dense
