#include "capi/input.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace lulab::c_api {

namespace {

Status bad_matrix(std::string message, Where where = {}) {
  return Status::error(StatusCode::invalid_argument, "matrix: " + std::move(message), std::move(where));
}

/// An array of 32- or 64-bit integers.
class Integers {
 public:
  Integers(const void* first, std::int32_t bits) : first_(first), wide_(bits == 64) {}
  std::int64_t operator[](std::int64_t k) const {
    return wide_ ? static_cast<const std::int64_t*>(first_)[k] : static_cast<const std::int32_t*>(first_)[k];
  }

 private:
  const void* first_;
  bool wide_;
};

Status check_shape(const lulab_matrix& m, bool with_values) {
  const auto is_size = [](std::int32_t bits) { return bits == 32 || bits == 64; };
  if (m.size < sizeof m)
    return bad_matrix(fmt::format("size = {}; set it to sizeof(lulab_matrix), {}", m.size, sizeof m));
  if (m.n < 0 || m.n > std::numeric_limits<std::int32_t>::max() - 1)
    return bad_matrix(fmt::format("n = {} is not in 0..2147483646", m.n));
  if (m.nnz < 0 || m.nnz > m.n * m.n) return bad_matrix(fmt::format("nnz = {} is not in 0..n * n", m.nnz));
  if (m.format != LULAB_CSC && m.format != LULAB_CSR)
    return bad_matrix(fmt::format("format = {} is neither LULAB_CSC nor LULAB_CSR", m.format));
  if (m.index_base != 0 && m.index_base != 1)
    return bad_matrix(fmt::format("index_base = {} is neither 0 nor 1", m.index_base));
  if (!is_size(m.pointer_bits) || !is_size(m.index_bits))
    return bad_matrix(
        fmt::format("pointer_bits = {} and index_bits = {}; each must be 32 or 64", m.pointer_bits, m.index_bits));
  if (m.ptr == nullptr) return bad_matrix("ptr is NULL");
  if (m.nnz > 0 && m.idx == nullptr) return bad_matrix("idx is NULL");
  if (m.nnz > 0 && with_values && m.values == nullptr) return bad_matrix("values is NULL");
  return {};
}

Status check_pointers(const lulab_matrix& m) {
  const Integers ptr(m.ptr, m.pointer_bits);
  const std::int64_t first = m.index_base, last = m.index_base + m.nnz;
  if (ptr[0] != first)
    return bad_matrix(fmt::format("ptr begins with {} instead of {}; see index_base", ptr[0], first));
  for (std::int64_t j = 0; j < m.n; ++j)
    if (ptr[j + 1] < ptr[j] || ptr[j + 1] > last || ptr[j + 1] - ptr[j] > m.n)
      return bad_matrix(fmt::format("ptr[{}] = {} follows {}; it must not fall, nor rise by more than n, nor exceed {}",
                                    j + 1, ptr[j + 1], ptr[j], last));
  if (ptr[m.n] != last)
    return bad_matrix(fmt::format("nnz = {}, but ptr ends with {} instead of {}", m.nnz, ptr[m.n], last));
  return {};
}

/// The index of entry k of the j-th column or row, from 0.
Result<std::int32_t> index_of(const lulab_matrix& m, std::int64_t j, std::int64_t k) {
  const std::int64_t given = Integers(m.idx, m.index_bits)[k];
  if (given < m.index_base || given - m.index_base >= m.n)
    return bad_matrix(fmt::format("idx[{}] = {}, in {} {}, is not in {}..{}; see index_base", k, given,
                                  m.format == LULAB_CSC ? "column" : "row", j + 1, m.index_base,
                                  m.n - 1 + m.index_base));
  return static_cast<std::int32_t>(given - m.index_base);
}

/// The rows of a column in rising order, with the entries that they come from.
void sort_column(std::span<std::int32_t> rows, std::span<std::int64_t> from) {
  std::vector<std::pair<std::int32_t, std::int64_t>> entries;
  for (std::size_t k = 0; k < rows.size(); ++k) entries.emplace_back(rows[k], from[k]);
  std::ranges::sort(entries);
  for (std::size_t k = 0; k < rows.size(); ++k) std::tie(rows[k], from[k]) = entries[k];
}

Status read_columns(const lulab_matrix& m, ReadMatrix& out) {
  const Integers ptr(m.ptr, m.pointer_bits);
  out.a.col_ptr.resize(m.n + 1);
  out.a.row_idx.resize(m.nnz);
  bool sorted = true;
  for (std::int64_t j = 0; j < m.n; ++j) {
    out.a.col_ptr[j] = ptr[j] - m.index_base;
    for (std::int64_t k = out.a.col_ptr[j]; k < ptr[j + 1] - m.index_base; ++k) {
      LULAB_ASSIGN_OR_RETURN(out.a.row_idx[k], index_of(m, j, k));
      sorted = sorted && (k == out.a.col_ptr[j] || out.a.row_idx[k - 1] < out.a.row_idx[k]);
    }
  }
  out.a.col_ptr[m.n] = m.nnz;
  if (sorted) return {};
  out.from.resize(m.nnz);
  std::iota(out.from.begin(), out.from.end(), std::int64_t{0});
  for (std::int64_t j = 0; j < m.n; ++j) {
    const std::int64_t first = out.a.col_ptr[j], count = out.a.col_ptr[j + 1] - first;
    sort_column(std::span(out.a.row_idx).subspan(first, count), std::span(out.from).subspan(first, count));
  }
  return {};
}

Status read_rows(const lulab_matrix& m, ReadMatrix& out) {
  const Integers ptr(m.ptr, m.pointer_bits);
  out.a.col_ptr.assign(m.n + 1, 0);
  std::vector<std::int32_t> column(m.nnz);
  for (std::int64_t i = 0; i < m.n; ++i)
    for (std::int64_t k = ptr[i] - m.index_base; k < ptr[i + 1] - m.index_base; ++k) {
      LULAB_ASSIGN_OR_RETURN(column[k], index_of(m, i, k));
      ++out.a.col_ptr[column[k] + 1];
    }
  std::partial_sum(out.a.col_ptr.begin(), out.a.col_ptr.end(), out.a.col_ptr.begin());
  out.a.row_idx.resize(m.nnz);
  out.from.resize(m.nnz);
  std::vector<std::int64_t> next(out.a.col_ptr.begin(), out.a.col_ptr.end() - 1);
  for (std::int64_t i = 0; i < m.n; ++i)
    for (std::int64_t k = ptr[i] - m.index_base; k < ptr[i + 1] - m.index_base; ++k) {
      const std::int64_t to = next[column[k]]++;
      out.a.row_idx[to] = static_cast<std::int32_t>(i);
      out.from[to] = k;
    }
  return {};
}

Status check_no_duplicates(const CscPattern& a, std::int64_t base) {
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j] + 1; k < a.col_ptr[j + 1]; ++k)
      if (a.row_idx[k - 1] == a.row_idx[k]) {
        Where where;
        where.rows = {a.row_idx[k]};
        where.columns = {j};
        return bad_matrix(
            fmt::format("the entry in row {}, column {} is there twice; add the two", a.row_idx[k] + base, j + base),
            std::move(where));
      }
  return {};
}

}  // namespace

Result<ReadMatrix> read_matrix(const lulab_matrix& given, bool with_values) {
  LULAB_RETURN_IF_ERROR(check_shape(given, with_values));
  LULAB_RETURN_IF_ERROR(check_pointers(given));
  ReadMatrix out;
  out.a.n_rows = out.a.n_cols = static_cast<std::int32_t>(given.n);
  LULAB_RETURN_IF_ERROR(given.format == LULAB_CSC ? read_columns(given, out) : read_rows(given, out));
  LULAB_RETURN_IF_ERROR(check_no_duplicates(out.a, given.index_base));
  if (!with_values) return out;
  const std::span<const double> values(given.values, static_cast<std::size_t>(given.nnz));
  out.a.values.assign(values.begin(), values.end());
  if (!out.from.empty()) reorder(out.from, values, out.a.values);
  return out;
}

void reorder(std::span<const std::int64_t> from, std::span<const double> given, std::span<double> to) {
  for (std::size_t first = 0; first < given.size(); first += from.size())
    for (std::size_t k = 0; k < from.size(); ++k) to[first + k] = given[first + static_cast<std::size_t>(from[k])];
}

}  // namespace lulab::c_api
