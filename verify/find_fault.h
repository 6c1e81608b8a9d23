#pragma once
// Why L·U is not P·R·A·C·Q: the hypotheses, one after the other, then the first column that deviates.

#include "verify/convention.h"
#include "verify/foreign.h"
#include "verify/rebuild.h"

namespace lulab {

/// How far L·U is from B = P·R·A·C·Q, column by column and measured against |L||U|: what elimination promises whatever
/// the pivots.
struct ColumnErrors {
  double worst = 0;             // max_j ||(B - L U)(:,j)||_1 / (n eps ||(|L||U| + |B|)(:,j)||_1); NaN: not measured
  std::int32_t first_bad = -1;  // the first column above the tolerance; -1: none
  double bad_share = 0;         // of columns above it; when probed, of rows that show it without column first_bad
  bool spread = false;          // no single wrong entry explains that: it would be seen in one column or one row
  double typical_relative = 0;  // median over the bad columns of max |B - L U|(i,j) / (|L||U| + |B|)(i,j)
  bool probed = false;          // by random vectors
};
ColumnErrors column_errors(const CscMatrix<double>& b, const Factors<double>& f, const JudgeOptions& options);

/// Does L·U equal B up to a millionth of |L||U| + |B|, in each row and for random vectors?
bool roughly_equal(const CscMatrix<double>& b, const Factors<double>& f, std::uint64_t seed);

/// The cause of factors that fail a check.
///
/// Requires  f passed the checks of sizes, structure, permutations, scalings, finite; it was read in `convention`.
Finding find_fault(const CscView<double>& a, const ForeignFactors& given, const Factors<double>& f,
                   Convention convention, const ColumnErrors& errors, const JudgeOptions& options);

/// The window around (row, column) of L + U.
Window window_at(const CscMatrix<double>& b, const Factors<double>& f, std::int32_t row, std::int32_t column);

}  // namespace lulab
