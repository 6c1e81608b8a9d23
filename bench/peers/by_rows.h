#pragma once
// A row by row, for libraries that take it so.

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/matrix/csc.h"

namespace lulab::bench {

struct ByRows {
  std::vector<std::int32_t> starts, columns;  // (n + 1), (nnz)
  std::vector<std::int64_t> place;            // (nnz) of each entry in the columns of A

  explicit ByRows(CscPatternView a) {
    std::vector<std::int64_t> places(a.row_idx.size());
    std::iota(places.begin(), places.end(), std::int64_t{0});
    CscMatrix<std::int64_t> transposed = transpose(CscView<std::int64_t>{a, places});
    starts.assign(transposed.col_ptr.begin(), transposed.col_ptr.end());
    columns = std::move(transposed.row_idx);
    place = std::move(transposed.values);
  }

  /// Shapes    by_columns, by_rows: (nnz).
  void move(std::span<const double> by_columns, std::span<double> by_rows) const {
    for (std::size_t k = 0; k < place.size(); ++k) by_rows[k] = by_columns[place[k]];
  }
};

}  // namespace lulab::bench
