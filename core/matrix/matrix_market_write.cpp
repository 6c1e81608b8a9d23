#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/matrix/matrix_market.h"
#include "core/matrix/number_text.h"
#include "core/output_file.h"

namespace lulab {

namespace {

bool is_gzip(const std::string& path) { return path.ends_with(".gz"); }

template <class Number>
void add_number(OutputFile& file, Number value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  file.add({digits, static_cast<std::size_t>(end - digits)});
}

void add_head(OutputFile& file, std::string_view banner, std::string_view comment) {
  file.add(banner);
  while (!comment.empty()) {
    const std::string_view line = comment.substr(0, comment.find('\n'));
    file.add("% ");
    file.add(line);
    file.add("\n");
    comment.remove_prefix(std::min(line.size() + 1, comment.size()));
  }
}

Status not_finite(const std::string& path, std::int32_t row, std::int32_t col, double value) {
  return Status::error(
      StatusCode::invalid_argument,
      fmt::format("entry ({}, {}) is {}; Matrix Market holds finite values only", row + 1, col + 1, spelled(value)),
      {path, 0, {row}, {col}});
}

template <class Value>
Status write_column(const std::string& path, std::string_view field, std::span<const Value> x, Value offset,
                    std::string_view comment) {
  OutputFile file(path, is_gzip(path));
  add_head(file, fmt::format("%%MatrixMarket matrix array {} general\n", field), comment);
  file.add(fmt::format("{} 1\n", x.size()));
  for (Value v : x) {
    add_number(file, static_cast<Value>(v + offset));
    file.add("\n");
  }
  return file.close();
}

}  // namespace

template <class T>
Status write_matrix_market(const std::string& path, const CscView<T>& a, std::string_view comment) {
  LULAB_RETURN_IF_ERROR(check_sorted(a));
  if (a.values.size() != a.row_idx.size())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} values for {} entries", a.values.size(), a.row_idx.size()), {path, 0, {}, {}});
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (!std::isfinite(a.values[k])) return not_finite(path, a.row_idx[k], j, a.values[k]);

  OutputFile file(path, is_gzip(path));
  add_head(file, "%%MatrixMarket matrix coordinate real general\n", comment);
  file.add(fmt::format("{} {} {}\n", a.n_rows, a.n_cols, a.nnz()));
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      add_number(file, std::int64_t(a.row_idx[k]) + 1);
      file.add(" ");
      add_number(file, std::int64_t(j) + 1);
      file.add(" ");
      add_number(file, a.values[k]);
      file.add("\n");
    }
  }
  return file.close();
}
template Status write_matrix_market(const std::string&, const CscView<float>&, std::string_view);
template Status write_matrix_market(const std::string&, const CscView<double>&, std::string_view);

template <class T>
Status write_vector(const std::string& path, std::span<const T> x, std::string_view comment) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i])) return not_finite(path, static_cast<std::int32_t>(i), 0, x[i]);
  return write_column(path, "real", x, T(0), comment);
}
template Status write_vector(const std::string&, std::span<const float>, std::string_view);
template Status write_vector(const std::string&, std::span<const double>, std::string_view);

Status write_permutation(const std::string& path, std::span<const std::int32_t> p, std::string_view comment) {
  return write_column<std::int32_t>(path, "integer", p, 1, comment);
}

}  // namespace lulab
