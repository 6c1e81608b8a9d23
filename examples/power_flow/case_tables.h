#pragma once
// Numbers and tables of numbers in a MATLAB file that holds nothing but data:
//
//     function mpc = case9       % a comment; %{ ... %} spans lines, ... continues one
//     mpc.baseMVA = 100;
//     mpc.bus = [
//       1  3  0, 0  Inf;         % columns: blanks or commas; rows: semicolons or ends of lines
//     ];
//     mpc.bus_name = {'North'};  % what nobody asked for is skipped

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace lulab::examples::power_flow {

/// A number and where it stands.   line, column: from 1.
struct Cell {
  double value = 0;
  std::int64_t line = 0, column = 0;
};

/// A number alone is a table of one row and one column.
struct Table {
  std::int64_t line = 0;         // where it is assigned
  std::size_t columns = 0;       // of every row
  std::vector<Cell> cells = {};  // row by row

  std::size_t rows() const { return columns == 0 ? 0 : cells.size() / columns; }
  std::span<const Cell> row(std::size_t k) const { return std::span(cells).subspan(k * columns, columns); }
};

/// The tables that are assigned to one of the wanted names, by the last part of the name (mpc.bus: "bus"). A value may
/// be infinite or NaN.
///
/// file: how messages call the text.
/// Errors    parse_error with file, line and column: not a number, rows of different lengths, a table that does not
///           end, a name that is assigned twice or changed by a computation.
Result<std::map<std::string, Table>> read_tables(std::string_view text, std::span<const std::string_view> wanted,
                                                 const std::string& file);

/// parse_error at a place of the file.
Status wrong_at(const std::string& file, std::int64_t line, std::int64_t column, const std::string& what);

}  // namespace lulab::examples::power_flow
