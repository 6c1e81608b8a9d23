#pragma once
// Text tables: each column as wide as its widest cell.

#include <string>
#include <vector>

namespace lulab::app {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Requires as many cells as columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Title, rule, rows; no spaces at line ends.
  std::string to_string() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "12.3 k", "4.56 M": three significant digits and a unit of 1000.
std::string short_count(double count);
/// As short_number() of core/matrix/number_text.h: "3.2e-16", "infinite"; "-" for NaN.
std::string short_error(double value);
/// "0.123 ms", "12.3 ms", "4.56 s".
std::string short_time(double ms);

}  // namespace lulab::app
