#include "examples/power_flow/admittance.h"

#include <complex>
#include <numbers>

#include "core/matrix/csc.h"

namespace lulab::examples::power_flow {
namespace {

using Complex = std::complex<double>;

struct Triplets {
  std::vector<std::int32_t> rows, cols;
  std::vector<double> g, b;

  void add(std::int32_t i, std::int32_t j, Complex y) {
    rows.push_back(i), cols.push_back(j);
    g.push_back(y.real()), b.push_back(y.imag());
  }
};

void add_branch(Triplets& y, const Branch& branch) {
  const Complex series = 1.0 / Complex(branch.r_pu, branch.x_pu);
  const Complex tap = std::polar(branch.ratio, branch.shift_deg * std::numbers::pi / 180);
  const Complex at_to = series + Complex(0, branch.charging_pu / 2);
  y.add(branch.from, branch.from, at_to / std::norm(tap));
  y.add(branch.from, branch.to, -series / std::conj(tap));
  y.add(branch.to, branch.from, -series / tap);
  y.add(branch.to, branch.to, at_to);
}

}  // namespace

Admittance make_admittance(const Network& network) {
  const auto n = static_cast<std::int32_t>(network.buses.size());
  Triplets t;
  for (std::int32_t i = 0; i < n; ++i)
    t.add(i, i, Complex(network.buses[i].shunt_mw, network.buses[i].shunt_mvar) / network.base_mva);
  for (const Branch& branch : network.branches) add_branch(t, branch);
  // Rows and columns exchanged: the columns of the transpose are the rows of Y.
  auto g = from_triplets<double>(n, n, t.cols, t.rows, t.g);
  Admittance y;
  y.row_ptr = std::move(g.col_ptr);
  y.column = std::move(g.row_idx);
  y.g = std::move(g.values);
  y.b = from_triplets<double>(n, n, t.cols, t.rows, t.b).values;
  y.diagonal.resize(n);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int64_t k = y.row_ptr[i]; k < y.row_ptr[i + 1]; ++k)
      if (y.column[k] == i) y.diagonal[i] = k;
  return y;
}

}  // namespace lulab::examples::power_flow
