#pragma once
// The lists of find_dependencies(), built by the threads of a CPU.

#include "symbolic/dependencies.h"

namespace lulab {

/// find_dependencies(filled, rule), entry by entry. A thread owns a range of columns with about as many entries of U as
/// any other: it finds their rows of L in the sorted columns left of them, then merges each row with its column of U. No
/// two threads write the same list, so there is nothing to lock.
///
/// Requires  a valid FilledPattern. threads <= 0: as many as the pattern keeps busy, one for a small pattern.
/// Cost      O(nnz(L+U) / threads + n log n) time; memory that of the result and of the rows of L.
/// Source    Peng & Tan 2020, Algs. 3 and 4: the work of each k is independent.
ColumnDependencies find_dependencies(const FilledPattern& filled, DependencyRule rule, int threads);

/// What find_dependencies() takes for this many when threads <= 0.
int useful_threads(const FilledPattern& filled);

}  // namespace lulab
