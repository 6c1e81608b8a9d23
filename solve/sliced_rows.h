#pragma once
// A by rows on the host, four rows side by side, and the one pass over it that refinement needs.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/matrix/csc.h"
#include "solve/refinement_rule.h"

namespace lulab {

/// The rows of a matrix in slices of `width`, rows of about one length together: a processor with vectors sums the rows
/// of a slice at the same time, each in the order of its columns.
///
/// Slice s = rows row[width s ..]. It holds the first entries of its rows, then their second ones, and so on as far as
/// each of them has one; then what is left of the first row, of the second, ...; a slice of fewer rows only that.
///
/// Source    Kreutzer, Hager, Wellein, Fehske & Bishop 2014 (SELL-C-sigma), without padding.
struct SlicedRows {
  static constexpr std::int32_t width = 4;

  std::int32_t n_rows = 0, n_cols = 0;
  std::vector<std::int32_t> row;     // (n_rows) longest first
  std::vector<std::int32_t> length;  // (n_rows) in that order
  std::vector<std::int32_t> column;  // (nnz) slice by slice
  std::vector<std::int64_t> from;    // (nnz) position of the entry in A
};

/// Cost      O(m + n + nnz) for an A of m rows.
SlicedRows sliced_rows(CscPatternView a);
/// Those of Aᵀ; `from` still are positions in A.
SlicedRows sliced_rows_of_transposed(CscPatternView a);

/// r = b - A x, each entry summed as if in twice double precision, then rounded once; 0 in rows whose componentwise
/// backward error is at most `good`. Returns the errors of x.
///
/// Shapes    values: (nnz) in A's own order, x: (n_cols), b, r: (n_rows); r may be b. x_max = max |x|.
/// Source    Ogita, Rump & Oishi 2005, algorithm Dot2.
using ResidualPass = BackwardErrors (*)(const SlicedRows& a, const double* values, const double* x, double x_max,
                                        const double* b, double good, double* r);

/// The passes that this processor can run, the fastest last. All give the same numbers.
std::span<const ResidualPass> residual_passes();

/// max_i |b - A x|_i / (|A||x| + |b|)_i in plain double arithmetic, in half the time: off by at most the unit roundoff
/// for each entry of the longest row and two more. Infinite where nothing is known: with what is not finite, and with
/// rows so small that they may underflow.
///
/// Shapes    as for ResidualPass.
using QuickErrorPass = double (*)(const SlicedRows& a, const double* values, const double* x, const double* b);

/// The passes that this processor can run, the fastest last. All give the same number.
std::span<const QuickErrorPass> quick_error_passes();

struct QuickError {
  double error = std::numeric_limits<double>::infinity();
  std::int32_t longest_row = 0;  // entries
};
/// The same number without SlicedRows, in a third of the time that it takes to make them and pass once.
QuickError quick_error_by_columns(const CscView<double>& a, std::span<const double> x, std::span<const double> b);

}  // namespace lulab
