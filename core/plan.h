#pragma once
// The values that flow between the phases:  A -> Plan -> FilledPattern (-> Schedule) -> Factors.
//
//     L · U = P · R · A · C · Q          entry (i,j) of the right side = r[p[i]] · A(p[i], q[j]) · c[q[j]]

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/matrix/permutation.h"
#include "core/uninitialized_vector.h"

namespace lulab {

/// Row and column permutations and scalings of the one equation above. All of length n.
struct Plan {
  Permutation p, q;
  std::vector<double> r, c;
  std::string order;  // the ordering that was used: amd, colamd, metis, nd, natural, given

  std::int32_t n() const { return static_cast<std::int32_t>(q.size()); }
  static Plan identity(std::int32_t n);
  /// The plan of Aᵀ: it makes (P·R·A·C·Q)ᵀ of it.
  Plan transposed() const { return {q, p, c, r, order}; }
};

/// P·R·A·C·Q with sorted rows.   Shapes A: n x n.
template <class T>
CscMatrix<T> apply(const Plan& plan, const CscView<T>& a);

/// As = pattern(L+U): n x n, rows sorted in each column, every diagonal entry present.
/// Column j holds U(:,j) at [col_ptr[j], diag[j]], whose last entry is the diagonal, then L(:,j) without its unit
/// diagonal.
struct FilledPattern {
  std::int32_t n = 0;
  std::vector<std::int64_t> col_ptr = {0};
  UninitializedVector<std::int32_t> row_idx;  // of large patterns the most memory: written once
  std::vector<std::int64_t> diag;             // (n) position of entry (j,j)

  std::int64_t nnz() const { return static_cast<std::int64_t>(row_idx.size()); }
  std::int64_t nnz_u() const;                             // entries of U with its diagonal
  std::int64_t nnz_l() const { return nnz() - nnz_u(); }  // entries of L without its unit diagonal
  CscPatternView view() const { return {n, n, col_ptr, row_idx}; }
  bool operator==(const FilledPattern&) const = default;
};

/// Columns grouped into levels: a column depends only on columns of earlier levels.
struct Schedule {
  std::vector<std::int32_t> level_of;         // (n)
  std::vector<std::int64_t> level_ptr = {0};  // (n_levels + 1) into level_cols
  std::vector<std::int32_t> level_cols;       // (n) columns level by level, ascending inside a level

  std::int32_t n_levels() const { return static_cast<std::int32_t>(level_ptr.size()) - 1; }
};

struct RelaxedSupernodes;  // symbolic/relaxed_supernodes.h
struct Fronts;             // symbolic/fronts.h

/// All that depends on the pattern of A alone, computed once by analyze().
struct Analysis {
  CscPattern a;  // pattern of A, sorted
  Plan plan;
  FilledPattern filled;                                      // of P·R·A·C·Q with the diagonal as pivots
  std::vector<std::int64_t> a_to_filled;                     // (nnz(A)) position in `filled` of each entry of A
  std::shared_ptr<const RelaxedSupernodes> supernodes = {};  // of `filled`, where the choice of an order found them
  std::shared_ptr<const Fronts> fronts = {};                 // of `filled`, where they were found on the device
};

/// What a factorization knows about itself, as KLU's Common does. NaN or -1: not computed.
struct Statistics {
  std::int32_t structural_rank = -1;
  std::int32_t numerical_rank = -1;
  double pivot_growth = std::numeric_limits<double>::quiet_NaN();  // max|U| / max|P·R·A·C·Q|
  double rcond = std::numeric_limits<double>::quiet_NaN();
  double flops = -1;
  std::int64_t off_diagonal_pivots = 0;  // pivots taken elsewhere than the plan's diagonal
  std::int64_t perturbed_pivots = 0;
  std::int64_t repivots = 0;
  std::int64_t peak_bytes = -1;
};

/// L and U: values on a filled pattern, with the plan they belong to (a pivoting rung changes plan.p).
template <class T>
struct Factors {
  Plan plan;
  FilledPattern filled;
  std::vector<T> values;  // (filled.nnz())
  Statistics statistics;
};

/// L (unit diagonal stored, first in its column) and U (diagonal last in its column) as matrices of their own.
template <class T>
CscMatrix<T> extract_l(const Factors<T>& f);
template <class T>
CscMatrix<T> extract_u(const Factors<T>& f);

}  // namespace lulab
