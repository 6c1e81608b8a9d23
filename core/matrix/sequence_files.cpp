#include "core/matrix/sequence_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/matrix/matrix_market.h"

namespace lulab {
namespace {

namespace fs = std::filesystem;

/// Compares runs of digits by value and other characters one by one: A_2 < A_10.
bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto take_number = [&](std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), digit);
    std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(number.size());
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
  };
  std::string_view x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (digit(x[0]) && digit(y[0])) {
      const std::string_view p = take_number(x), q = take_number(y);
      if (p.size() != q.size()) return p.size() < q.size();
      if (p != q) return p < q;
    } else {
      if (x[0] != y[0]) return x[0] < y[0];
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;
}

std::string_view without_ending(std::string_view name) {
  for (const std::string_view ending : {".gz", ".mtx"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return name;
}

/// The file next to the matrix that holds its right-hand side: NAME_b, or b_k for A_k.
std::optional<std::string> right_side_file(const fs::path& matrix) {
  const std::string file = matrix.filename().string();
  const std::string name(without_ending(file));
  std::vector<std::string> names = {name + "_b"};
  if (name.starts_with("A_")) names.push_back("b" + name.substr(1));
  for (const std::string& candidate : names)
    for (const char* ending : {".mtx", ".mtx.gz"}) {
      const fs::path path = matrix.parent_path() / (candidate + ending);
      if (std::error_code ignored; fs::is_regular_file(path, ignored)) return path.string();
    }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> matrices_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".mtx") || name.ends_with(".mtx.gz")) files.push_back(entry->path().string());
  }
  if (error)
    return Status::error(StatusCode::invalid_argument, "cannot read this folder: " + error.message(), in_file(folder));
  std::vector<std::string> right_sides;
  for (const std::string& file : files)
    if (auto b = right_side_file(file)) right_sides.push_back(std::move(*b));
  std::erase_if(files, [&](const std::string& file) {
    return std::find(right_sides.begin(), right_sides.end(), file) != right_sides.end();
  });
  if (files.empty())
    return Status::error(StatusCode::invalid_argument, "no matrix in this folder: no file name ends in .mtx or .mtx.gz",
                         in_file(folder));
  std::sort(files.begin(), files.end(), natural_less);
  return files;
}

Result<LoadedRightSide> right_side_of(const CscView<double>& a, const std::string& matrix_path) {
  const auto n = static_cast<std::size_t>(a.n_rows);
  const auto path = right_side_file(matrix_path);
  if (!path) {
    LoadedRightSide side = {.b = std::vector<double>(n), .file = {}};
    multiply<double>(a, std::vector<double>(static_cast<std::size_t>(a.n_cols), 1.0), side.b);
    return side;
  }
  LULAB_ASSIGN_OR_RETURN(auto b, read_vector(*path));
  if (b.size() != n)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} values, but {} has {} rows", b.size(), matrix_path, n), in_file(*path));
  return LoadedRightSide{.b = std::move(b), .file = *path};
}

Status check_same_pattern(const CscPattern& a, const std::string& a_path, const CscMatrix<double>& b,
                          const std::string& path) {
  const auto differs = [&](const std::string& how) {
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("pattern differs from that of {}: {}; store zeros explicitly so that all patterns are equal",
                    a_path, how),
        in_file(path));
  };
  if (a.n_rows != b.n_rows || a.n_cols != b.n_cols)
    return differs(fmt::format("n = {} instead of {}", b.n_cols, a.n_cols));
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    auto s = a.col_ptr[j], t = b.col_ptr[j];
    while (s < a.col_ptr[j + 1] || t < b.col_ptr[j + 1]) {
      const std::int32_t none = std::numeric_limits<std::int32_t>::max();
      const std::int32_t row_a = s < a.col_ptr[j + 1] ? a.row_idx[s] : none;
      const std::int32_t row_b = t < b.col_ptr[j + 1] ? b.row_idx[t] : none;
      if (row_a < row_b)
        return differs(fmt::format("entry ({}, {}) is missing (rows and columns from 1)", row_a + 1, j + 1));
      if (row_b < row_a)
        return differs(fmt::format("entry ({}, {}) is extra (rows and columns from 1)", row_b + 1, j + 1));
      ++s;
      ++t;
    }
  }
  return {};
}

}  // namespace lulab
