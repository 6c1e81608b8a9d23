#pragma once
// What factors of related matrices have to do with each other: properties that need no other program to tell right from
// wrong.

#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix/csc.h"
#include "core/rung.h"

namespace lulab {

struct MetamorphicOptions {
  std::uint64_t seed = 1;
  int repeats = 50;  // factorizations of the same values, in the simulator under as many schedules
};

/// Factors A and matrices made of it, and says which property does not hold, one sentence each; empty: all do.
///
/// - Powers of two: of 2^k A, and of A with columns (fixed pivots: rows, too) scaled by powers of two, L and U are
///   those of A, scaled: every rounding error is scaled, too.
/// - Blocks: the factors of diag(A, A) are those of A, twice; those of diag(A, d) are those of A beside d. Nothing is
///   stored between the blocks but zeros.
/// - Order: rows and columns of A in another order, the plan changed accordingly, give the same L and U.
/// - Sequences: refactor(A) after factor(A), and after refactor(B), gives the factors of A.
/// - Transpose (fixed pivots): of Aᵀ, L is Uᵀ and U is Lᵀ, but for the diagonal.
/// - Pattern: zeros among the values do not change it; what is not zero lies in the fill of P·A·Q.
/// - Determinism: every repetition gives the same bits.
///
/// "The same" is bit for bit where the rung says deterministic. Where it does not, and for blocks and the transpose,
/// which may be added up in another order, |difference| <= sqrt(eps) · max|value|.
///
/// Shapes    A: n x n, sorted; with the rows in some order diagonally dominant by rows or by columns.
/// Requires  rung.supports<T>(). All values times 2^±16 are in the range of T.
/// Cost      repeats + 20 factorizations of A, two of twice the size.
template <class T>
std::vector<std::string> metamorphic_failures(const Rung& rung, const CscView<double>& a,
                                              const MetamorphicOptions& options = {});

}  // namespace lulab
