#pragma once
// Factors of any program: read in that program's convention, judged, and when they are wrong, where and why.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/matrix/csc.h"
#include "core/plan.h"
#include "verify/report.h"

namespace lulab {

/// What a program means by p, q, r, c. In each, L is unit lower and U upper triangular.
///   lulab        L U = P R A C Q: row i is row p(i) of A, column j is column q(j); r, c multiply, in A's numbering
///   klu          klu_extract: as lulab, but r divides and counts as the rows of L; F holds the blocks above
///   superlu      perm_r, perm_c: row i of A is row p(i) of L U, column j is column q(j); r, c as lulab (dgssvx)
///   scipy, eigen as superlu
///   umfpack      umfpack_di_get_numeric with do_recip: as lulab; L may be given by rows
///   matlab       [L,U,P,Q,R] = lu(A): as lulab, but r divides
///   lapack_ipiv  getrf: row k was exchanged with row p(k), one after the other; r, c as lulab (gesvx)
///   automatic    the one under which L·U comes closest
/// p and q count from 1 with lulab, matlab and lapack_ipiv, else from 0.
enum class Convention { automatic, lulab, klu, superlu, scipy, eigen, umfpack, matlab, lapack_ipiv };
/// "auto", "lulab", ..., "lapack-ipiv"; each ends with a zero byte, as those of the other names.
std::string_view to_string(Convention convention);
std::optional<Convention> convention_named(std::string_view name);

/// L, U, p, q, r, c as a program gave them.
struct ForeignFactors {
  CscMatrix<double> l, u;  // n x n, rows sorted; twice the same matrix: L and U packed in one, as getrf has them
  CscMatrix<double> f;     // KLU's entries above the diagonal blocks, n x n; of size 0: none
  std::vector<std::int64_t> p, q;  // n numbers, or empty: in order
  std::vector<double> r, c;        // n numbers, or empty: ones
};

/// What is wrong, by its cause.
enum class Fault {
  none,
  not_finite,          // NaN or infinity in L, U, r or c
  index_base,          // p or q counts from another number
  not_a_permutation,   // a number twice or out of range
  not_triangular,      // L has an entry above, U one below its diagonal
  swapped_factors,     // L is U and U is L
  transposed_factors,  // L and U given by rows where columns are expected
  unit_diagonal,       // the ones stand on U's diagonal, or on neither
  zero_pivot,          // U has a zero, or nothing, on its diagonal
  transposed_input,    // these are factors of Aᵀ
  swapped_p_q,         // p given for q
  row_permutation,     // p inverted, or rows exchanged in it
  column_permutation,  // the same of q
  scaling,             // r, c left out, inverted, or in another order
  pivot_choice,        // the arithmetic is right, the pivots were too small
  missing_fill,        // an entry of L or U is missing
  extra_entry,         // L or U has an entry where elimination makes none
  wrong_value,         // an entry has a wrong value
  rounding,            // many entries are off by a little: single precision, or too few digits in the files
  solution,            // the factors are right, but x does not solve A x = b
};
std::string_view to_string(Fault fault);

/// A piece of P·R·A·C·Q and of L·U, at most 6 x 6, around the place of a finding.
struct Window {
  std::int32_t row = 0, column = 0, rows = 0, columns = 0;  // first row and column, size
  std::array<double, 36> wanted{}, found{};                 // P·R·A·C·Q and L·U, row by row
};

/// The first thing wrong.
struct Finding {
  Fault fault = Fault::none;
  std::string what;                    // a sentence; rows and columns count from 1
  std::string advice;                  // what to try
  std::int32_t row = -1, column = -1;  // place in L + U, from 0; -1: no single place
  double found = 0, wanted = 0;        // the entry of L or U, where both are known
  std::optional<Window> window;
};

struct JudgedCheck {
  enum class Result { passed, failed, reported };  // reported: not judged
  std::string_view name, formula;
  double value = 0;  // 1 and 0: yes and no, where `question` is set
  double limit = 0;  // at most; NaN: no limit
  bool question = false;
  Result result = Result::reported;
};
std::string_view to_string(JudgedCheck::Result result);

struct JudgeOptions {
  Convention convention = Convention::automatic;
  int index_base = -1;        // of p and q: 0 or 1; -1: that of the convention; with `automatic` either
  double tolerance = 30;      // what a residual may measure, in units of its formula
  std::uint64_t seed = 1;     // of right-hand sides and probes
  double max_products = 2e8;  // above so many multiply-adds of L·U, probes instead of the product
  std::vector<double> x, b;   // a solution to judge, with its right-hand side; empty: none
};

struct Judgement {
  bool accepted = false;
  Convention convention = Convention::lulab;  // in which the factors were read
  std::vector<JudgedCheck> checks;
  std::optional<Finding> finding;     // of the first failure
  std::vector<std::string> failures;  // one sentence each; empty exactly when accepted
  std::vector<std::string> notes;     // what was assumed, and what was measured without being judged
};

/// Judges factors of A from any program.
///
/// Shapes    A: n x n, sorted.
/// Errors    invalid_argument: sizes that do not fit n, a matrix that is not well formed.
/// Ensures   never throws for wrong factors: the judgement says what is wrong with them.
/// Cost      min(flops of L·U, max_products) + 30 products with L and U + about 30 solves. With probes an error is
///           missed with probability at most 2^-30.
Result<Judgement> judge_foreign(const CscView<double>& a, const ForeignFactors& given,
                                const JudgeOptions& options = {});

/// {status, convention, checks: [{check, formula, value, limit, verdict}], finding: {fault, what, advice, row, column,
/// found, wanted, window: {row, column, pracq, lu}} or null, failures, notes}; rows and columns count from 1.
nlohmann::json to_json(const Judgement& judgement);

}  // namespace lulab
