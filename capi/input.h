#pragma once
// The matrix of lulab.h as CSC with sorted rows.

#include <cstdint>
#include <span>
#include <vector>

#include "capi/lulab.h"
#include "core/matrix/csc.h"
#include "core/status.h"

namespace lulab::c_api {

struct ReadMatrix {
  CscMatrix<double> a;
  std::vector<std::int64_t> from;  // entry k of `a` is the given entry from[k]; empty: they are in this order
};

/// Errors    invalid_argument: sizes, pointers or indices do not fit (where.rows, where.columns where known).
/// Cost      O(n + nnz), and a sort of each column of a CSC matrix that is not sorted.
Result<ReadMatrix> read_matrix(const lulab_matrix& given, bool with_values);

/// to[k] = given[from[k]], for each of the systems.   Shapes given, to: (nnz, systems).
void reorder(std::span<const std::int64_t> from, std::span<const double> given, std::span<double> to);

}  // namespace lulab::c_api
