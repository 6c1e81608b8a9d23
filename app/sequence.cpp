#include "app/sequence.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/matrix/sequence_files.h"

namespace lulab::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_shifts = 1000000;

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
    LULAB_ASSIGN_OR_RETURN(step.right_side, right_side_of(step.a, paths_[0]));
    return step;
  }
  LULAB_ASSIGN_OR_RETURN(auto input, load_matrix(paths_[k], Needs::square_values));
  if (k > 0) LULAB_RETURN_IF_ERROR(check_same_pattern(first_, paths_[0], input.a(), input.path));
  step.name = std::move(input.name);
  step.a = std::move(input.file.matrix);
  if (k == 0) first_ = step.a.pattern();
  LULAB_ASSIGN_OR_RETURN(step.right_side, right_side_of(step.a, paths_[k]));
  return step;
}

}  // namespace lulab::app
