#pragma once
// The admittance matrix of a network: I = Y V.

#include <cstdint>
#include <vector>

#include "examples/power_flow/network.h"

namespace lulab::examples::power_flow {

/// Y by rows, in p.u.: Y(i, column[k]) = g[k] + j b[k] for k in [row_ptr[i], row_ptr[i+1]), columns ascending.
/// Every diagonal entry is stored, at diagonal[i].
struct Admittance {
  std::vector<std::int64_t> row_ptr;   // (buses + 1)
  std::vector<std::int32_t> column;    // (nnz)
  std::vector<double> g, b;            // (nnz)
  std::vector<std::int64_t> diagonal;  // (buses)

  std::int32_t buses() const { return static_cast<std::int32_t>(diagonal.size()); }
  std::int64_t nnz() const { return static_cast<std::int64_t>(column.size()); }
};

/// Requires  check_network().
/// Cost      O(buses + branches).
/// Source    Zimmerman et al. 2011 (MATPOWER), sections 3.2 and 3.5.
Admittance make_admittance(const Network& network);

}  // namespace lulab::examples::power_flow
