#pragma once
// The arithmetic of one column group: columns of L are applied to it, then it is eliminated. Nothing here is about
// threads.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/matrix/csc.h"
#include "core/plan.h"
#include "sparse_leftlooking/07_column_groups.h"

namespace lulab::sparse_leftlooking {

/// One row of a group: one entry of each of its columns.
template <class T>
struct alignas(ColumnGroups::max_width * sizeof(T)) GroupRow {
  typedef T Lanes __attribute__((vector_size(ColumnGroups::max_width * sizeof(T))));
  Lanes lanes;
};

/// L and U while they are computed, and the column groups of their pattern.
template <class T>
struct GroupFactors {
  const FilledPattern& filled;
  const ColumnGroups& groups;
  T* values;             // (filled.nnz())
  T least_pivot = T(0);  // smaller pivots are replaced by it, with their sign
};

/// Workspace of one thread: (sizeof(T) + 4) n bytes, and max_width · sizeof(T) for each row of the longest group.
template <class T>
struct GroupWork {
  /// Errors    throws std::bad_alloc.
  GroupWork(std::int32_t n, const ColumnGroups& groups);

  std::vector<T> column;             // (n) for a group of one column: indexed by row of As, zero between groups
  std::vector<GroupRow<T>> compact;  // for a wider group: first its sources, then its rows; zero between groups
  std::vector<std::int32_t> place;   // (n) row of As -> row of compact, valid for the rows of the current group
  bool u_is_finite = true;           // in a group of one column: U(:,k) as far as update() has stored it
  std::int64_t perturbed_pivots = 0;
};

/// The three steps of a group s, in this order; update() any number of times, until every source is applied.
///
/// start     the group of B = P·R·A·C·Q goes into the work.
/// update    x(i,:) -= L(i,j) · U(j,:) for the sources j = sources_of(s)[begin .. end) in ascending order.
/// finish    eliminates the group's columns among themselves, stores L and U and sets the workspace to zero.
///           Returns the first column of L and U with a zero pivot or a value that is not finite, or no_column.
/// Ensures   each entry is computed by the operations of the sequential algorithm, in its order: groups and instruction
///           sets change no bit of it but the sign of a zero.
/// Requires  the columns of L that update() applies are finished.
template <class T>
struct GroupKernel {
  static constexpr std::int32_t no_column = std::numeric_limits<std::int32_t>::max();

  void (*start)(const GroupFactors<T>&, const CscView<T>& b, std::int32_t s, GroupWork<T>&);
  void (*update)(const GroupFactors<T>&, std::int32_t s, std::int64_t begin, std::int64_t end, GroupWork<T>&);
  std::int32_t (*finish)(const GroupFactors<T>&, std::int32_t s, GroupWork<T>&);
  /// All three for groups begin .. end - 1, one after another, up to the first that fails: on short columns three calls
  /// would cost as much as the arithmetic.
  std::int32_t (*eliminate)(const GroupFactors<T>&, const CscView<T>& b, std::int32_t begin, std::int32_t end,
                            GroupWork<T>&);
};

/// The kernels that this processor can run, the one with the widest vectors last. All give the same numbers.
template <class T>
std::vector<GroupKernel<T>> group_kernels();

}  // namespace lulab::sparse_leftlooking
