#pragma once
// The panel of 06 and 07: one cluster of thread blocks holds up to 32 columns in registers and factors them with
// partial pivoting, with one exchange between its blocks for each column.

#include "core/simt/blas.h"
#include "dense/device_dense.h"

namespace lulab::dense {

/// How large a panel may be; from cluster_panel_limits().
struct ClusterPanelLimits {
  int max_blocks = 0;  // of a cluster on this device
  std::int32_t max_rows = 0;
};

/// What one cluster of this device can hold.
/// Errors    not_implemented (a GPU before compute capability 9.0), invalid_argument (n rows are too many),
///           device_error.
template <class T>
Result<ClusterPanelLimits> cluster_panel_limits(std::int32_t n);

/// cluster_panel_limits().max_rows of this device; that of an H200 where there is no device to ask.
template <class T>
std::int32_t max_cluster_panel_rows();

/// Columns of a panel of so many rows: 32, or fewer when it is tall.   Requires n_rows <= limits.max_rows.
std::int32_t cluster_panel_columns(std::int32_t n_rows, const ClusterPanelLimits& limits);

/// Factors rows [first, n) of columns [first, first + width) of A, writes their ipiv and info, swaps the same rows in
/// the other columns of [block_begin, block_end), and solves L11 · U12 = A12 for those right of the panel.
///
/// Requires  width <= cluster_panel_columns(n - first); block_begin <= first, first + width <= block_end <= n.
/// Ensures   pivots and info as LAPACK's getrf; only the update A22 -= L21 · U12 remains to be done in the block.
/// Errors    invalid_argument, device_error.
/// Cost      m · width^2 multiply-adds for m rows; about 0.9 µs a column on an H200 up to m = 4096.
/// Source    parallel reduction for the pivot: "Implementation of high performance parallel LU factorization program
///           for multi-threads on GPGPUs"; the exchange through distributed shared memory is ours.
template <class T>
Status factor_cluster_panel(const DeviceDense<T>& a, std::int32_t first, std::int32_t width, std::int32_t block_begin,
                            std::int32_t block_end, const ClusterPanelLimits& limits, simt::Stream& stream);

/// Factors rows [first, n) of columns [first, end) of A, halving them down to a few panels, and swaps rows inside these
/// columns only.
///
/// Requires  blas works on `stream`.
/// Errors    as factor_cluster_panel().
template <class T>
Status factor_block_by_panels(const DeviceDense<T>& a, std::int32_t first, std::int32_t end,
                              const ClusterPanelLimits& limits, simt::Blas& blas, simt::Stream& stream);

}  // namespace lulab::dense
