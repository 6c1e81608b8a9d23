#include "preprocess/checks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/factors.h"
#include "core/matrix/number_text.h"

namespace lulab::checks {

Status square(CscPatternView a, std::string_view task) {
  if (a.n_rows != a.n_cols)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} needs a square matrix; this one is {} x {}", task, a.n_rows, a.n_cols));
  return check_sorted(a);
}

Status finite(const CscView<double>& a) {
  if (static_cast<std::int64_t>(a.values.size()) != a.nnz())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} values for {} entries", a.values.size(), a.nnz()));
  if (std::isfinite(max_abs(a.values))) return {};
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (!std::isfinite(a.values[k]))
        return Status::error(StatusCode::invalid_argument,
                             fmt::format("entry ({}, {}) is {}; every value must be finite", a.row_idx[k] + 1, j + 1,
                                         spelled(a.values[k])),
                             {{}, 0, {a.row_idx[k]}, {j}});
  return {};
}

Status structurally_singular(std::int32_t n, Where deficient) {
  const auto some = [](const std::vector<std::int32_t>& indices) {
    const std::size_t shown = std::min<std::size_t>(indices.size(), 8);
    std::string text;
    for (std::size_t k = 0; k < shown; ++k) text += fmt::format("{}{}", k > 0 ? ", " : "", indices[k] + 1);
    return text + (shown < indices.size() ? ", ..." : "");
  };
  const std::size_t missing = deficient.columns.size();
  std::string message = fmt::format(
      "structural rank is {} of {}: no choice of pivots covers row{} {} and column{} {}; "
      "look for a floating node or a missing equation there",
      n - static_cast<std::int64_t>(missing), n, missing == 1 ? "" : "s", some(deficient.rows), missing == 1 ? "" : "s",
      some(deficient.columns));
  return Status::error(StatusCode::structurally_singular, std::move(message), std::move(deficient));
}

}  // namespace lulab::checks
