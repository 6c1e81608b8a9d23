#pragma once
// Factors as files: L.mtx U.mtx (coordinate), p.mtx q.mtx (permutations, counted from 1), r.mtx c.mtx (scalings).

#include <optional>
#include <string>
#include <vector>

#include "core/plan.h"
#include "core/status.h"
#include "verify/foreign.h"

namespace lulab::app {

/// Creates the folder if needed; replaces the files in it together, or none of them.
/// Errors    invalid_argument (cannot write), as core/matrix/matrix_market.h.
template <class T>
Status write_factors(const std::string& folder, const Factors<T>& factors);

/// The files of a set of factors; empty: not given. L and U may be the same file: packed in one matrix.
struct FactorPaths {
  std::string l, u, f, p, q, r, c, x, b;
};
/// L, U, p, q, r, c of a folder, plain or .gz, where they are there. A missing L or U keeps its name, for the error.
FactorPaths paths_in(const std::string& folder);

struct FactorFiles {
  ForeignFactors factors;
  std::vector<double> x, b;
  std::optional<Finding> not_finite;  // a value that is NaN or infinite; then the rest was not read
  std::vector<std::string> notes;     // which of p, q, r, c are missing, and what is assumed instead
};
/// p and q: n numbers, in a row or a column, or an n x n permutation matrix (counted from 1: P(i,p(i)) = 1,
/// Q(q(j),j) = 1). r and c: n numbers, or a diagonal matrix.
///
/// Errors    parse_error (a file is missing or malformed); invalid_argument (wrong sizes; p or q not whole numbers).
Result<FactorFiles> read_factors(const FactorPaths& paths, std::int32_t n);

}  // namespace lulab::app
