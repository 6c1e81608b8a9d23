#pragma once
// Applies the swaps of a panel to the columns outside it (LAPACK laswp), all at once instead of one after another.

#include "dense/device_dense.h"

namespace lulab::dense {

/// Swaps rows k and a.ipiv[k] in columns [first_col, end_col) of A, for k = first_swap, ..., end_swap - 1 in this
/// order.
///
/// Requires  k <= a.ipiv[k] < a.n; 0 <= first_swap <= end_swap <= a.n; 0 <= first_col <= end_col <= a.n.
/// Errors    invalid_argument (a range outside the matrix), device_error.
/// Cost      each value that moves is read and written once.
template <class T>
Status swap_rows(const DeviceDense<T>& a, std::int32_t first_swap, std::int32_t end_swap, std::int32_t first_col,
                 std::int32_t end_col, simt::Stream& stream);

}  // namespace lulab::dense
