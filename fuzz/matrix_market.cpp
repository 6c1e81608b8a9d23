// Any text for the Matrix Market reader: what it accepts is sorted and finite, and the same read as a dense matrix.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/matrix/matrix_market.h"
#include "fuzz/finding.h"

using namespace lulab;
using fuzz::require;

namespace {

void check_matrix(const CscMatrix<double>& a) {
  require(a.col_ptr.size() == std::size_t(a.n_cols) + 1 && a.col_ptr.front() == 0 && a.col_ptr.back() == a.nnz() &&
              a.values.size() == a.row_idx.size(),
          "col_ptr, row_idx and values do not fit each other");
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      require(a.row_idx[k] >= 0 && a.row_idx[k] < a.n_rows, "row {} of {}", a.row_idx[k], a.n_rows);
      require(k == a.col_ptr[j] || a.row_idx[k - 1] < a.row_idx[k], "column {} is not sorted", j);
      require(std::isfinite(a.values[k]), "the value {}", a.values[k]);
    }
}

void check_same(const CscMatrix<double>& a, const DenseMatrix<double>& dense) {
  require(dense.n_rows == a.n_rows && dense.n_cols == a.n_cols, "{} x {} sparse, {} x {} dense", a.n_rows, a.n_cols,
          dense.n_rows, dense.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    std::int64_t k = a.col_ptr[j];
    for (std::int32_t i = 0; i < a.n_rows; ++i) {
      const double stored = k < a.col_ptr[j + 1] && a.row_idx[k] == i ? a.values[k++] : 0;
      require(dense(i, j) == stored, "({}, {}) is {} sparse, {} dense", i, j, stored, dense(i, j));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto sparse = parse_matrix_market(text);
  if (!sparse.ok()) {
    require(!sparse.status().message.empty(), "an error without a message");
    return 0;
  }
  check_matrix(sparse->matrix);
  const CscMatrix<double>& a = sparse->matrix;
  if (std::int64_t(a.n_rows) * a.n_cols > 1'000'000) return 0;
  const auto dense = parse_dense_matrix_market(text);
  require(dense.ok() != sparse->pattern_only, "sparse: read, dense: {}", dense.status().message);
  if (dense.ok()) check_same(a, *dense);
  return 0;
}
