#pragma once
// A full matrix in device memory, and the kernels before and after those of every dense GPU rung.

#include <cstdint>

#include "core/simt/device.h"
#include "core/status.h"

namespace lulab::dense {

/// n x n in device memory, entry (i,j) at a[i + j * ld], with the results of getrf beside it; passed by value.
template <class T>
struct DeviceDense {
  std::int32_t n = 0;
  std::int64_t ld = 1;
  T* a = nullptr;                // A on entry; L (unit diagonal not stored) and U on exit
  std::int32_t* ipiv = nullptr;  // (n) 0-based: in step k rows k and ipiv[k] >= k were swapped
  std::int32_t* info = nullptr;  // (1) 0, or 1 + the column of the first zero pivot
};

/// The largest full matrix that the GPU rungs make of a sparse one, in bytes: n = 22360 in double. In the simulator n =
/// 512, beyond which it takes minutes.
double max_device_dense_bytes();

/// A := 0, then A(position[k]) = values[k]; positions are i + j * ld and distinct.
///
/// Shapes    d_position, d_values: (nnz). A: a.n x a.n.
/// Errors    device_error.
template <class T>
Status scatter_to_dense(std::int64_t nnz, const std::int64_t* d_position, const T* d_values, const DeviceDense<T>& a,
                        simt::Stream& stream);

/// *d_first = the first column of A that holds a NaN or an infinity, or n.   Errors device_error.
template <class T>
Status find_non_finite_column(const DeviceDense<T>& a, std::int32_t* d_first, simt::Stream& stream);

}  // namespace lulab::dense
