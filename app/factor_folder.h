#pragma once
// Factors as files: L.mtx U.mtx (coordinate), p.mtx q.mtx (permutations, counted from 1), r.mtx c.mtx (scalings).

#include <string>

#include "core/plan.h"
#include "core/status.h"

namespace lulab::app {

/// Creates the folder if needed; replaces the files in it together, or none of them.
/// Errors    invalid_argument (cannot write), as core/matrix/matrix_market.h.
template <class T>
Status write_factors(const std::string& folder, const Factors<T>& factors);

/// Reads factors from .mtx or .mtx.gz files. A missing p or q means the identity, a missing r or c ones. The unit
/// diagonal of L may be left out.
///
/// Shapes    L, U: n x n; p, q, r, c: n.
/// Errors    parse_error (L or U is missing, or a file is malformed); invalid_argument (wrong sizes). Ok with non-empty
///           `failures` if L is not unit lower or U not upper triangular.
struct FactorFiles {
  Factors<double> factors;
  std::vector<std::string> failures;  // one sentence each
  std::vector<std::string> notes;     // the files that are missing, and what is assumed instead
};
Result<FactorFiles> read_factors(const std::string& folder, std::int32_t n);

}  // namespace lulab::app
