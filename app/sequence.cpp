#include "app/sequence.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace lulab::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_shifts = 1000000;

/// Errors    invalid_argument naming the first entry that only one of them has.
Status check_same_pattern(const CscPattern& a, const std::string& a_path, const InputMatrix& other) {
  const CscMatrix<double>& b = other.a();
  const auto differs = [&](const std::string& how) {
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("pattern differs from that of {}: {}; store zeros explicitly so that all patterns are equal",
                    a_path, how),
        in_file(other.path));
  };
  if (a.n_rows != b.n_rows || a.n_cols != b.n_cols)
    return differs(fmt::format("n = {} instead of {}", other.n(), a.n_cols));
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
std::optional<std::string> right_side_of(const fs::path& matrix) {
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
    if (auto b = right_side_of(file)) right_sides.push_back(std::move(*b));
  std::erase_if(files, [&](const std::string& file) {
    return std::find(right_sides.begin(), right_sides.end(), file) != right_sides.end();
  });
  if (files.empty())
    return Status::error(StatusCode::invalid_argument, "no matrix in this folder: no file name ends in .mtx or .mtx.gz",
                         in_file(folder));
  std::sort(files.begin(), files.end(), natural_less);
  return files;
}

/// Reads b from the file next to the matrix; without one, b = A times ones.
Status add_right_side(SequenceStep& step, const std::string& matrix_path) {
  const auto n = static_cast<std::size_t>(step.a.n_rows);
  step.b.assign(n, 0.0);
  if (const auto path = right_side_of(matrix_path)) {
    LULAB_ASSIGN_OR_RETURN(auto b, read_vector(*path));
    if (b.size() != n)
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("{} values, but {} has {} rows", b.size(), matrix_path, n), in_file(*path));
    step.b = std::move(b);
    step.right_side = *path;
  } else {
    multiply<double>(step.a, std::vector<double>(n, 1.0), step.b);
  }
  return {};
}

std::optional<double> finite_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

}  // namespace

Result<std::vector<double>> parse_shifts(std::string_view text) {
  std::vector<double> shifts;
  for (const std::string_view item : split(text, ',')) {
    const auto bad = [&](std::string_view why) {
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("--shifts: '{}' {}; write a list like 0,0.5,1e3 or a range first:step:last like "
                                       "0:1:10",
                                       item, why));
    };
    std::vector<double> numbers;
    for (const std::string_view part : split(item, ':')) {
      const auto number = finite_number(part);
      if (!number) return bad("is neither a number nor a range");
      numbers.push_back(*number);
    }
    if (numbers.size() == 1) {
      shifts.push_back(numbers[0]);
    } else if (numbers.size() == 3) {
      const double first = numbers[0], step = numbers[1], last = numbers[2];
      const double steps = (last - first) / step;
      if (!(steps >= 0) || step == 0) return bad("has a step that never reaches the last value");
      if (!(steps < static_cast<double>(max_shifts))) return bad("has more than 1000000 values");
      const auto count = static_cast<std::int64_t>(std::floor(steps * (1 + 1e-12) + 1e-12)) + 1;
      for (std::int64_t k = 0; k < count; ++k) shifts.push_back(first + static_cast<double>(k) * step);
    } else {
      return bad("is neither a number nor a range");
    }
    if (shifts.size() > max_shifts) return bad("exceeds the limit of 1000000 values");
  }
  return shifts;
}

Result<Sequence> Sequence::of_paths(const std::vector<std::string>& paths) {
  Sequence sequence;
  for (const std::string& path : paths) {
    if (std::error_code ignored; !fs::is_directory(path, ignored)) {
      sequence.paths_.push_back(path);
      continue;
    }
    LULAB_ASSIGN_OR_RETURN(const auto files, matrices_in(path));
    sequence.paths_.insert(sequence.paths_.end(), files.begin(), files.end());
  }
  return sequence;
}

Result<Sequence> Sequence::sweep(const std::string& a, const std::string& e, std::vector<double> shifts) {
  LULAB_ASSIGN_OR_RETURN(const auto a_file, load_matrix(a, Needs::square_values));
  LULAB_ASSIGN_OR_RETURN(const auto e_file, load_matrix(e, Needs::square_values));
  auto pencil = make_pencil(a_file.a(), e_file.a());
  if (!pencil.ok()) {
    Status other_size = pencil.status();
    other_size.where = in_file(e);
    return other_size;
  }
  Sequence sequence;
  sequence.paths_ = {a};
  sequence.shifts_ = std::move(shifts);
  sequence.pencil_ = std::move(*pencil);
  sequence.a_name_ = a_file.name;
  sequence.e_name_ = e_file.name;
  return sequence;
}

Result<SequenceStep> Sequence::load(std::size_t k) {
  SequenceStep step;
  if (!shifts_.empty()) {
    step.shift = shifts_[k];
    step.name = fmt::format("{} {} {:g} {}", a_name_, shifts_[k] < 0 ? '+' : '-', std::abs(shifts_[k]), e_name_);
    step.a = pencil_.at(shifts_[k]);
    LULAB_RETURN_IF_ERROR(add_right_side(step, paths_[0]));
    return step;
  }
  LULAB_ASSIGN_OR_RETURN(auto input, load_matrix(paths_[k], Needs::square_values));
  if (k > 0) LULAB_RETURN_IF_ERROR(check_same_pattern(first_, paths_[0], input));
  step.name = std::move(input.name);
  step.a = std::move(input.file.matrix);
  if (k == 0) first_ = step.a.pattern();
  LULAB_RETURN_IF_ERROR(add_right_side(step, paths_[k]));
  return step;
}

}  // namespace lulab::app
