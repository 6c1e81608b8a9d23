#pragma once
// Partial pivoting by parallel reduction, two launches for each column: all of rung 03, and the panel of 04 and 05.

#include "dense/device_dense.h"

namespace lulab::dense {

template <class T>
struct PivotCandidate {
  T magnitude;
  std::int32_t row;
};

/// What the blocks of a search exchange.
template <class T>
struct ReductionWork {
  simt::DeviceBuffer<PivotCandidate<T>> candidates;  // one for each block
  simt::DeviceBuffer<std::uint32_t> n_done;          // (1) blocks that have written theirs; 0 between launches

  /// Errors    out_of_memory, device_error.
  static Result<ReductionWork> create(simt::Stream& stream);
  std::int64_t bytes() const;
};

/// Factors rows first_col.. of columns [first_col, end_col) in place: P·A = L·U with the largest magnitude as pivot,
/// ties and NaN as in getrf_reference(). The rows change places in these columns only. Sets a.ipiv[first_col..end_col)
/// and, where *a.info is 0 and a pivot is zero, *a.info.
///
/// Requires  0 <= first_col <= end_col <= a.n; columns [0, first_col) have been applied; `work` serves one stream at a
///           time.
/// Errors    device_error.
/// Source    "Implementation of high performance parallel LU factorization program for multi-threads on GPGPUs"
///           (partial pivoting by parallel reduction).
template <class T>
Status factor_panel_by_reduction(const DeviceDense<T>& a, std::int32_t first_col, std::int32_t end_col,
                                 const ReductionWork<T>& work, simt::Stream& stream);

}  // namespace lulab::dense
