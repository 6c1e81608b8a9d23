#include "core/matrix/pencil.h"

#include <limits>

#include <fmt/format.h>

namespace lulab {

CscMatrix<double> Pencil::at(double s) const {
  CscMatrix<double> m;
  static_cast<CscPattern&>(m) = pattern;
  m.values.resize(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) m.values[k] = a[k] - s * e[k];
  return m;
}

Result<Pencil> make_pencil(const CscView<double>& a, const CscView<double>& e) {
  if (a.n_rows != e.n_rows || a.n_cols != e.n_cols)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("A is {} x {} and E is {} x {}; A - s E needs equal sizes", a.n_rows, a.n_cols,
                                     e.n_rows, e.n_cols));
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  Pencil pencil;
  pencil.pattern.n_rows = a.n_rows;
  pencil.pattern.n_cols = a.n_cols;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    std::int64_t s = a.col_ptr[j], t = e.col_ptr[j];
    while (s < a.col_ptr[j + 1] || t < e.col_ptr[j + 1]) {
      const std::int32_t row_a = s < a.col_ptr[j + 1] ? a.row_idx[s] : none;
      const std::int32_t row_e = t < e.col_ptr[j + 1] ? e.row_idx[t] : none;
      pencil.pattern.row_idx.push_back(row_a < row_e ? row_a : row_e);
      pencil.a.push_back(row_a <= row_e ? a.values[s++] : 0);
      pencil.e.push_back(row_e <= row_a ? e.values[t++] : 0);
    }
    pencil.pattern.col_ptr.push_back(pencil.pattern.nnz());
  }
  return pencil;
}

}  // namespace lulab
