#pragma once
// From a program's convention to the one equation L·U = P·R·A·C·Q.

#include <string>
#include <vector>

#include "verify/foreign.h"

namespace lulab {

struct ConvertedFactors {
  Factors<double> factors;  // complete unless `wrong` is set
  Finding wrong;            // what made the conversion impossible; fault none: nothing
  std::vector<std::string> notes;
};

/// From which number p and q of a convention count.
int index_base_of(Convention convention);
inline constexpr int either_base = -1;  // the one that makes p, and q, a permutation

/// Requires  given.l, given.u (and f) n x n and well formed; p, q, r, c empty or of size n; not Convention::automatic.
/// Cost      O(nnz); with F a triangular solve for each of its columns.
ConvertedFactors convert(const ForeignFactors& given, Convention convention, int index_base);

}  // namespace lulab
