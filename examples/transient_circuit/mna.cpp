#include "examples/transient_circuit/mna.h"

#include <algorithm>

#include <fmt/format.h>

namespace lulab::examples {

Mna::Mna(const Netlist& netlist) {
  for (const std::string& node : netlist.node_names()) names_.push_back(fmt::format("v({})", node));
  for (const Device& device : netlist.devices()) {
    const bool has_current = std::holds_alternative<VoltageSource>(device) || std::holds_alternative<Inductor>(device);
    currents_.push_back(has_current ? static_cast<std::int32_t>(names_.size()) : -1);
    if (has_current) names_.push_back(std::visit([](const auto& d) { return fmt::format("i({})", d.name); }, device));
  }
  n_ = static_cast<std::int32_t>(names_.size());
  b_.assign(n_, 0.0);
}

void Mna::clear() {
  std::ranges::fill(a_.values, 0.0);
  std::ranges::fill(b_, 0.0);
  next_ = 0;
}

void Mna::make_pattern() {
  const std::vector<double> zeros(rows_.size(), 0.0);
  a_ = from_triplets<double>(n_, n_, rows_, cols_, zeros);
  places_.resize(rows_.size());
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const auto column = a_.row_idx.begin() + a_.col_ptr[cols_[k]];
    const auto end = a_.row_idx.begin() + a_.col_ptr[cols_[k] + 1];
    places_[k] = std::lower_bound(column, end, rows_[k]) - a_.row_idx.begin();
  }
  rows_ = {};
  cols_ = {};
}

}  // namespace lulab::examples
