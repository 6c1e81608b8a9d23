#pragma once
// The pattern of [A b; 0 1]: a factorization of it leaves U = [U y; 0 1], L y = P R b.

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// b, of order n, is full and already in the order of the rows of L + U.
struct RightSideColumn {
  FilledPattern filled;                   // of order n + 1; entries of A's L + U keep their places, y follows them
  std::vector<std::int64_t> a_to_filled;  // (nnz(A) + n + 1) of entries of A, of b, of the 1
};

/// filled, a_to_filled: as of Analysis.   Cost O(nnz).
RightSideColumn with_right_side(const FilledPattern& filled, std::span<const std::int64_t> a_to_filled);

}  // namespace lulab
