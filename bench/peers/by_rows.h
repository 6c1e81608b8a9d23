#pragma once
// Libraries that take A row by row: where its entries go.

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/matrix/csc.h"

namespace lulab::bench {

/// A as compressed rows.
struct ByRows {
  std::vector<std::int32_t> starts, columns;
  std::vector<std::int64_t> place;  // of each entry, row by row, in the columns

  explicit ByRows(CscPatternView a) {
    std::vector<std::int64_t> places(a.row_idx.size());
    std::iota(places.begin(), places.end(), std::int64_t{0});
    CscMatrix<std::int64_t> rows = transpose(CscView<std::int64_t>{a.n_rows, a.n_cols, a.col_ptr, a.row_idx, places});
    starts.assign(rows.col_ptr.begin(), rows.col_ptr.end());
    columns = std::move(rows.row_idx);
    place = std::move(rows.values);
  }

  /// values: column by column   to: of as many   Returns `to`, which holds them row by row.
  std::span<const double> put(std::span<const double> values, std::span<double> to) const {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = values[place[k]];
    return to;
  }
};

}  // namespace lulab::bench
