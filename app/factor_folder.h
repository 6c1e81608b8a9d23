#pragma once
// Factors as files: L.mtx U.mtx (coordinate), p.mtx q.mtx (permutations from 1), r.mtx c.mtx (scalings).

#include <string>

#include "core/plan.h"
#include "core/status.h"

namespace lulab::app {

/// Makes the folder when it is not there.   Errors invalid_argument (cannot write), as core/matrix/matrix_market.h.
template <class T>
Status write_factors(const std::string& folder, const Factors<T>& factors);

/// Factors from anywhere. Files may end in .mtx or .mtx.gz; without p, q the identity, without r, c ones. L may leave
/// its unit diagonal out; then the L read has it.
///
/// Shapes    n x n and n expected.
/// Errors    parse_error (a file is missing or malformed); invalid_argument (sizes do not fit together); ok but with
///           `failures` not empty when the files are well formed and yet no factors: L not unit lower, U not upper.
struct FactorFiles {
  Factors<double> factors;
  std::vector<std::string> failures;  // one sentence each
};
Result<FactorFiles> read_factors(const std::string& folder, std::int32_t n);

}  // namespace lulab::app
