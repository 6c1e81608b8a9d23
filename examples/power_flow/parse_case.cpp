#include "examples/power_flow/parse_case.h"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>

#include "examples/power_flow/case_tables.h"

namespace lulab::examples::power_flow {
namespace {

// Columns, from 1 as in the manual.
enum BusColumn { bus_i = 1, bus_type, pd, qd, gs, bs, bus_area, vm, va };
enum GenColumn { gen_bus = 1, pg, qg, qmax, qmin, vg, mbase, gen_status };
enum BranchColumn { f_bus = 1, t_bus, br_r, br_x, br_b, rate_a, rate_b, rate_c, tap, shift, br_status };

class Interpreter {
 public:
  Interpreter(const std::map<std::string, Table>& tables, const std::string& file) : tables_(tables), file_(file) {}

  Result<Network> interpret() {
    LULAB_RETURN_IF_ERROR(read_base());
    LULAB_RETURN_IF_ERROR(for_each_row("bus", va, [&](auto row) { return add_bus(row); }));
    LULAB_RETURN_IF_ERROR(for_each_row("gen", gen_status, [&](auto row) { return add_generator(row); }));
    LULAB_RETURN_IF_ERROR(for_each_row("branch", br_status, [&](auto row) { return add_branch(row); }));
    return std::move(network_);
  }

 private:
  using Row = std::span<const Cell>;

  Status wrong(const Cell& at, const std::string& what) const { return wrong_at(file_, at.line, at.column, what); }

  Result<const Table*> table(const std::string& name) const {
    const auto found = tables_.find(name);
    if (found != tables_.end()) return &found->second;
    return Status::error(StatusCode::parse_error,
                         fmt::format("there is no mpc.{}; a case of MATPOWER has baseMVA, bus, gen and branch", name),
                         Where{file_, 0, {}, {}});
  }
  Status read_base() {
    LULAB_ASSIGN_OR_RETURN(const Table* base, table("baseMVA"));
    if (base->cells.size() != 1) return wrong_at(file_, base->line, 1, "mpc.baseMVA must be one number");
    const Cell& cell = base->cells[0];
    if (!(cell.value > 0 && std::isfinite(cell.value)))
      return wrong(cell, fmt::format("mpc.baseMVA is {}; it must be positive", cell.value));
    network_.base_mva = cell.value;
    return {};
  }
  template <class Do>
  Status for_each_row(const std::string& name, std::size_t columns, const Do& todo) {
    LULAB_ASSIGN_OR_RETURN(const Table* t, table(name));
    if (t->rows() > 0 && t->columns < columns)
      return wrong(t->cells[0], fmt::format("mpc.{} has {} columns; it needs at least {}", name, t->columns, columns));
    for (std::size_t k = 0; k < t->rows(); ++k) LULAB_RETURN_IF_ERROR(todo(t->row(k)));
    return {};
  }

  /// The first cell among these columns that is infinite or NaN is an error.
  Status finite(Row row, std::initializer_list<int> columns) const {
    for (const int column : columns)
      if (const Cell& cell = row[column - 1]; !std::isfinite(cell.value))
        return wrong(cell, fmt::format("{} in column {} of the table; a finite number is needed", cell.value, column));
    return {};
  }
  Result<std::int64_t> whole(const Cell& cell, const char* what) const {
    if (!(cell.value >= 1 && cell.value <= 1e15) || cell.value != std::floor(cell.value))
      return wrong(cell, fmt::format("{} is not {}; expected a positive whole number", cell.value, what));
    return static_cast<std::int64_t>(cell.value);
  }
  Result<std::int32_t> bus_at(const Cell& cell) const {
    LULAB_ASSIGN_OR_RETURN(const std::int64_t id, whole(cell, "a bus"));
    const auto found = index_.find(id);
    if (found == index_.end()) return wrong(cell, fmt::format("there is no bus {} in mpc.bus", id));
    return found->second;
  }

  Status add_bus(Row row) {
    LULAB_RETURN_IF_ERROR(finite(row, {pd, qd, gs, bs, vm, va}));
    LULAB_ASSIGN_OR_RETURN(const std::int64_t id, whole(row[bus_i - 1], "the number of a bus"));
    const double type = row[bus_type - 1].value;
    if (type != 1 && type != 2 && type != 3 && type != 4)
      return wrong(row[bus_type - 1], fmt::format("{} is no type of a bus; expected 1 (PQ), 2 (PV), 3 (slack) or 4 "
                                                  "(isolated)",
                                                  type));
    if (!index_.emplace(id, static_cast<std::int32_t>(network_.buses.size())).second)
      return wrong(row[bus_i - 1], fmt::format("there is already a bus {}", id));
    const auto at = [&](int column) { return row[column - 1].value; };
    network_.buses.push_back(
        {id, static_cast<BusType>(static_cast<int>(type)), at(pd), at(qd), at(gs), at(bs), at(vm), at(va)});
    return {};
  }
  Status add_generator(Row row) {
    LULAB_RETURN_IF_ERROR(finite(row, {pg, qg, vg, gen_status}));
    LULAB_ASSIGN_OR_RETURN(const std::int32_t bus, bus_at(row[gen_bus - 1]));
    if (row[gen_status - 1].value > 0)
      network_.generators.push_back({bus, row[pg - 1].value, row[qg - 1].value, row[vg - 1].value});
    return {};
  }
  Status add_branch(Row row) {
    LULAB_RETURN_IF_ERROR(finite(row, {br_r, br_x, br_b, tap, shift, br_status}));
    LULAB_ASSIGN_OR_RETURN(const std::int32_t from, bus_at(row[f_bus - 1]));
    LULAB_ASSIGN_OR_RETURN(const std::int32_t to, bus_at(row[t_bus - 1]));
    for (const std::int32_t end : {from, to})
      if (network_.buses[end].type == BusType::isolated) return {};
    if (row[br_status - 1].value == 0) return {};
    const auto at = [&](int column) { return row[column - 1].value; };
    network_.branches.push_back({from, to, at(br_r), at(br_x), at(br_b), at(tap) == 0 ? 1 : at(tap), at(shift)});
    return {};
  }

  const std::map<std::string, Table>& tables_;
  const std::string& file_;
  std::unordered_map<std::int64_t, std::int32_t> index_;  // of the bus with an id
  Network network_;
};

}  // namespace

Result<Network> parse_case(std::string_view text, const std::string& file) {
  constexpr std::string_view wanted[] = {"baseMVA", "bus", "gen", "branch"};
  LULAB_ASSIGN_OR_RETURN(const auto tables, read_tables(text, wanted, file));
  return Interpreter(tables, file).interpret();
}

Result<Network> read_case(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file || text.fail())
    return Status::error(StatusCode::invalid_argument, "cannot be read; is the path right?", Where{path, 0, {}, {}});
  return parse_case(text.str(), path);
}

}  // namespace lulab::examples::power_flow
