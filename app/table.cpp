#include "app/table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/matrix/number_text.h"

namespace lulab::app {

// Columns on the screen, not bytes: UTF-8 continuation bytes take none.
static std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Table::to_string() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_)
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], display_width(row[k]));

  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const std::string cell = cell_of(k);
      const std::string padding(widths[k] - display_width(cell), ' ');
      if (k > 0) line += "  ";
      line += columns_[k].align == Align::left ? cell + padding : padding + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t k) { return columns_[k].title; });
  add_line([&](std::size_t k) { return std::string(widths[k], '-'); });
  for (const auto& row : rows_) add_line([&](std::size_t k) { return row[k]; });
  return text;
}

std::string short_count(double count) {
  static constexpr const char* units[] = {"", " k", " M", " G", " T", " P", " E"};
  int unit = 0;
  while (std::abs(count) >= 999.5 && unit < 6) {
    count /= 1000;
    ++unit;
  }
  if (unit == 0 && count == std::floor(count)) return fmt::format("{:.0f}", count);
  const double size = std::abs(count);
  return fmt::format("{:.{}f}{}", count, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, units[unit]);
}

std::string short_error(double value) { return std::isnan(value) ? "-" : short_number(value); }

std::string short_time(double ms) {
  if (!std::isfinite(ms)) return "-";
  return ms < 1000 ? fmt::format("{:.3g} ms", ms) : fmt::format("{:.3g} s", ms / 1000);
}

}  // namespace lulab::app
