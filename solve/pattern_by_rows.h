#pragma once
// The pattern of As by rows, made on the device.

#include <cstdint>

#include "core/simt/kernel.h"
#include "core/simt/primitives.h"
#include "symbolic/tree_on_device.h"

namespace lulab {

/// As or its transpose by rows. The entries before the diagonal are the lower triangle's.
struct PatternByRows {
  const std::int64_t* ptr;    // (n + 1)
  const std::int64_t* diag;   // (n)
  const std::int32_t* col;    // (nnz)
  const std::uint32_t* from;  // (nnz) position in As; null: the same

  __device__ std::int64_t begin(std::int32_t i, bool lower) const { return lower ? ptr[i] : diag[i] + 1; }
  __device__ std::int64_t end(std::int32_t i, bool lower) const { return lower ? diag[i] : ptr[i + 1]; }
  __device__ std::uint32_t position(std::int64_t k) const { return from ? from[k] : static_cast<std::uint32_t>(k); }
};

/// The memory of one.
struct PatternByRowsOnDevice {
  simt::DeviceBuffer<std::int64_t> d_ptr, d_diag;
  simt::DeviceBuffer<std::int32_t> d_col;
  simt::DeviceBuffer<std::uint32_t> d_from;

  /// Of as. Waits for the stream.
  /// Requires  n >= 1, every diagonal entry, less than 2^32 entries.
  /// Errors    out_of_memory, device_error.
  /// Cost      a sort of (nnz) keys.
  static Result<PatternByRowsOnDevice> create(const DevicePattern& as, simt::Scratch& scratch, simt::Stream& stream);
  PatternByRows view() const { return {d_ptr.data(), d_diag.data(), d_col.data(), d_from.data()}; }
};

}  // namespace lulab
