#pragma once
// From the values of A to the values of P·R·A·C·Q: what a CPU rung does with what it is given.

#include <span>

#include "core/plan.h"
#include "core/status.h"

namespace lulab {

/// The rows of each column of P·R·A·C·Q: ascending, or as they come, which is cheaper.
enum class GatheredRows { sorted, any };

/// The way of every entry of A into P·R·A·C·Q, worked out once for a pattern and a plan.
class PlanGather {
 public:
  PlanGather() = default;

  /// Shapes    A: n x n, sorted rows; plan: length n.
  /// Errors    invalid_argument (A not square or unsorted; p or q no permutation of n; r or c not n finite nonzero
  /// numbers).   Cost O(n + nnz).
  static Result<PlanGather> create(CscPatternView a, const Plan& plan, GatheredRows rows = GatheredRows::sorted);

  /// Other scalings.   Requires  the p and q of create(); r and c n finite nonzero numbers.   Cost O(n).
  void take_scales(const Plan& plan);

  /// Pattern of P·R·A·C·Q, rows in the order that create() was told.
  const CscPattern& pattern() const { return pattern_; }

  /// values[k] = r[p[i]] · A(p[i], q[j]) · c[q[j]] for the k-th entry (i,j) of pattern(); rounds as apply() does.
  ///
  /// Shapes    a_values, values: (nnz).
  /// Errors    invalid_argument: wrong length, or an entry that is not finite before or after scaling (where: its row
  ///           and column in A).
  /// Cost      O(nnz).
  /// Returns   max |values|, 0 when there are none.
  template <class T>
  Result<double> gather(std::span<const T> a_values, std::span<T> values) const;

 private:
  CscPattern pattern_;
  std::vector<std::int64_t> from_;  // (nnz) position in A of each entry; GatheredRows::any: (n) of each column
  std::vector<double> r_, c_;       // (n) scalings of the rows and columns of P·R·A·C·Q
  Permutation p_, q_;

  bool sorted_ = true;

  void take_sorted(CscPatternView a);
  void take_columns(CscPatternView a);

  template <class T>
  Status name_not_finite(std::span<const T> a_values, std::span<const T> values) const;
};

}  // namespace lulab
